"""A consumer too slow for its buffer: drops are told where they happened, or nothing drops."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from streams import Event, EventFilter, Gap, SubscriptionOptions
from support.subscribers import events, nothing_more, numbered, places, take
from support.waiting import eventually


async def test_what_overflows_is_dropped_counted_and_told_in_its_place(store):
    async with store.subscribe(buffer=4) as subscription:
        await store.append("s", events(10))
        await store.append("t", events(3))
        await eventually(lambda: subscription.dropped == 9)

        first = await take(subscription, 6)
        assert places(first) == [
            *numbered("s", 1, 4),
            ("gap", "s", 5, 10, 6),
            ("gap", "t", 1, 3, 3),
        ]
        await store.append("s", events(1))
        assert places(await take(subscription, 1)) == [("s", 11)]
        assert subscription.delivered + subscription.dropped == 14
        missed = await store.read("s", first[4].from_version, first[4].to_version)
        assert len(missed) == first[4].count


async def test_a_gap_ends_where_its_stream_goes_on(store):
    """Order per stream: what comes after a gap is newer than the gap."""
    async with store.subscribe(buffer=2) as subscription:
        await store.append("s", events(3))
        await eventually(lambda: subscription.dropped == 1)
        seen = await take(subscription, 1)
        await store.append("s", events(2))
        await eventually(lambda: subscription.dropped == 2)
        seen += await take(subscription, 4)

    assert places(seen) == [
        ("s", 1), ("s", 2), ("gap", "s", 3, 3, 1), ("s", 4), ("gap", "s", 5, 5, 1)
    ]  # fmt: skip


async def test_a_gap_counts_only_what_the_filter_wants(store):
    async with store.subscribe(EventFilter(types=("b",)), buffer=1) as subscription:
        await store.append("s", [Event("b"), Event("a"), Event("b"), Event("a"), Event("b")])
        await eventually(lambda: subscription.dropped == 2)

        assert places(await take(subscription, 2)) == [("s", 1), ("gap", "s", 3, 5, 2)]


async def test_a_full_buffer_in_bytes_drops_too(backend):
    options = SubscriptionOptions(block_ms=20, buffer_bytes=10_000)
    store = await backend.open(subscriptions=options)
    async with store.subscribe(buffer=1_000) as subscription:
        for _ in range(4):
            await store.append("s", [Event("x", {"text": "x" * 4_000})])
        await eventually(lambda: subscription.dropped == 2)
        assert places(await take(subscription, 3)) == [*numbered("s", 1, 2), ("gap", "s", 3, 4, 2)]

        await store.append("s", [Event("x", {"text": "x" * 50_000})])
        assert places(await take(subscription, 1)) == [("s", 5)]


async def test_a_slow_consumer_that_blocks_gets_everything_whatever_the_window_holds(backend):
    options = SubscriptionOptions(block_ms=20, window_events=10)
    store = await backend.open(subscriptions=options)
    async with store.subscribe(buffer=5, on_overflow="block") as subscription:
        for _ in range(20):
            await store.append("s", events(10))
            await store.append("t", events(1))
        seen = places(await take(subscription, 220))

        assert [p for p in seen if p[0] == "s"] == numbered("s", 1, 200)
        assert [p for p in seen if p[0] == "t"] == numbered("t", 1, 20)
        assert subscription.dropped == 0
        assert await nothing_more(subscription)


async def test_one_asleep_is_nothing_to_the_others(store):
    """The sleeper's gaps name exactly what it misses; the others get all of it."""
    count = 600
    async with (
        store.subscribe(buffer=16) as sleeper,
        store.subscribe(buffer=16, on_overflow="block") as one,
        store.subscribe(buffer=16, on_overflow="block") as two,
    ):
        readers = [asyncio.create_task(take(reader, count, 30)) for reader in (one, two)]
        for _ in range(count // 6):
            await store.append("s", events(2))
            await store.append("t", events(4))
        for reader in readers:
            seen = places(await reader)
            assert [p for p in seen if p[0] == "s"] == numbered("s", 1, count // 3)
            assert [p for p in seen if p[0] == "t"] == numbered("t", 1, count // 3 * 2)
        await eventually(lambda: sleeper.dropped == count - 16)
        heard = await take(sleeper, 18)

    covered = defaultdict(list)
    for item in heard:
        if isinstance(item, Gap):
            covered[item.stream] += range(item.from_version, item.to_version + 1)
            assert item.count == item.to_version - item.from_version + 1
        else:
            covered[item.stream_id].append(item.version)
    assert covered == {
        "s": list(range(1, count // 3 + 1)),
        "t": list(range(1, count // 3 * 2 + 1)),
    }
    assert sleeper.delivered + sleeper.dropped == count
