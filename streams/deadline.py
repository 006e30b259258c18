"""The time limit of what one connection does, again and again."""

from __future__ import annotations

import asyncio
from typing import Any


class Deadline:
    """The time limit of a wire's exchanges: `asyncio.timeout`, with one timer for many of them.

    Arming and cancelling a timer for each exchange would cost more than the exchange itself
    needs to be sent.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._cancelled_before = 0
        self._fired = False

    def begin(self, timeout_s: float) -> float:
        """Cancel the running task in `timeout_s`, unless `end` is called before; the time now."""
        task = self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._due = now + timeout_s
        self._fired = False
        self._cancelled_before = task.cancelling() if task else 0
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._due, self._look)
        return now

    def check(self) -> None:
        """Raise `CancelledError` where a cancellation since `begin` got lost on its way.

        `asyncio.wait_for` of Python 3.11, which redis-py calls when it connects, swallows one
        that comes when what it waits for is just done.
        """
        if self._task is not None and self._task.cancelling() > self._cancelled_before:
            raise asyncio.CancelledError

    def end(self) -> None:
        """The exchange is over; the timer is left to find that out."""
        self._task = None

    def expired(self) -> bool:
        """Whether the task was cancelled by this deadline and by nothing else; takes that back."""
        if not self._fired or self._task is None:
            return False
        return self._task.uncancel() <= self._cancelled_before

    def _look(self) -> None:
        self._timer = None
        if self._task is None:
            return
        loop = self._task.get_loop()
        if loop.time() < self._due:
            self._timer = loop.call_at(self._due, self._look)
        else:
            self._fired = True
            self._task.cancel()
