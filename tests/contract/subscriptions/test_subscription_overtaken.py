"""Compaction and trims that overtake a subscription: told of, and nothing is skipped."""

from __future__ import annotations

import pytest

from streams import Event, EventFilter, SubscriptionOptions
from support.feeds import trim_feed
from support.subscribers import events, nothing_more, numbered, places, take
from support.waiting import eventually


@pytest.mark.parametrize("start", ["beginning", "0-0"])
async def test_catching_up_goes_through_compaction(backend, store, start):
    await store.append("s", events(60))
    await store.append("s", events(40))
    await backend.compact("s", 30)
    await backend.compact("s", 80)

    async with store.subscribe(start=start) as subscription:
        await store.append("s", events(1))

        seen = places(await take(subscription, 23))
        assert seen == [("Σ", "s", 1, 30), ("Σ", "s", 31, 80), *numbered("s", 81, 101)]
        assert await nothing_more(subscription)


async def test_a_reader_overtaken_by_compaction_gets_the_summary_and_goes_on(backend):
    """Paused at version 1 of 100 while 1..80 are folded: neither stuck nor silent."""
    options = SubscriptionOptions(block_ms=20, window_events=1)
    store = await backend.open(subscriptions=options)
    for _ in range(10):
        await store.append("s", events(10))
    async with store.subscribe(start="0-0", buffer=1, on_overflow="block") as subscription:
        first = await take(subscription, 1)
        await backend.compact("s", 80)

        seen = places(first + await take(subscription, 21))
        assert seen == [("s", 1), ("Σ", "s", 1, 80), *numbered("s", 81, 100)]
        await store.append("s", events(1))
        assert places(await take(subscription, 1)) == [("s", 101)]


async def test_a_summary_comes_when_it_stands_for_a_wanted_type(backend, store):
    await store.append("s", [Event("a"), Event("b"), Event("a")])
    await store.append("t", [Event("b"), Event("b"), Event("a")])
    await backend.compact("s", 2)
    await backend.compact("t", 2)

    async with store.subscribe(EventFilter(types=("a",)), start="beginning") as subscription:
        seen = places(await take(subscription, 3))

        assert set(seen) == {("Σ", "s", 1, 2), ("s", 3), ("t", 3)}
        assert await nothing_more(subscription)


async def test_a_reader_behind_the_trim_is_told_and_reads_on_from_the_logs(backend):
    options = SubscriptionOptions(block_ms=20, window_events=1)
    store = await backend.open(subscriptions=options)
    await store.append("s", events(2))
    async with store.subscribe(start="0-0", buffer=1, on_overflow="block") as subscription:
        assert places(await take(subscription, 2)) == numbered("s", 1, 2)
        for _ in range(20):
            await store.append("s", events(1))
            await store.append("new", events(1))
        await trim_feed(store, 5)

        seen = places(await take(subscription, 41))
        assert seen[0] == ("reset", "trimmed")
        assert [p for p in seen if p[0] == "s"] == numbered("s", 3, 22)
        assert [p for p in seen if p[0] == "new"] == numbered("new", 1, 20)
        await store.append("s", events(1))
        assert places(await take(subscription, 1)) == [("s", 23)]
        assert await nothing_more(subscription)


async def test_a_sleeper_behind_the_trim_accounts_for_every_event(store):
    """Its buffer was filled before; what was dropped stays counted."""
    async with store.subscribe(buffer=3) as subscription:
        for _ in range(10):
            await store.append("s", events(1))
        await eventually(lambda: subscription.dropped == 7)
        await trim_feed(store, 1)

        assert places(await take(subscription, 4)) == [*numbered("s", 1, 3), ("gap", "s", 4, 10, 7)]
        await store.append("s", events(1))
        assert places(await take(subscription, 1)) == [("s", 11)]


async def test_a_position_older_than_the_feed_is_told_of_and_nothing_is_skipped(store):
    for _ in range(10):
        await store.append("s", events(1))
    async with store.subscribe(start="0-0") as subscription:
        await take(subscription, 4)
        position = subscription.position
    await trim_feed(store, 3)

    async with store.subscribe(start=position) as subscription:
        seen = places(await take(subscription, 7))
        while seen[-1] != ("s", 10):
            seen += places(await take(subscription, 1))
        # Only times tell what it had: some may come again, in order, none is missing.
        assert seen[0] == ("reset", "trimmed")
        assert seen[1:] == numbered("s", seen[1][1], 10)
        assert seen[1][1] <= 5
        assert await nothing_more(subscription)


async def test_history_read_slowly_survives_a_trim_of_the_feed_behind_it(store):
    await store.append("s", events(10))
    async with store.subscribe(start="beginning", buffer=1, on_overflow="block") as subscription:
        seen = await take(subscription, 2)
        for _ in range(10):
            await store.append("s", events(1))
        await trim_feed(store, 2)
        seen += await take(subscription, 19)

    told = [p for p in places(seen) if p[0] == "reset"]
    assert [p for p in places(seen) if p[0] == "s"] == numbered("s", 1, 20)
    assert told == [("reset", "trimmed")]
