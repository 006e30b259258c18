"""From the past into the present: without a hole, without a repeat, from any position."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from streams import Event, EventFilter
from streams.clock import system_clock
from streams.codec import from_microseconds
from support.subscribers import events, nothing_more, numbered, places, take
from support.waiting import eventually

MODES = pytest.mark.parametrize("mode", ["drop", "block"])


@MODES
async def test_from_the_beginning_history_comes_first_and_then_what_is_new(store, mode):
    for _ in range(3):
        await store.append("s", events(2))
        await store.append("t", events(1))

    async with store.subscribe(on_overflow=mode, start="beginning") as subscription:
        seen = await take(subscription, 9)
        await store.append("s", events(1))
        seen += await take(subscription, 1)

        assert [p for p in places(seen) if p[0] == "s"] == numbered("s", 1, 7)
        assert [p for p in places(seen) if p[0] == "t"] == numbered("t", 1, 3)
        assert await nothing_more(subscription)


@MODES
async def test_nothing_is_missing_or_repeated_where_catching_up_becomes_following(store, mode):
    """Appends go on all the while; every stream must arrive contiguous."""
    streams, each = 5, 60
    await asyncio.gather(*(store.append(f"s{n}", events(20)) for n in range(streams)))
    buffer = streams * each if mode == "drop" else 8

    async def publish(stream: str) -> None:
        for _ in range(each - 20):
            await store.append(stream, events(1))
            await asyncio.sleep(0)

    async with store.subscribe(start="beginning", on_overflow=mode, buffer=buffer) as subscription:
        publishers = asyncio.gather(*(publish(f"s{n}") for n in range(streams)))
        seen = await take(subscription, streams * each, 30)
        await publishers

        assert await nothing_more(subscription)
    by_stream = defaultdict(list)
    for event in seen:
        by_stream[event.stream_id].append(event.version)
    assert by_stream == {f"s{n}": list(range(1, each + 1)) for n in range(streams)}


@MODES
async def test_beginning_in_the_middle_of_a_burst_leaves_no_hole(store, mode):
    """What it starts with may be any version; from there on every one must come."""
    done = False

    async def publish() -> None:
        while not done:
            await store.append("s", events(1))
            await asyncio.sleep(0)

    publisher = asyncio.create_task(publish())
    for _ in range(10):
        async with store.subscribe(on_overflow=mode, buffer=1_000) as subscription:
            seen = places(await take(subscription, 20))
            assert seen == numbered("s", seen[0][1], seen[0][1] + 19)
    done = True
    await publisher


async def test_it_goes_on_from_any_position_even_inside_an_entry(store):
    await store.append("s", events(5))
    await store.append("t", events(4))
    seen, positions = [], []
    async with store.subscribe(start="0-0") as subscription:
        for _ in range(9):
            seen += await take(subscription, 1)
            positions.append(subscription.position)

    async def go_on_after(index: int) -> None:
        async with store.subscribe(start=positions[index]) as subscription:
            rest = await take(subscription, 8 - index)
            assert places(rest) == places(seen[index + 1 :])
            assert await nothing_more(subscription)

    await asyncio.gather(*map(go_on_after, range(8)))


async def test_since_means_the_time_of_the_commit(store):
    await store.append("s", events(2))
    since_ms = system_clock() + 2
    await eventually(lambda: system_clock() >= since_ms)
    since = from_microseconds(since_ms * 1000)
    long_ago = from_microseconds(0)
    await store.append("s", [Event("llm.call", timestamp=long_ago) for _ in range(2)])

    async with store.subscribe(EventFilter(since=since), start="beginning") as subscription:
        assert places(await take(subscription, 2)) == numbered("s", 3, 4)
        assert await nothing_more(subscription)
