"""Counts of subscriptions in Redis: of every process, by name, bounded, and gone in time."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from streams import RedisEventStore, SubscriptionOptions
from streams.keys import Keys
from streams.redis_store import StoreOptions
from streams.subscription.reports import (
    FRESH_MS,
    SubscriberReport,
    forget_stale,
    read_subscriber_facts,
)
from support.subscribers import events, handle, take
from support.waiting import eventually


class Clock:
    """Milliseconds, moved by the test."""

    now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def open_store(every_client, tenant, clock):
    """Stores of one tenant as several processes have them."""
    options = StoreOptions(subscriptions=SubscriptionOptions(block_ms=50, report_s=0.05))
    async with AsyncExitStack() as stack:

        async def open_one() -> RedisEventStore:
            store = RedisEventStore(every_client, tenant, options=options, clock=clock)
            return await stack.enter_async_context(store)

        yield open_one


async def facts(store: RedisEventStore) -> dict[str, SubscriberReport]:
    async with store.wires.borrow() as wire:
        return await read_subscriber_facts(wire, store.keys, store.clock())


async def test_what_was_delivered_and_dropped_is_told_while_it_runs(open_store):
    store = await open_store()
    async with store.subscribe(name="screen", buffer=2) as subscription:
        await store.append("s", events(5))
        await take(subscription, 2)

        async def told() -> bool:
            seen = (await facts(store))["screen"]
            return (seen.delivered_events, seen.dropped_events) == (2, 3)

        await eventually(told)


async def test_a_subscription_is_known_from_its_beginning_and_counted_to_its_end(open_store):
    store = await open_store()
    async with store.subscribe(name="screen") as subscription:
        assert (await facts(store))["screen"].delivered_events == 0
        await store.append("s", events(1))
        await take(subscription, 1)
    seen = (await facts(store))["screen"]
    assert (seen.delivered_events, seen.lag_entries) == (1, 0)
    assert seen.seen_ms == store.clock()


async def test_a_subscription_that_begins_now_is_not_behind_what_was_before(open_store):
    store = await open_store()
    for _ in range(5):
        await store.append("s", events(1))
    async with store.subscribe(name="screen"), store.subscribe(group="audit"):
        seen = await facts(store)
    assert (seen["screen"].lag_entries, seen["audit"].lag_entries) == (0, 0)


@pytest.mark.parametrize("group", [None, "audit"])
async def test_one_iterated_without_a_context_is_known_and_counted(open_store, group):
    store = await open_store()
    await store.append("s", events(2))
    subscription = store.subscribe(name="screen", start="0-0", group=group)
    assert await facts(store) == {}
    async for item in subscription:
        if group is None or await item.ack():
            break

    async def told() -> bool:
        return (await facts(store))["screen"].delivered_events == 1

    await eventually(told)
    await subscription.close()


async def test_subscriptions_of_one_name_add_up_over_processes(open_store):
    one, two = await open_store(), await open_store()
    async with one.subscribe(name="n") as first, two.subscribe(name="n") as second:
        await one.append("s", events(3))
        await take(first, 3)
        await take(second, 3)
    assert (await facts(one))["n"].delivered_events == 6


async def test_a_subscription_without_a_name_is_counted_under_its_process(open_store):
    store = await open_store()
    async with store.subscribe(), store.subscribe():
        (name,) = await facts(store)
    assert ":" in name


async def test_a_group_counts_what_was_acknowledged_and_how_far_it_is_behind(open_store):
    store = await open_store()
    async with store.subscribe(group="audit", start="0-0") as member:
        for _ in range(5):
            await store.append("s", events(1))
        await handle(member, 2)
    seen = (await facts(store))["audit"]
    assert (seen.delivered_events, seen.lag_entries) == (2, 3)


async def test_a_reader_at_its_own_pace_tells_how_far_behind_it_is(open_store):
    store = await open_store()
    for _ in range(20):
        await store.append("s", events(1))
    async with store.subscribe(name="slow", start="0-0", buffer=1, on_overflow="block") as reader:
        assert (await facts(store))["slow"].lag_entries == 20
        await take(reader, 1)


async def test_names_unseen_for_an_hour_are_left_out_and_then_removed(open_store, clock):
    store = await open_store()
    async with store.subscribe(name="old"):
        pass
    clock.now_ms += FRESH_MS
    assert await facts(store) == {}
    async with store.subscribe(name="new"):
        pass
    (fields,) = await store.wires.exchange([("HKEYS", store.keys.subscribers)])
    assert {field.partition(b":")[2] for field in fields} == {b"new"}


async def test_there_are_only_so_many_names(open_store, clock, monkeypatch):
    monkeypatch.setattr("streams.subscription.reports.MOST_NAMES", 3)
    store = await open_store()
    for number in range(6):
        clock.now_ms += 1
        async with store.subscribe(name=f"n{number}"):
            pass
    async with store.wires.borrow() as wire:
        await forget_stale(wire, store.keys, clock.now_ms)
    assert set(await facts(store)) == {"n3", "n4", "n5"}


async def test_the_hash_itself_expires(open_store, every_client):
    store = await open_store()
    async with store.subscribe(name="n"):
        pass
    left_ms = await every_client.pttl(store.keys.subscribers)
    assert 6 * 86_400_000 < left_ms <= 7 * 86_400_000


async def test_counts_nobody_can_read_disturb_no_subscription(open_store, every_client, tenant):
    await every_client.set(Keys(tenant).subscribers, "not a hash")
    store = await open_store()
    async with store.subscribe(name="n") as subscription:
        await store.append("s", events(1))
        await take(subscription, 1)
