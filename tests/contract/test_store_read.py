"""`read` with each of its options, alone and together, on every store."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta, timezone

import pytest

from streams.clock import system_clock
from streams.codec import from_microseconds
from streams.errors import UsageError
from streams.event import Event
from streams.store import Direction
from support.waiting import eventually

FORWARD, BACKWARD = Direction.FORWARD, Direction.BACKWARD


@pytest.fixture
async def ten(store):
    """A stream `s` of ten events whose payload says their version."""
    await store.append("s", [Event(type="llm.call", payload={"n": n}) for n in range(1, 11)])
    return store


async def versions(store, **options) -> list[int]:
    found = await store.read("s", **options)
    assert all(event.payload["n"] == event.version for event in found)
    return [event.version for event in found]


async def test_reading_a_stream_that_does_not_exist_is_empty(store):
    assert await store.read("nobody") == []


async def test_reading_returns_every_event_in_order(ten):
    assert await versions(ten) == list(range(1, 11))


async def test_backward_is_newest_first(ten):
    assert await versions(ten, direction=BACKWARD) == list(range(10, 0, -1))


async def test_versions_bound_a_read_on_both_sides_inclusively(ten):
    assert await versions(ten, from_version=3, to_version=5) == [3, 4, 5]


async def test_a_limit_counts_from_the_direction_of_the_read(ten):
    assert await versions(ten, limit=3) == [1, 2, 3]
    assert await versions(ten, limit=3, direction=BACKWARD) == [10, 9, 8]
    assert await versions(ten, from_version=4, to_version=6, limit=2, direction=BACKWARD) == [6, 5]


async def test_a_range_that_holds_nothing_is_empty(ten):
    assert await versions(ten, from_version=11) == []
    assert await versions(ten, from_version=6, to_version=5) == []
    assert await versions(ten, limit=0) == []
    assert await versions(ten, to_version=0) == []


async def test_versions_below_one_mean_the_beginning(ten):
    assert await versions(ten, from_version=0, limit=2) == [1, 2]
    assert await versions(ten, from_version=-5, limit=2) == [1, 2]


async def test_versions_beyond_the_head_mean_the_head(ten):
    assert await versions(ten, from_version=9, to_version=10**12) == [9, 10]


async def test_every_combination_of_options_is_the_matching_slice(ten):
    numbers = [None, 0, 1, 4, 10, 11]
    for low, high, limit, way in itertools.product(
        [1, 4, 10, 11], numbers, numbers, [FORWARD, BACKWARD]
    ):
        expected = [v for v in range(1, 11) if low <= v <= (10 if high is None else high)]
        expected = expected[::-1] if way is BACKWARD else expected
        found = await versions(ten, from_version=low, to_version=high, limit=limit, direction=way)
        assert found == expected[:limit], (low, high, limit, way)


@pytest.mark.parametrize("limit", [-1, True])
async def test_a_limit_without_a_meaning_is_refused(ten, limit):
    with pytest.raises(UsageError):
        await ten.read("s", limit=limit)
    with pytest.raises(UsageError):
        await read_all(ten, limit=limit)


@pytest.mark.parametrize("stream", ["", "a\nb", "x" * 513, 7, None])
async def test_reading_a_name_no_stream_can_have_is_refused(store, stream):
    with pytest.raises(UsageError):
        await store.read(stream)
    with pytest.raises(UsageError):
        await store.stream_version(stream)


async def test_a_long_stream_is_read_whole(store):
    batches = [[Event(type="llm.call", payload={"n": b * 500 + n + 1}) for n in range(500)]
               for b in range(5)]  # fmt: skip
    for batch in batches:
        await store.append("s", batch)

    assert await versions(store) == list(range(1, 2501))
    assert await versions(store, direction=BACKWARD, limit=2499) == list(range(2500, 1, -1))


async def later_than_now() -> datetime:
    """A moment after every commit so far and not after any to come."""
    now = system_clock()
    await eventually(lambda: system_clock() > now)
    return from_microseconds(system_clock() * 1000)


async def add(store, first: int, last: int, stream: str = "s") -> None:
    batch = [Event(type="llm.call", payload={"n": n}) for n in range(first, last + 1)]
    await store.append(stream, batch)


async def test_since_means_the_moment_of_the_commit(store):
    await add(store, 1, 3)
    moment = await later_than_now()
    await add(store, 4, 5)

    assert await versions(store, since=moment) == [4, 5]
    assert await versions(store, since=moment - timedelta(hours=1)) == [1, 2, 3, 4, 5]
    assert await versions(store, since=await later_than_now()) == []


async def test_since_does_not_look_at_the_timestamp_of_the_event(store):
    moment = await later_than_now()
    long_ago = datetime(2020, 1, 1, tzinfo=timezone.utc)  # noqa: UP017
    await store.append("s", [Event(type="llm.call", payload={"n": 1}, timestamp=long_ago)])

    assert await versions(store, since=moment) == [1]


async def test_since_meets_the_other_options(store):
    await add(store, 1, 3)
    moment = await later_than_now()
    await add(store, 4, 9)

    assert await versions(store, since=moment, limit=2) == [4, 5]
    assert await versions(store, since=moment, limit=2, direction=BACKWARD) == [9, 8]
    assert await versions(store, since=moment, direction=BACKWARD) == [9, 8, 7, 6, 5, 4]
    assert await versions(store, since=moment, from_version=2, to_version=5) == [4, 5]
    assert await versions(store, since=moment, from_version=6) == [6, 7, 8, 9]
    assert await versions(store, since=moment, to_version=3) == []


async def test_since_may_be_said_in_any_time_zone(store):
    await add(store, 1, 1)
    moment = await later_than_now()
    await add(store, 2, 2)

    elsewhere = moment.astimezone(timezone(timedelta(hours=-9, minutes=-30)))
    assert await versions(store, since=elsewhere) == [2]


async def test_since_without_a_time_zone_is_refused(ten):
    with pytest.raises(UsageError):
        await ten.read("s", since=datetime(2026, 1, 1))


async def test_listing_names_every_stream_with_events_once_and_sorted(store):
    assert await store.list_streams() == []
    for stream in ["b", "a", "ö", "Z", "a", "a/b"]:
        await add(store, 1, 1, stream)

    assert await store.list_streams() == sorted(["b", "a", "ö", "Z", "a/b"])


async def read_all(store, **options) -> list[tuple[str, int]]:
    return [(e.stream_id, e.version) async for e in store.read_all(**options)]


async def test_read_all_of_an_empty_tenant_is_empty(store):
    assert await read_all(store) == []


async def test_read_all_goes_by_the_moment_of_commit_not_by_stream(store):
    expected = []
    for n, stream in enumerate(["b", "a", "c", "a", "b", "b", "a"]):
        await store.append(stream, [Event(type="llm.call", payload={"n": n})])
        await later_than_now()
        expected.append(n)

    assert [e.payload["n"] async for e in store.read_all()] == expected


async def test_read_all_keeps_every_stream_in_version_order_whole(store):
    for _ in range(3):
        for stream in ["c", "a", "b"]:
            await add(store, 1, 400, stream)

    found = await read_all(store)

    assert len(found) == 3 * 3 * 400
    for stream in ["a", "b", "c"]:
        assert [v for s, v in found if s == stream] == list(range(1, 1201))


async def test_read_all_stops_at_its_limit(store):
    await add(store, 1, 3, "a")
    await later_than_now()
    await add(store, 1, 3, "b")

    assert await read_all(store, limit=4) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert await read_all(store, limit=0) == []


async def test_read_all_since_a_moment(store):
    await add(store, 1, 2, "a")
    await add(store, 1, 2, "b")
    moment = await later_than_now()
    await add(store, 1, 2, "b")
    await add(store, 1, 1, "c")

    assert sorted(await read_all(store, since=moment)) == [("b", 3), ("b", 4), ("c", 1)]
    assert len(await read_all(store, since=moment, limit=2)) == 2


async def test_read_all_can_be_left_in_the_middle(store):
    await add(store, 1, 1000)

    async for event in store.read_all():
        if event.version == 700:
            break

    assert await store.append("s", [Event(type="llm.call")]) == 1001


async def test_tenants_do_not_see_each_other(backend):
    ours, theirs = await backend.open(), await backend.open(tenant=backend.tenant + "-b")

    await add(ours, 1, 2)

    assert await theirs.read("s") == []
    assert await theirs.list_streams() == []
    assert await read_all(theirs) == []
    assert await theirs.append("s", [Event(type="llm.call")]) == 1
