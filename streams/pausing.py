"""Waiting for a while, or until one is told to stop."""

from __future__ import annotations

import asyncio


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait `seconds`, or until `stop` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
