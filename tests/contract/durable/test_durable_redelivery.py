"""What a group has acknowledged is done, and what it hasn't comes again, in order."""

from __future__ import annotations

from contextlib import suppress

from streams import Gap, SubscriptionOptions
from streams.durable.plan import partition_of
from support.subscribers import die, events, handle, lapse, nothing_more, take


async def test_a_group_goes_on_where_it_has_acknowledged(store):
    await store.append("s", events(3))
    async with store.subscribe(group="audit", start="beginning") as member:
        assert await handle(member, 2) == [("s", 1, 1), ("s", 2, 1)]
    await store.append("s", events(1))
    await store.append("t", events(1))

    async with store.subscribe(group="audit") as member:
        seen = await handle(member, 3)
        assert [s for s in seen if s[0] == "s"] == [("s", 3, 1), ("s", 4, 1)]
        assert ("t", 1, 1) in seen
        assert await nothing_more(member)


async def test_history_goes_through_compaction_and_its_summaries_are_acknowledged(backend, store):
    await store.append("s", events(20))
    await backend.compact("s", 12)
    async with store.subscribe(group="g", start="beginning") as member:
        assert await handle(member, 3) == [("s", 12, 1), ("s", 13, 1), ("s", 14, 1)]
    await store.append("s", events(1))

    async with store.subscribe(group="g") as member:
        assert await handle(member, 7) == [("s", n, 1) for n in range(15, 22)]
        assert await nothing_more(member)


async def test_what_was_not_acknowledged_is_handed_over_again_in_order(store):
    async with store.subscribe(group="g") as member:
        await store.append("s", events(5))
        first, _, _ = await take(member, 3)
        await first.ack()

    async with store.subscribe(group="g") as member:
        assert await handle(member, 4) == [("s", 2, 2), ("s", 3, 1), ("s", 4, 1), ("s", 5, 1)]


async def test_acknowledging_out_of_order_waits_for_the_first(store):
    """A position can't say "3 but not 2"; after a restart 2 and 3 come again."""
    async with store.subscribe(group="g") as member:
        await store.append("s", events(3))
        one, two, three = await take(member, 3)
        assert await three.ack()
        assert await one.ack()
        assert two.attempt == 1

    async with store.subscribe(group="g") as member:
        assert await handle(member, 2) == [("s", 2, 2), ("s", 3, 1)]


async def test_the_events_of_a_dead_member_pass_to_another(store):
    one = await store.subscribe(group="g").__aenter__()
    await store.append("s", events(3))
    (delivery, _) = await take(one, 2)
    assert await delivery.ack()
    await die(one)

    async with store.subscribe(group="g") as two:
        assert await handle(two, 2) == [("s", 2, 2), ("s", 3, 1)]


async def test_acknowledging_for_a_partition_that_has_passed_on_records_nothing(store):
    one = await store.subscribe(group="g").__aenter__()
    await store.append("s", events(2))
    late, _ = await take(one, 2)
    await die(one)
    await lapse(one)
    async with store.subscribe(group="g") as two:
        (again,) = await take(two, 1)
        assert await late.ack() is False
        assert one.partitions == () or partition_of("s") not in one.partitions
        assert again.event == late.event
        assert await again.ack()
        assert await handle(two, 1) == [("s", 2, 1)]


async def fail_at_first(store) -> tuple[int, int]:
    """A consumer that breaks down over the first delivery; which that was: version, attempt."""
    seen = []
    with suppress(ZeroDivisionError):
        async with store.subscribe(group="g", start="0-0") as member:
            (delivery,) = await take(member, 1)
            seen.append((delivery.event.version, delivery.attempt))
            raise ZeroDivisionError
    return seen[0]


async def test_an_event_nobody_survives_is_given_up_and_the_next_one_comes(backend):
    options = SubscriptionOptions(block_ms=20, lease_ttl_ms=600, max_attempts=3)
    store = await backend.open(subscriptions=options)
    await store.append("s", events(2))

    assert [await fail_at_first(store) for _ in range(3)] == [(1, 1), (1, 2), (1, 3)]

    async with store.subscribe(group="g") as member:
        assert await take(member, 1) == [Gap("s", 1, 1, 1)]
        assert member.dropped == 1
        assert await handle(member, 1) == [("s", 2, 1)]
    async with store.subscribe(group="g") as member:
        assert await nothing_more(member)


async def test_a_suspect_is_handed_over_alone(store):
    """So that the event which ends members can be told from those beside it."""
    a, b = neighbours(2)
    for stream in (a, b):
        await store.append(stream, events(1))
    async with store.subscribe(group="g", start="0-0") as member:
        await take(member, 2)

    async with store.subscribe(group="g") as member:
        (suspect,) = await take(member, 1)
        assert suspect.attempt == 2
        assert await nothing_more(member)
        await suspect.ack()
        assert await handle(member, 1) == [(b, 1, 1)]


def neighbours(count: int) -> list[str]:
    """Streams of one partition."""
    names = (f"s{n}" for n in range(10_000))
    return [name for name in names if partition_of(name) == 7][:count]


async def test_more_than_the_buffer_is_not_handed_over_unacknowledged(store):
    async with store.subscribe(group="g", buffer=4) as member:
        await store.append("s", events(6))
        in_hand = await take(member, 4)
        assert await nothing_more(member)
        await in_hand[0].ack()
        assert [d.event.version for d in await take(member, 1)] == [5]
