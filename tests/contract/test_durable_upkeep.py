"""The feed is kept for durable subscriptions, until one is dropped; on every kind of Redis."""

from __future__ import annotations

import pytest

from streams import SubscriptionOptions
from streams.clock import system_clock
from streams.durable.upkeep import read_groups
from streams.redis_store import StoreOptions
from support.feeds import WEEK_MS, tend
from support.subscribers import events, handle, nothing_more, places, take
from support.workshop import Workshop

MINUTE_MS = 60_000
OPTIONS = SubscriptionOptions(block_ms=20, lease_ttl_ms=600)


@pytest.fixture
def store(workshop: Workshop):
    workshop.options = StoreOptions(subscriptions=OPTIONS)
    workshop.clock = system_clock
    return workshop.store()


async def feed_length(store) -> int:
    (length,) = await store.wires.exchange([("XLEN", store.keys.feed)])
    return length


async def groups(store) -> dict[str, str]:
    """Groups known, and why each is dropped."""
    async with store.wires.borrow() as wire:
        _, found = await read_groups(wire, store.keys)
    return {group.name: group.dropped for group in found}


async def begun(store, handled: int) -> None:
    """A group that has acknowledged so many of ten events, one commit each."""
    for _ in range(10):
        await store.append("s", events(1))
    async with store.subscribe(group="g", start="0-0") as member:
        await handle(member, handled)


async def test_the_feed_keeps_what_the_slowest_group_has_not_finished(store):
    await begun(store, 4)

    tended = await tend(store, keep=2)

    assert tended.dropped == {}
    assert await feed_length(store) == 7  # the entry the group stands on, and what follows it
    async with store.subscribe(group="g") as member:
        assert await handle(member, 6) == [("s", n, 1) for n in range(5, 11)]


async def test_what_every_group_has_finished_goes(store):
    await begun(store, 10)
    async with store.subscribe(group="other", start="0-0") as member:
        await handle(member, 10)

    await tend(store, keep=3)

    assert await feed_length(store) == 3


async def test_a_group_that_has_handled_nothing_yet_holds_the_whole_feed(store):
    async with store.subscribe(group="g"):
        pass
    await begun(store, 10)
    async with store.subscribe(group="idle", start="0-0"):
        pass

    await tend(store, keep=0)

    assert await feed_length(store) == 10


async def test_a_group_too_far_behind_is_dropped_and_says_why_once(store):
    await begun(store, 4)

    first = await tend(store, keep=2, feed_max=5)
    second = await tend(store, keep=2, feed_max=5)

    assert (first.dropped, second.dropped) == ({"g": "behind"}, {})
    assert await groups(store) == {"g": "behind"}
    assert await feed_length(store) == 2


async def test_a_group_exactly_at_the_limit_is_kept(store):
    await begun(store, 4)

    tended = await tend(store, keep=2, feed_max=6)

    assert tended.dropped == {}
    assert await feed_length(store) == 7


async def age(store, ms: int) -> None:
    """Group `g` was last seen, and dropped, so much longer ago."""
    group = store.keys.group("g")
    await store.wires.exchange([("ZINCRBY", store.keys.groups, -ms, "g")])
    if (await groups(store))["g"]:
        await store.wires.exchange([("HINCRBY", group, "dropped_ms", -ms)])


async def test_a_group_nobody_was_seen_of_is_dropped_and_later_forgotten(store):
    await begun(store, 4)
    await age(store, WEEK_MS - MINUTE_MS)
    assert (await tend(store, keep=2)).dropped == {}

    await age(store, 2 * MINUTE_MS)
    assert (await tend(store, keep=2)).dropped == {"g": "unseen"}
    assert await feed_length(store) == 2
    await age(store, WEEK_MS - MINUTE_MS)
    assert (await tend(store, keep=2)).forgotten == []

    await age(store, 2 * MINUTE_MS)
    assert (await tend(store, keep=2)).forgotten == ["g"]
    assert await groups(store) == {}
    names = [store.keys.group("g"), store.keys.group_losses("g"), store.keys.group_dead("g")]
    (left,) = await store.wires.exchange([("EXISTS", *names)])
    assert left == 0


async def test_a_dropped_group_is_back_with_its_first_member_and_told_what_it_missed(store):
    await begun(store, 4)
    await tend(store, keep=2, feed_max=5)
    await store.append("s", events(1))
    await tend(store, keep=1, feed_max=5)

    async with store.subscribe(group="g") as member:
        assert await groups(store) == {"g": ""}
        told = places(await take(member, 2))
        assert told == [("reset", "trimmed"), ("gap", "s", 5, 10, 6)]
        assert await handle(member, 1) == [("s", 11, 1)]
        assert await nothing_more(member)
    assert (await tend(store, keep=0)).dropped == {}
    (left,) = await store.wires.exchange([("EXISTS", store.keys.group_losses("g"))])
    assert left == 0


async def test_a_dropped_group_that_lost_nothing_goes_on_as_if_nothing_had_been(store):
    await begun(store, 4)
    await tend(store, keep=10, feed_max=5)

    async with store.subscribe(group="g") as member:
        assert await handle(member, 6) == [("s", n, 1) for n in range(5, 11)]
        assert await nothing_more(member)


async def test_the_janitor_of_a_worker_does_all_this(store, workshop: Workshop):
    await begun(store, 4)

    janitor = workshop.janitor(feed_keep=1)
    assert (await janitor.run_once()).groups_dropped == {}
    assert await feed_length(store) == 7
    await janitor.release()

    janitor = workshop.janitor(feed_keep=1, feed_max=5)
    assert (await janitor.run_once()).groups_dropped == {"g": "behind"}


async def test_more_losses_than_can_be_noted_are_told_from_what_times_say(store, monkeypatch):
    monkeypatch.setattr("streams.durable.upkeep._MOST_LOSSES", 3)
    async with store.subscribe(group="g", start="0-0"):
        pass
    for n in range(6):
        await store.append(f"s{n}", events(2))
    await store.append("end", events(1))
    await tend(store, keep=1, feed_max=1)

    async with store.subscribe(group="g") as member:
        told = places(await take(member, 7))
        gaps = {place for place in told if place[0] == "gap"}
        assert gaps == {("gap", f"s{n}", 1, 2, 2) for n in range(6)}
        assert await handle(member, 1) == [("end", 1, 1)]
