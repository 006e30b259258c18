"""What a live subscription gets: what comes from now on, whole, and by its filter."""

from __future__ import annotations

import asyncio

import pytest

from streams import Event, EventFilter, SubscriptionLimit, SubscriptionOptions, UsageError
from support.subscribers import events, nothing_more, numbered, place, places, take
from support.waiting import eventually


@pytest.mark.parametrize("mode", ["drop", "block"])
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


async def test_without_a_context_it_begins_with_the_first_item_asked_for(store):
    await store.append("s", events(1))
    subscription = store.subscribe()
    reading = asyncio.create_task(take(subscription, 2))
    await eventually(lambda: subscription.position is not None)
    await store.append("s", events(2))
    assert places(await reading) == numbered("s", 2, 3)
    await subscription.close()
    assert [item async for item in subscription] == []


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
    options = SubscriptionOptions(block_ms=20, max_subscriptions=2)
    store = await backend.open(subscriptions=options)
    async with store.subscribe(), store.subscribe():
        with pytest.raises(SubscriptionLimit) as caught:
            async with store.subscribe():
                pass
    assert caught.value.limit == 2
    async with store.subscribe():
        pass
