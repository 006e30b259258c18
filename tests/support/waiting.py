"""Waiting for a condition with a deadline: what tests do where others sleep."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_STEP_S = 0.005


async def eventually(
    condition: Callable[[], T | Awaitable[T]], deadline_s: float = 10.0, *, hint: str = ""
) -> T:
    """Return the first truthy value of `condition`; `AssertionError` past the deadline.

    `condition` may be a plain or an async function. An `AssertionError` it raises counts as
    "not yet", so a whole assertion can be waited for; any other error passes through.
    """
    until = time.monotonic() + deadline_s
    while True:
        try:
            last: object = condition()
            value = await last if inspect.isawaitable(last) else last
            if value:
                return value
            last = value
        except AssertionError as exc:
            last = exc
        if time.monotonic() >= until:
            raise AssertionError(
                f"not within {deadline_s:g} s: {hint or condition}; last: {last!r}"
            )
        await asyncio.sleep(_STEP_S)


def eventually_sync(condition: Callable[[], T], deadline_s: float = 10.0, *, hint: str = "") -> T:
    """`eventually` for plain tests and for starting servers."""
    until = time.monotonic() + deadline_s
    while not (value := condition()):
        if time.monotonic() >= until:
            raise AssertionError(
                f"not within {deadline_s:g} s: {hint or condition}; last: {value!r}"
            )
        time.sleep(_STEP_S)
    return value


async def turns(count: int) -> None:
    """Let whatever else is ready go on, `count` times."""
    for _ in range(count):
        await asyncio.sleep(0)
