"""Reading a stream whose old events were folded into summaries, on every store."""

from __future__ import annotations

import asyncio

import pytest

from streams.clock import system_clock
from streams.codec import from_microseconds
from streams.errors import VersionConflict
from streams.event import SUMMARY_TYPE, Event
from streams.integrity import verify_stream_integrity
from streams.reading import StreamReader
from streams.store import Direction
from support.waiting import eventually

BACKWARD = Direction.BACKWARD


def events(count: int) -> list[Event]:
    return [Event(type="llm.call") for _ in range(count)]


@pytest.fixture
async def folded(backend, store):
    """Versions 1..20 of `s`: 1..6 and 7..13 are summaries, 14..20 events."""
    await store.append("s", events(20))
    await backend.compact("s", 6)
    await backend.compact("s", 13)
    return store


async def seen(store, **options) -> list[tuple[str, int]]:
    found = await store.read("s", **options)
    return [("Σ" if e.type == SUMMARY_TYPE else "e", e.version) for e in found]


RETAINED = [("e", version) for version in range(14, 21)]
ALL = [("Σ", 6), ("Σ", 13), *RETAINED]


async def test_summaries_come_before_the_retained_events(folded):
    assert await seen(folded) == ALL


async def test_backward_ends_with_the_summaries(folded):
    assert await seen(folded, direction=BACKWARD) == ALL[::-1]


async def test_a_limit_counts_summaries_too(folded):
    assert await seen(folded, limit=1) == ALL[:1]
    assert await seen(folded, limit=4) == ALL[:4]
    assert await seen(folded, limit=8, direction=BACKWARD) == ALL[::-1][:8]


async def test_versions_choose_summaries_by_their_last_version(folded):
    assert await seen(folded, from_version=6) == ALL
    assert await seen(folded, from_version=7) == ALL[1:]
    assert await seen(folded, from_version=14) == RETAINED
    assert await seen(folded, to_version=13) == ALL[:2]
    assert await seen(folded, to_version=12) == ALL[:1]
    assert await seen(folded, to_version=5) == []
    assert await seen(folded, from_version=7, to_version=14, limit=5) == [("Σ", 13), ("e", 14)]


async def test_since_chooses_summaries_by_the_commit_of_their_last_event(backend, store):
    await store.append("s", events(4))
    now = system_clock()
    await eventually(lambda: system_clock() > now)
    moment = from_microseconds(system_clock() * 1000)
    await store.append("s", events(6))
    await backend.compact("s", 3)
    await backend.compact("s", 6)

    assert await seen(store, since=moment) == [("Σ", 6), *[("e", v) for v in range(7, 11)]]
    assert await seen(store, since=moment, limit=2, direction=BACKWARD) == [("e", 10), ("e", 9)]


async def test_a_summary_tells_which_events_it_stands_for(folded):
    first, second, *_ = await folded.read("s")
    assert (first.stream_id, first.payload["first_version"], first.payload["last_version"]) == (
        "s",
        1,
        6,
    )
    assert (second.payload["first_version"], second.payload["last_version"]) == (7, 13)


async def test_retained_events_of_a_compacted_stream_are_whole(folded):
    verify_stream_integrity(await folded.read("s", from_version=14))


async def test_versions_go_on_after_compaction_and_expectations_mean_the_head(backend, store):
    """A version taken from the number of entries would fall back to what was kept."""
    await store.append("s", events(10))
    await backend.compact("s", 7)

    with pytest.raises(VersionConflict) as conflict:
        await store.append("s", events(1), expected_version=3)
    assert conflict.value.actual == 10
    assert await store.append("s", events(1), expected_version=10) == 11
    assert await seen(store, from_version=8) == [("e", 8), ("e", 9), ("e", 10), ("e", 11)]


async def test_a_stream_compacted_to_its_head_still_has_its_version(backend, store):
    await store.append("s", events(5))
    await backend.compact("s", 5)

    assert await seen(store) == [("Σ", 5)]
    assert await store.stream_version("s") == 5
    assert await store.list_streams() == ["s"]
    assert await store.append("s", events(1)) == 6


def covered(read: list[Event]) -> list[int]:
    """Every version that a summary or an event of `read` stands for, in order."""
    versions: list[int] = []
    for event in read:
        first = event.payload["first_version"] if event.type == SUMMARY_TYPE else event.version
        versions += range(first, event.version + 1)
    return versions


@pytest.mark.parametrize("direction", [Direction.FORWARD, BACKWARD])
async def test_a_compaction_between_the_steps_of_a_read_shows_no_hole_and_no_overlap(
    backend, store, direction, monkeypatch
):
    monkeypatch.setitem(StreamReader.__init__.__kwdefaults__, "page", 10)
    await store.append("s", events(120))
    other = await backend.open()

    async def compact() -> None:
        for through in range(12, 120, 12):
            await backend.compact("s", through)

    compaction = asyncio.create_task(compact())
    reads = [await other.read("s", direction=direction)]
    while not compaction.done():
        await asyncio.sleep(0)
        reads.append(await other.read("s", direction=direction))
    await compaction

    for read in reads:
        ordered = read if direction is Direction.FORWARD else read[::-1]
        assert covered(ordered) == list(range(1, 121))


async def test_read_all_goes_through_summaries_too(folded):
    found = [event async for event in folded.read_all()]

    assert covered(found) == list(range(1, 21))
    assert [e.version async for e in folded.read_all(limit=3)] == [6, 13, 14]
