"""Stores for the contract suite: several of them on one set of data, and a way to compact it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import redis.asyncio

from streams.memory_store import MemoryEventStore
from streams.store import EventStore


@dataclass(frozen=True, slots=True)
class Backend:
    """`open(tenant=…)` is one more store with connections of its own.

    `compact(stream, through)` folds the events up to version `through` into a summary.
    """

    tenant: str
    open: Callable[..., Awaitable[EventStore]]
    compact: Callable[[str, int], Awaitable[None]]


def memory_backend(tenant: str) -> Backend:
    """Every store opened for one tenant is the same one: nobody shares memory otherwise."""
    stores: dict[str, MemoryEventStore] = {}

    async def open_store(tenant: str = tenant) -> EventStore:
        return stores.setdefault(tenant, MemoryEventStore(tenant=tenant))

    async def compact(stream: str, through: int) -> None:
        await stores[tenant].compact(stream, through)

    return Backend(tenant, open_store, compact)


def redis_backend(
    tenant: str, connect: Callable[[], redis.asyncio.Redis], stack: AsyncExitStack
) -> Backend:
    """Each store opened has a client of its own; all are closed with `stack`."""
    from streams.redis_store import RedisEventStore

    async def open_store(tenant: str = tenant) -> EventStore:
        client = await stack.enter_async_context(connect())
        return await stack.enter_async_context(RedisEventStore(client, tenant=tenant))

    async def compact(stream: str, through: int) -> None:
        raise NotImplementedError

    return Backend(tenant, open_store, compact)
