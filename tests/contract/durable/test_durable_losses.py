"""A group that fell behind the feed is told exactly what it missed; on every store."""

from __future__ import annotations

from streams import Event, EventFilter
from streams.durable.partition import Delivery
from support.feeds import drop_groups, trim_feed
from support.subscribers import die, events, handle, lapse, nothing_more, numbered, places, take


async def begun(store, wanted: EventFilter | None = None) -> None:
    """A group that has had versions 1..3 of `s` and 1..2 of `t`, and has no member now."""
    await store.append("s", events(3))
    await store.append("t", events(2))
    async with store.subscribe(wanted, group="g", start="0-0") as member:
        await handle(member, 5)


async def test_each_stream_has_a_gap_of_exactly_what_was_missed(store):
    await begun(store)
    for _ in range(4):
        await store.append("s", events(2))
        await store.append("u", events(1))
    await store.append("t", events(1))
    await store.append("s", events(1))
    await drop_groups(store, keep=2)

    async with store.subscribe(group="g") as member:
        told = places(await take(member, 3))
        assert told[0] == ("reset", "trimmed")
        assert set(told[1:]) == {("gap", "s", 4, 11, 8), ("gap", "u", 1, 4, 4)}
        assert set(await handle(member, 2)) == {("t", 3, 1), ("s", 12, 1)}
        assert member.dropped == 12
        assert await nothing_more(member)


async def test_summaries_stand_for_what_was_missed_as_far_as_they_go(backend, store):
    await begun(store)
    for _ in range(10):
        await store.append("s", events(1))
    await backend.compact("s", 9)
    await drop_groups(store, keep=1)

    async with store.subscribe(group="g") as member:
        assert places(await take(member, 1)) == [("reset", "trimmed")]
        assert await handle(member, 1) == [("s", 9, 1)]
        assert places(await take(member, 1)) == [("gap", "s", 10, 12, 3)]
        assert await handle(member, 1) == [("s", 13, 1)]
        assert await nothing_more(member)


async def test_a_gap_counts_what_the_filter_wants(store):
    wanted = EventFilter(types=("b",))
    async with store.subscribe(wanted, group="g", start="0-0") as member:
        await store.append("s", [Event("b"), Event("a")])
        await handle(member, 1)
    for _ in range(5):
        await store.append("s", [Event("a"), Event("b"), Event("b")])
    await store.append("s", events(1, "a"))
    await drop_groups(store, keep=1)

    async with store.subscribe(wanted, group="g") as member:
        seen = places(await take(member, 2))
        assert seen == [("reset", "trimmed"), ("gap", "s", 4, 17, 10)]
        assert await nothing_more(member)


async def test_what_was_missed_is_told_again_until_somebody_goes_on_after_it(store):
    await begun(store)
    for _ in range(5):
        await store.append("s", events(1))
    await drop_groups(store, keep=1)
    one = await store.subscribe(group="g").__aenter__()
    told = places(await take(one, 2))
    await die(one)
    await lapse(one)

    async with store.subscribe(group="g") as two:
        assert places(await take(two, 2)) == told
        assert told == [("reset", "trimmed"), ("gap", "s", 4, 7, 4)]
        assert await handle(two, 1) == [("s", 8, 1)]
    async with store.subscribe(group="g") as three:
        assert await nothing_more(three)


async def test_a_member_at_work_is_told_too_and_goes_on(store):
    async with store.subscribe(group="g", buffer=1) as member:
        await store.append("s", events(1))
        (first,) = await take(member, 1)
        for _ in range(6):
            await store.append("s", events(1))
        await drop_groups(store, keep=2)
        assert await first.ack()

        seen = []
        while not seen or seen[-1][0] != "gap":
            (item,) = await take(member, 1)
            seen += places([item])
            if isinstance(item, Delivery):
                await item.ack()
        reset = seen.index(("reset", "trimmed"))
        last = seen[reset - 1][1] if reset else 1
        assert seen[reset + 1] == ("gap", "s", last + 1, 5, 5 - last)
        assert await handle(member, 2) == [("s", 6, 1), ("s", 7, 1)]


async def test_a_group_lost_again_while_it_catches_up_is_told_again(store):
    await begun(store)
    for _ in range(5):
        await store.append("s", events(1))
    await drop_groups(store, keep=2)
    async with store.subscribe(group="g") as member:
        assert places(await take(member, 2)) == [("reset", "trimmed"), ("gap", "s", 4, 6, 3)]
        assert await handle(member, 1) == [("s", 7, 1)]
    for _ in range(5):
        await store.append("s", events(1))
    await drop_groups(store, keep=1)

    async with store.subscribe(group="g") as member:
        assert places(await take(member, 2)) == [("reset", "trimmed"), ("gap", "s", 8, 12, 5)]
        assert await handle(member, 1) == [("s", 13, 1)]
        assert await nothing_more(member)


async def test_behind_a_careless_trim_nothing_is_skipped_in_silence(store):
    """Nobody noted what went: times tell where it may have begun, rather early than late."""
    await begun(store)
    for _ in range(5):
        await store.append("s", events(1))
    await trim_feed(store, 1)

    async with store.subscribe(group="g") as member:
        told = []
        while not told or told[-1][0] != "s":
            told += places(await take(member, 1))
        gaps = {gap[1]: gap for gap in told if gap[0] == "gap"}
        assert told[0] == ("reset", "trimmed")
        assert gaps["s"][2] <= 4
        assert gaps["s"][3] == 7
        assert told[-1] == ("s", 8)


async def test_history_interrupted_at_any_point_goes_on_there(store):
    """Twenty streams over many partitions, one member after the other, a few events each."""
    for n in range(20):
        await store.append(f"s{n}", events(3))
    seen = []
    while len(seen) < 66:
        async with store.subscribe(group="g", start="beginning", buffer=5) as member:
            seen += await handle(member, min(7, 66 - len(seen)))
        if len(seen) == 28:
            for n in range(3, 9):
                await store.append(f"s{n}", events(1))

    versions = {n: [v for s, v, _ in seen if s == f"s{n}"] for n in range(20)}
    assert versions == {n: [1, 2, 3, 4] if 3 <= n < 9 else [1, 2, 3] for n in range(20)}
    assert numbered("s3", 1, 4) == [(s, v) for s, v, _ in seen if s == "s3"]
    async with store.subscribe(group="g") as member:
        assert await nothing_more(member)
