"""Durable subscriptions: who gets what, and who holds which partitions; on every store."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from streams import Event, EventFilter, SubscriptionLimit, SubscriptionOptions, UsageError
from streams.durable.plan import PARTITIONS, partition_of
from support.subscribers import beats, events, handle, nothing_more, take
from support.waiting import eventually, turns


async def test_groups_know_nothing_of_each_other(store):
    async with store.subscribe(group="a") as one, store.subscribe(group="b") as two:
        await store.append("s", events(2))
        assert await handle(one, 2) == [("s", 1, 1), ("s", 2, 1)]
        assert await handle(two, 2) == [("s", 1, 1), ("s", 2, 1)]


@pytest.mark.parametrize("start", ["now", "beginning", "0-0"])
async def test_where_a_new_group_starts_is_for_its_first_member_to_say(store, start):
    await store.append("s", events(2))
    async with store.subscribe(group="g", start=start) as member:
        await store.append("s", events(1))
        expected = [("s", 3, 1)] if start == "now" else [("s", n, 1) for n in (1, 2, 3)]
        assert await handle(member, len(expected)) == expected
        assert await nothing_more(member)


async def test_a_filter_holds_for_a_group_too(store):
    wanted = EventFilter(stream_ids=("agent-*",), types=("task.*",))
    await store.append("agent-0", [Event("task.created"), Event("llm.call")])
    async with store.subscribe(wanted, group="g", start="beginning") as member:
        await store.append("agent-1", [Event("llm.call"), Event("task.failed")])
        await store.append("other", [Event("task.created")])

        assert await handle(member, 2) == [("agent-0", 1, 1), ("agent-1", 2, 1)]
        assert await nothing_more(member)


async def test_two_members_share_the_partitions_and_every_event(store):
    async with store.subscribe(group="g") as one, store.subscribe(group="g") as two:
        await eventually(lambda: len(one.partitions) == len(two.partitions) == PARTITIONS // 2)
        assert sorted([*one.partitions, *two.partitions]) == list(range(PARTITIONS))
        streams = [f"s{n}" for n in range(40)]
        for stream in streams:
            await store.append(stream, events(3))
        mine = [s for s in streams if partition_of(s) in one.partitions]
        theirs = [s for s in streams if partition_of(s) in two.partitions]

        for member, expected in ((one, mine), (two, theirs)):
            by_stream = defaultdict(list)
            for stream, version, _ in await handle(member, 3 * len(expected)):
                by_stream[stream].append(version)
            assert by_stream == {stream: [1, 2, 3] for stream in expected}


async def test_a_member_that_leaves_is_replaced_at_once(store):
    async with store.subscribe(group="g") as one:
        async with store.subscribe(group="g") as two:
            await eventually(lambda: len(two.partitions) == PARTITIONS // 2)
        await eventually(lambda: len(one.partitions) == PARTITIONS)


async def test_a_partition_with_work_in_hand_is_given_up_only_once_that_is_done(store):
    """Otherwise the new holder would be handed what the old one is still busy with."""
    streams = [f"s{n}" for n in range(40)]
    async with store.subscribe(group="g") as one:
        for stream in streams:
            await store.append(stream, events(1))
        in_hand = await take(one, 40)
        async with store.subscribe(group="g") as two:
            await beats(one, 1)
            await beats(two, 1)
            assert two.partitions == ()
            for delivery in in_hand:
                assert await delivery.ack()
            await eventually(lambda: len(two.partitions) == PARTITIONS // 2)
            assert await nothing_more(two)


async def test_a_quiet_member_keeps_its_partitions_and_moves_past_what_concerns_others(store):
    wanted = EventFilter(types=("rare",))
    async with store.subscribe(wanted, group="g") as member:
        for _ in range(30):
            await store.append("s", events(1))
        await eventually(lambda: lagless(member))
        roll = await beats(member, 5)  # longer than a lease lasts
        assert roll.free == []
        assert len(member.partitions) == PARTITIONS
        await store.append("s", events(1, "rare"))
        assert await handle(member, 1) == [("s", 31, 1)]


async def lagless(member) -> bool:
    return await member.lag() == 0


async def test_without_a_context_it_joins_with_the_first_item_asked_for(store):
    await store.append("s", events(2))
    member = store.subscribe(group="g", start="beginning")
    assert member.partitions == ()
    assert await handle(member, 1) == [("s", 1, 1)]
    assert len(member.partitions) == PARTITIONS
    await member.close()

    async with store.subscribe(group="g") as other:
        assert await handle(other, 1) == [("s", 2, 1)]


async def test_closing_in_the_middle_of_joining_leaves_the_partitions_to_others(backend):
    store = await backend.open(subscriptions=SubscriptionOptions(block_ms=20, max_readers=40))

    async def close_after(patience: int) -> None:
        group = f"g{patience}"
        member = store.subscribe(group=group)
        joining = asyncio.create_task(anext(member, "ended"))
        await turns(patience)
        await member.close()
        assert await joining == "ended"

        async with store.subscribe(group=group) as other:
            assert len(other.partitions) == PARTITIONS

    await asyncio.gather(*(close_after(patience) for patience in range(0, 30, 3)))


async def test_a_closed_member_is_not_entered_again(store):
    member = store.subscribe(group="g")
    async with member:
        pass
    with pytest.raises(UsageError, match="subscribe again"):
        await member.__aenter__()


async def test_closing_ends_the_iteration_of_whoever_waits(store):
    async with store.subscribe(group="g") as member:
        waiting = asyncio.create_task(anext(member, "ended"))
        await turns(10)
        assert not waiting.done()
    async with asyncio.timeout(5):
        assert await waiting == "ended"
    assert [item async for item in member] == []


@pytest.mark.parametrize("name", ["", "a:b", "x" * 65, "ü"])
async def test_a_bad_name_of_a_group_is_a_usage_error_at_once(store, name):
    with pytest.raises(UsageError):
        store.subscribe(group=name)


async def test_members_count_against_the_limit_of_waiting_connections(backend):
    options = SubscriptionOptions(block_ms=20, max_readers=3)
    store = await backend.open(subscriptions=options)
    async with store.subscribe(group="g"), store.subscribe(), store.subscribe():
        with pytest.raises(SubscriptionLimit) as caught:
            async with store.subscribe(group="g"):
                pass
    assert caught.value.limit == 3
