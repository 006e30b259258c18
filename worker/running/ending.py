"""The end of the process: a call that hangs on a volume must not hold it up.

Such a call can't be ended, and Python waits for the thread that makes it, for ever. Once leases
are released and connections closed nothing is lost by leaving it: what it was about to publish is
in its log, and whoever works on finds what it did publish.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final

from ops.logs import fields
from worker.console.exit_codes import ExitCode, exit_code_of

_log = logging.getLogger("ares.worker")

LAST_S: Final = 2.0
"""How long threads get to come back once the work itself has ended."""


def run_and_end(work: Coroutine[Any, Any, None]) -> None:
    """As `asyncio.run`; ends the process, with the code of what `work` raised, if threads hang."""
    timers: list[threading.Timer] = []

    async def timed() -> None:
        code = ExitCode.DONE
        try:
            await work
        except BaseException as exc:
            code = exit_code_of(exc)
            raise
        finally:
            timer = threading.Timer(LAST_S, _leave, (code,))
            timer.daemon = True
            timer.start()
            timers.append(timer)

    try:
        asyncio.run(timed())
    finally:
        for timer in timers:
            timer.cancel()


def _leave(code: ExitCode) -> None:
    _log.warning("ends without calls that hang", extra=fields(after_s=LAST_S))
    os._exit(code)
