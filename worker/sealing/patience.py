"""Gives up waiting for a call that hangs: a lock or a file on a network volume may never answer.

The call itself can't be ended. It goes on in a thread that holds up no exit of the process, and
until it is over no other is begun.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from archive.segments import SegmentBusy

PATIENCE_S: Final = 30.0
"""Far longer than any call on a full scope takes on a slow volume."""

T = TypeVar("T")


class Patience:
    """Waits for calls at most `seconds` each. Threads may share one."""

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._seconds = seconds
        self._hanging: Future[object] | None = None

    def call(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; raises `SegmentBusy` where that takes too long."""
        if self._hanging is not None and not self._hanging.done():
            raise self._overdue()
        future: Future[T] = Future()
        threading.Thread(target=_run, args=(work, future), name="sealing", daemon=True).start()
        try:
            return future.result(self._seconds)
        except TimeoutError:
            if future.done():
                raise  # the work's own
            self._hanging = future  # type: ignore[assignment]  # only whether it is done is asked
            # Should it be done after all, who tries again finds it so.
            raise self._overdue() from None

    def _overdue(self) -> SegmentBusy:
        return SegmentBusy(f"the store has not answered for {self._seconds:g} seconds")


def _run(work: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(work())
    except BaseException as exc:
        future.set_exception(exc)
