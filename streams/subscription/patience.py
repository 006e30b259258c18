"""Waits while Redis is away: a little longer each time, with one line in the log."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from streams.backoff import Backoff
from streams.errors import StoreAccessDenied, TransientError
from streams.pausing import pause

_log = logging.getLogger("ares.subscription")

_RECONNECT: Final = Backoff(base_s=0.05, cap_s=2.0)


class Patience:
    """What one loop does about failures that pass. `stop` ends a wait early."""

    def __init__(self, who: str, stop: asyncio.Event) -> None:
        self._who, self._stop = who, stop
        self._failures = 0

    async def wait_out(self, failure: TransientError) -> None:
        """Wait before the next attempt. Raises `failure` itself where waiting doesn't help."""
        if isinstance(failure, StoreAccessDenied):
            raise failure
        if not self._failures:
            _log.warning("%s: %s; trying again", self._who, failure)
        await pause(self._stop, _RECONNECT.delay_s(self._failures))
        self._failures += 1

    def renew(self) -> None:
        """An attempt succeeded."""
        self._failures = 0
