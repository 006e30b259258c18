"""Live and catching-up subscriptions, on every store."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from contextlib import suppress

import pytest

from streams import Event, EventFilter, Gap, SubscriptionLimit, SubscriptionOptions, UsageError
from streams.clock import system_clock
from streams.codec import from_microseconds
from support.feeds import trim_feed
from support.subscribers import events, nothing_more, numbered, place, places, take
from support.waiting import eventually

SHORT = SubscriptionOptions(block_ms=50)


@pytest.fixture
async def store(backend):
    return await backend.open(subscriptions=SHORT)


MODES = pytest.mark.parametrize("mode", ["drop", "block"])


@MODES
async def test_from_now_on_only_what_is_appended_after_it_began_arrives(store, mode):
    await store.append("s", events(3))

    async with store.subscribe(on_overflow=mode) as subscription:
        await store.append("s", events(2))
        await store.append("t", events(1))

        assert places(await take(subscription, 3)) == [("s", 4), ("s", 5), ("t", 1)]
        assert await nothing_more(subscription)


async def test_an_event_arrives_as_it_was_appended(store):
    sent = Event(
        type="task.created",
        payload={"task": "résumé", "n": 2**63},
        module_name="planner",
        metadata={"trace": "a1"},
    )
    async with store.subscribe() as subscription:
        await store.append("s", [sent])
        (seen,) = await take(subscription, 1)

    assert [seen] == await store.read("s")
    assert (seen.id, seen.payload, seen.metadata) == (sent.id, sent.payload, sent.metadata)


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

    for index, position in enumerate(positions[:-1]):
        async with store.subscribe(start=position) as subscription:
            rest = await take(subscription, 8 - index)
            assert places(rest) == places(seen[index + 1 :])
            assert await nothing_more(subscription)


async def test_the_position_moves_on_past_what_the_filter_left_out(store):
    async with store.subscribe(EventFilter(types=("wanted",))) as subscription:
        before = subscription.position
        await store.append("s", events(3))
        reading = asyncio.create_task(anext(subscription))
        await eventually(lambda: subscription.position != before)
        position = subscription.position
        await store.append("s", events(1, "wanted"))
        assert place(await reading) == ("s", 4)

    async with store.subscribe(start=position) as subscription:
        assert places(await take(subscription, 1)) == [("s", 4)]


@pytest.mark.parametrize("start", ["now", "beginning"])
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (EventFilter(stream_ids=("agent-1",)), {("agent-1", 1), ("agent-1", 2)}),
        (EventFilter(stream_ids=("agent-*",)), {("agent-1", 1), ("agent-1", 2), ("agent-2", 1)}),
        (EventFilter(types=("task.*",)), {("agent-1", 2), ("other", 1)}),
        (EventFilter(types=("task.failed",)), {("other", 1)}),
        (EventFilter(types=("two words",)), {("other", 2)}),
        (EventFilter(modules=("m",)), {("agent-2", 1)}),
        (EventFilter(stream_ids=("agent-1",), types=("llm.*",)), {("agent-1", 1)}),
    ],
)
async def test_a_filter_lets_through_what_matches(store, wanted, expected, start):
    async def publish() -> None:
        await store.append("agent-1", [Event("llm.call"), Event("task.created")])
        await store.append("agent-2", [Event("llm.call", module_name="m")])
        await store.append("other", [Event("task.failed"), Event("two words")])
        await store.append("end", events(1, "end"))

    if start == "beginning":
        await publish()
    async with store.subscribe(wanted, start=start) as subscription:
        if start == "now":
            await publish()
        seen = await take(subscription, len(expected))

        assert set(places(seen)) == expected
        assert await nothing_more(subscription)


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
    options = SubscriptionOptions(block_ms=50, buffer_bytes=10_000)
    store = await backend.open(subscriptions=options)
    async with store.subscribe(buffer=1_000) as subscription:
        for _ in range(4):
            await store.append("s", [Event("x", {"text": "x" * 4_000})])
        await eventually(lambda: subscription.dropped == 2)
        assert places(await take(subscription, 3)) == [*numbered("s", 1, 2), ("gap", "s", 3, 4, 2)]

        await store.append("s", [Event("x", {"text": "x" * 50_000})])
        assert places(await take(subscription, 1)) == [("s", 5)]


async def test_a_slow_consumer_that_blocks_gets_everything_whatever_the_window_holds(backend):
    options = SubscriptionOptions(block_ms=50, window_events=10)
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
    options = SubscriptionOptions(block_ms=50, window_events=1)
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
    options = SubscriptionOptions(block_ms=50, window_events=1)
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


async def test_history_read_slowly_survives_a_trim_of_the_feed_behind_it(backend):
    store = await backend.open(subscriptions=SHORT)
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


@pytest.mark.parametrize("start", ["beginning", "0-0"])
async def test_a_read_that_is_cancelled_loses_nothing(store, start):
    for _ in range(40):
        await store.append("s", events(3))
    seen = []
    async with store.subscribe(start=start, buffer=2, on_overflow="block") as subscription:
        for patience in itertools.cycle(range(12)):
            reading = asyncio.create_task(anext(subscription))
            for _ in range(patience):
                await asyncio.sleep(0)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                seen.append(await reading)
            if len(seen) == 120:
                break

    assert places(seen) == numbered("s", 1, 120)


async def test_without_a_context_it_begins_with_the_first_item_asked_for(store):
    await store.append("s", events(1))
    subscription = store.subscribe()
    reading = asyncio.create_task(take(subscription, 2))
    await eventually(lambda: subscription.position is not None)
    await store.append("s", events(2))
    assert places(await reading) == numbered("s", 2, 3)
    await subscription.close()
    assert [item async for item in subscription] == []


async def test_a_beginning_that_is_cancelled_begins_again(store):
    await store.append("s", events(3))
    subscription = store.subscribe(start="beginning", on_overflow="block")
    seen = []
    for patience in range(40):
        reading = asyncio.create_task(anext(subscription))
        for _ in range(patience):
            await asyncio.sleep(0)
        reading.cancel()
        with suppress(asyncio.CancelledError):
            seen.append(await reading)
        if len(seen) == 3:
            break
    seen += await take(subscription, 3 - len(seen))
    assert places(seen) == numbered("s", 1, 3)
    await subscription.close()


async def test_without_a_context_it_counts_as_one_and_ends_with_its_store(backend):
    options = SubscriptionOptions(block_ms=50, max_subscriptions=1)
    store = await backend.open(subscriptions=options)
    subscription = store.subscribe(on_overflow="block")
    waiting = asyncio.create_task(anext(subscription, "ended"))
    await eventually(lambda: subscription.position is not None)

    with pytest.raises(SubscriptionLimit):
        await anext(store.subscribe())

    await store.close()
    async with asyncio.timeout(5):
        assert await waiting == "ended"


@pytest.mark.parametrize("start", ["now", "beginning"])
async def test_closing_in_the_middle_of_the_beginning_leaves_nothing_behind(backend, start):
    options = SubscriptionOptions(block_ms=50, max_subscriptions=1)
    store = await backend.open(subscriptions=options)
    for patience in range(0, 30, 3):
        subscription = store.subscribe(start=start)
        beginning = asyncio.create_task(anext(subscription, "ended"))
        for _ in range(patience):
            await asyncio.sleep(0)
        await subscription.close()
        assert await beginning == "ended"

    await store.close()
    with pytest.raises(UsageError, match="closed"):
        await anext(store.subscribe())


async def test_a_closed_subscription_is_not_entered_again(store):
    subscription = store.subscribe()
    async with subscription:
        pass
    with pytest.raises(UsageError, match="subscribe again"):
        await subscription.__aenter__()


async def test_closing_ends_the_iteration_of_whoever_waits(store):
    subscription = store.subscribe()
    async with subscription:
        waiting = asyncio.create_task(anext(subscription, "ended"))
        await asyncio.sleep(0.02)
        assert not waiting.done()

    async with asyncio.timeout(5):
        assert await waiting == "ended"
    assert [item async for item in subscription] == []


async def test_closing_the_store_ends_its_subscriptions(backend):
    store = await backend.open(subscriptions=SHORT)
    async with store.subscribe() as subscription:
        waiting = asyncio.create_task(anext(subscription, "ended"))
        await asyncio.sleep(0)
        await store.close()

        async with asyncio.timeout(5):
            assert await waiting == "ended"


@pytest.mark.parametrize(
    "bad",
    [
        {"buffer": 0},
        {"buffer": True},
        {"buffer": 10_000_000},
        {"on_overflow": "explode"},
        {"start": "yesterday"},
        {"start": "1-1:x"},
        {"name": ""},
        {"name": "x" * 129},
        {"name": "two\nlines"},
    ],
)
async def test_a_bad_argument_is_a_usage_error_at_once(store, bad):
    with pytest.raises(UsageError):
        store.subscribe(**bad)


async def test_there_is_a_limit_to_subscriptions(backend):
    options = SubscriptionOptions(block_ms=50, max_subscriptions=2)
    store = await backend.open(subscriptions=options)
    async with store.subscribe(), store.subscribe():
        with pytest.raises(SubscriptionLimit) as caught:
            async with store.subscribe():
                pass
    assert caught.value.limit == 2
    async with store.subscribe():
        pass
