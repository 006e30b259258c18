"""Stores for the contract suite: several of them on one set of data, and a way to compact it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import chain

import redis.asyncio

from streams import SubscriptionOptions
from streams.clock import Clock, system_clock
from streams.codec import decode_entry, entry_ms
from streams.keys import Keys
from streams.memory_store import MemoryEventStore
from streams.redis_store import RedisEventStore, StoreOptions
from streams.store import EventStore
from streams.summary import pack, rule_based_text, summarize


@dataclass(frozen=True, slots=True)
class Backend:
    """`open(tenant=…, subscriptions=…)` is one more store with connections of its own.

    `compact(stream, through)` folds the events up to version `through` into a summary.
    """

    tenant: str
    open: Callable[..., Awaitable[EventStore]]
    compact: Callable[[str, int], Awaitable[None]]


def memory_backend(
    tenant: str, stack: AsyncExitStack | None = None, *, clock: Clock = system_clock
) -> Backend:
    """Every store opened for one tenant is the same one: nobody shares memory otherwise."""
    stores: dict[str, MemoryEventStore] = {}

    async def open_store(
        tenant: str = tenant, subscriptions: SubscriptionOptions | None = None
    ) -> EventStore:
        if tenant not in stores:
            store = MemoryEventStore(tenant, subscriptions=subscriptions, clock=clock)
            stores[tenant] = store
            if stack is not None:
                stack.push_async_callback(store.close)
        return stores[tenant]

    async def compact(stream: str, through: int) -> None:
        await stores[tenant].compact(stream, through)

    return Backend(tenant, open_store, compact)


def redis_backend(
    tenant: str,
    connect: Callable[[], redis.asyncio.Redis],
    stack: AsyncExitStack,
    *,
    clock: Clock = system_clock,
) -> Backend:
    """Each store opened has a client of its own; all are closed with `stack`."""

    async def open_store(
        tenant: str = tenant, subscriptions: SubscriptionOptions | None = None
    ) -> EventStore:
        client = await stack.enter_async_context(connect())
        options = StoreOptions(subscriptions=subscriptions or SubscriptionOptions())
        store = RedisEventStore(client, tenant, options=options, clock=clock)
        return await stack.enter_async_context(store)

    async def compact(stream: str, through: int) -> None:
        keys = Keys(tenant)
        async with connect() as client:
            log = await client.xrange(keys.log(stream), max=str(through))
            events = [
                decode_entry(stream, name, list(chain(*fields.items()))) for name, fields in log
            ]
            summary = summarize(events, entry_ms(log[-1][0]), rule_based_text(events))
            transaction = client.pipeline()
            transaction.rpush(keys.summaries(stream), pack(summary))
            transaction.hset(keys.state(stream), "compacted_version", through)
            transaction.xtrim(keys.log(stream), minid=through + 1, approximate=False)
            await transaction.execute()

    return Backend(tenant, open_store, compact)
