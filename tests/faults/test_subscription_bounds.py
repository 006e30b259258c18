"""What subscriptions may take: bytes of Redis, memory of the process, connections of a pool."""

from __future__ import annotations

import asyncio
import resource
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from streams import (
    Event,
    EventFilter,
    RedisEventStore,
    SubscriptionLimit,
)
from streams.connection import ConnectionOptions, open_client
from support.subscribers import events, numbered, place, places, take
from support.waiting import eventually


@pytest.mark.parametrize("more", [{}, {"start": "0-0"}, {"group": "g", "start": "0-0"}])
@pytest.mark.parametrize(
    "wanted", [EventFilter(stream_ids=("other*",)), EventFilter(types=("other.*",))]
)
async def test_what_nobody_wants_by_the_feed_is_not_even_read(
    start_server, open_store, wanted, more
):
    server = start_server()
    store = await open_store(server.url)
    bulky = Event("llm.call", {"text": "x" * 1_000_000})
    with server.admin() as admin:
        if "start" in more:
            await store.append("s", [bulky])
        before = admin.info("stats")["total_net_output_bytes"]
        async with store.subscribe(wanted, **more) as subscription:
            await store.append("s", [bulky])
            await store.append("other", events(1, "other.x"))
            (item,) = await take(subscription, 1)
            assert place(item) == ("other", 1)
        assert admin.info("stats")["total_net_output_bytes"] - before < 500_000


async def test_sleepers_hold_no_more_than_their_bounds_say(start_server, open_store):
    """Forty megabytes pass by two that never ask; what they may hold are two."""
    server = start_server()
    store = await open_store(server.url, buffer_bytes=1_000_000, window_bytes=1_000_000)

    async def drain(count: int) -> None:
        for _ in range(count):
            await anext(awake)

    async def pass_by(count: int) -> None:
        taking = asyncio.create_task(drain(count))
        for _ in range(count // 100):
            await store.append("s", [Event("llm.call", {"text": "x" * 2_000}) for _ in range(100)])
        await taking

    async with (
        store.subscribe(buffer=100_000) as sleeper,
        store.subscribe(on_overflow="block"),
        store.subscribe(on_overflow="block") as awake,
    ):
        await pass_by(2_000)
        before = resident_bytes()
        await pass_by(20_000)
        grown = resident_bytes() - before

        assert grown < 15_000_000
        await eventually(lambda: sleeper.dropped > 21_000)


def resident_bytes() -> int:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def test_a_hundred_subscriptions_wait_on_one_connection(start_server, open_store):
    server = start_server()
    store = await open_store(server.url)
    await store.append("s", events(1))
    async with AsyncExitStack() as stack:
        admin = stack.enter_context(server.admin())
        before = len(admin.client_list())
        subscriptions = [
            await stack.enter_async_context(store.subscribe(on_overflow=mode))
            for mode in ("drop", "block")
            for _ in range(50)
        ]
        await store.append("s", events(2))
        for subscription in subscriptions:
            assert places(await take(subscription, 2)) == numbered("s", 2, 3)
        assert len(admin.client_list()) <= before + 2


async def test_a_pool_too_small_for_a_waiting_reader_says_so_before_anything_hangs(server, tenant):
    """Appends would starve behind the blocked reader."""
    client = open_client(server.url, ConnectionOptions(max_connections=2))
    async with RedisEventStore(client, tenant) as store:
        for group in (None, "g"):
            with pytest.raises(SubscriptionLimit, match="connections"):
                async with store.subscribe(group=group):
                    pass
        await store.append("s", events(1))
        assert await store.stream_version("s") == 1
    await client.aclose()
