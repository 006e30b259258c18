"""Workers that die within this process, and others that take over from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


class Died(BaseException):
    """Stands for the end of the process."""


async def die_until_done(work: Callable[[int], Awaitable[object]]) -> int:
    """Call `work` with 0, 1… as one worker after the other; how many died before one didn't."""
    for deaths in range(50):
        try:
            await work(deaths)
        except Died:
            continue
        return deaths
    raise AssertionError("workers die without end")
