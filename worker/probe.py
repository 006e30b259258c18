"""Looks regularly at what the worker needs: Redis, its settings that matter, the volume."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from ops.health import Readiness
from ops.metrics import Metrics
from streams.errors import AresError
from streams.wire import Wire, checked

from .runner import pause

_log = logging.getLogger("ares.worker")

REDIS: Final = "redis"
EVICTION: Final = "eviction policy"
VOLUME: Final = "volume"

_EVERY_S: Final = 5.0
_VOLUME_TIMEOUT_S: Final = 20.0


class Probe:
    """Keeps readiness and the state metrics up to date."""

    name = "probe"

    def __init__(
        self,
        wire: Wire,
        readiness: Readiness,
        metrics: Metrics,
        check_volume: Callable[[], str | None],
    ) -> None:
        self._wire, self._readiness, self._metrics = wire, readiness, metrics
        self._check_volume = check_volume
        self._checking: asyncio.Task[str | None] | None = None

    async def work(self) -> bool:
        """Look once."""
        await self._look_at_redis()
        await self._look_at_volume()
        ready = self._readiness.report().ready
        self._metrics.process.state("running" if ready else "degraded")
        return False

    async def rest(self, stop: asyncio.Event) -> None:
        """Until the next look is due."""
        await pause(stop, _EVERY_S)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _look_at_redis(self) -> None:
        try:
            info, _ = await self._wire.exchange([("INFO", "memory"), ("PING",)])
            self._metrics.redis.up(True)
            self._readiness.passes(REDIS)
        except AresError as exc:
            self._metrics.redis.up(False)
            self._readiness.fails(REDIS, str(exc))
            return
        policy = _eviction_policy(info)
        if policy in ("noeviction", ""):
            self._readiness.passes(EVICTION)
        else:
            reason = f"maxmemory-policy is {policy}: it must be noeviction, or events get lost"
            self._readiness.fails(EVICTION, reason)

    async def _look_at_volume(self) -> None:
        """In a thread, one at a time: a mount that hangs holds up neither us nor a second look."""
        if self._checking is None:
            self._checking = asyncio.create_task(asyncio.to_thread(self._check_volume))
        done, _ = await asyncio.wait([self._checking], timeout=_VOLUME_TIMEOUT_S)
        if not done:
            self._readiness.fails(VOLUME, "the archive's volume does not answer")
            return
        checking, self._checking = self._checking, None
        reason = checking.result()
        if reason is None:
            self._readiness.passes(VOLUME)
        else:
            self._readiness.fails(VOLUME, reason)


def _eviction_policy(info: object) -> str:
    """From INFO memory, which an ACL forbids less often than CONFIG; "" where it isn't told."""
    text = checked(info)
    for line in text.splitlines():
        if line.startswith(b"maxmemory_policy:"):
            return str(line.partition(b":")[2].strip().decode())
    return ""
