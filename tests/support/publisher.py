"""A publisher that goes on whatever happens to Redis, and knows in the end what was recorded."""

from __future__ import annotations

import asyncio

from streams import Event, OutcomeUnknown
from streams.errors import TransientError
from streams.redis_store import RedisEventStore


async def insist(store: RedisEventStore, stream: str, event: Event) -> None:
    """Append `event` exactly once, waiting while Redis is away."""
    while True:
        try:
            await store.append(stream, [event])
            return
        except OutcomeUnknown:
            if await is_recorded(store, stream, event):
                return
        except TransientError:
            await asyncio.sleep(0.02)


async def is_recorded(store: RedisEventStore, stream: str, event: Event) -> bool:
    """Whether the newest events of `stream` have this one among them."""
    while True:
        try:
            last = await store.stream_version(stream)
            found = await store.read(stream, from_version=max(last - 5, 1))
            return any(other.id == event.id for other in found)
        except TransientError:
            await asyncio.sleep(0.02)


async def publish(store: RedisEventStore, streams: int, each: int, *, callers: int = 4) -> None:
    """`each` events to each of `streams` streams, one commit an event, several at a time."""

    async def caller(number: int) -> None:
        for _ in range(each):
            for stream in range(number, streams, callers):
                await insist(store, f"s{stream}", Event("llm.call", {"text": "x" * 40}))

    await asyncio.gather(*map(caller, range(callers)))
