"""Many subscriptions in one process, one of them asleep, Redis crashing in the middle."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

import pytest

from streams import Event, Gap, RedisEventStore, SubscriptionOptions
from streams.redis_store import StoreOptions
from support.publisher import insist
from support.redis_server import RedisServer
from support.waiting import eventually

OPTIONS = StoreOptions(subscriptions=SubscriptionOptions(block_ms=100), timeout_s=5.0)
STREAMS = 10


async def publish(store: RedisEventStore, count: int) -> None:
    """One publisher, ten events in flight at a time, one stream each."""

    async def one(stream: int) -> None:
        for _ in range(count // STREAMS):
            await insist(store, f"s{stream}", Event("llm.call", {"text": "x" * 80}))

    await asyncio.gather(*map(one, range(STREAMS)))


async def receive(subscription, count: int) -> None:
    """All of them, each stream contiguous from version 1 on."""
    versions: dict[str, int] = defaultdict(int)
    for _ in range(count):
        event = await anext(subscription)
        versions[event.stream_id] += 1
        assert event.version == versions[event.stream_id]


@pytest.mark.parametrize(
    ("subscribers", "count"), [(20, 1_000), pytest.param(100, 20_000, marks=pytest.mark.chaos)]
)
async def test_all_but_the_sleeper_receive_everything_and_it_accounts_for_what_it_missed(
    start_server: Callable[..., RedisServer], subscribers: int, count: int
):
    server = start_server(aof="always")
    async with (
        await RedisEventStore.connect(server.url, "t", options=OPTIONS) as reading,
        await RedisEventStore.connect(server.url, "t") as writing,
        asyncio.timeout(400),
    ):
        sleeper = await reading.subscribe(name="sleeper").__aenter__()
        awake = [
            await reading.subscribe(on_overflow="block").__aenter__()
            for _ in range(subscribers - 1)
        ]
        receiving = [asyncio.create_task(receive(one, count)) for one in awake]
        publishing = asyncio.create_task(publish(writing, count))
        await eventually(lambda: awake[0].delivered > count // 3, 200)
        await asyncio.to_thread(server.restart)
        await publishing
        await asyncio.gather(*receiving)

        assert [one.delivered for one in awake] == [count] * (subscribers - 1)
        await eventually(lambda: sleeper.dropped == count - 64)
        versions: dict[str, list[int]] = defaultdict(list)
        while sum(map(len, versions.values())) < count:
            item = await anext(sleeper)
            if isinstance(item, Gap):
                assert item.count == item.to_version - item.from_version + 1
                versions[item.stream] += range(item.from_version, item.to_version + 1)
            else:
                versions[item.stream_id].append(item.version)
        each = count // STREAMS
        assert versions == {f"s{n}": list(range(1, each + 1)) for n in range(STREAMS)}
        assert sleeper.delivered + sleeper.dropped == count
