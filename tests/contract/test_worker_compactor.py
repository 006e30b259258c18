"""Compaction on every kind of Redis: what is archived leaves the log and stays readable."""

from __future__ import annotations

import asyncio

import pytest

from streams.event import SUMMARY_TYPE
from streams.integrity import verify_stream_integrity
from streams.state import Advance, advance
from support.workshop import Workshop, drain, versions
from worker.compacting.compactor import Compactor


async def compact_all(compactor: Compactor, stream: str) -> int:
    """Compact until nothing is due; how many events left the log."""
    events = 0
    while (done := await compactor.compact(stream)).more:
        events += done.events
    return events


@pytest.fixture
async def archived(workshop: Workshop) -> Workshop:
    """One stream of 60 events in 6 archived rounds."""
    await workshop.xadd_rounds("s", 6, events=10)
    await workshop.sequence()
    await drain(workshop.archiver())
    return workshop


async def test_old_events_become_a_summary_and_the_newest_stay(archived: Workshop):
    folded = await compact_all(archived.compactor(threshold=40, keep_recent=15), "s")

    events = await archived.store().read("s")
    assert folded == 45
    assert versions(events) == [45, *range(46, 61)]
    assert events[0].type == SUMMARY_TYPE
    assert events[0].payload["types"] == {"task.created": 5, "llm.call": 36, "task.completed": 4}
    assert "task: task 0\ncompleted: result 0" in events[0].payload["summary"]
    verify_stream_integrity(events)


async def test_appending_goes_on_after_compaction(archived: Workshop):
    await compact_all(archived.compactor(threshold=40, keep_recent=15), "s")

    await archived.xadd("s", "llm.call")
    await archived.sequence()

    assert await archived.store().stream_version("s") == 61


async def test_what_is_not_archived_stays(workshop: Workshop):
    await workshop.xadd_rounds("s", 1, events=10)
    for _ in range(50):
        await workshop.xadd("s", "llm.call")
    await workshop.sequence()
    await drain(workshop.archiver())

    await compact_all(workshop.compactor(threshold=20, keep_recent=0), "s")

    assert versions(await workshop.store().read("s")) == [10, *range(11, 61)]


async def test_below_the_threshold_nothing_happens_unless_forced(archived: Workshop):
    compactor = archived.compactor(threshold=60, keep_recent=10)

    assert await compact_all(compactor, "s") == 0
    done = await compactor.compact("s", force=True)

    assert done.events == 50


async def test_a_compaction_that_died_after_fixing_its_window_repeats_it(archived: Workshop):
    store = archived.store()
    fixed = Advance("s", {"compacting_to": 0}, {"compacting_to": 17})
    await advance(store.wires.dedicated(), store.keys, [fixed])

    done = await archived.compactor(threshold=40, keep_recent=5).compact("s")

    assert (done.window.first, done.window.last, done.window.resumed) == (1, 17, True)
    verify_stream_integrity(await store.read("s"))


async def test_several_compactors_at_once_fold_every_event_once(archived: Workshop):
    compactors = [archived.compactor(threshold=20, keep_recent=5, max_window=7) for _ in range(3)]

    folded = await asyncio.gather(*(compact_all(each, "s") for each in compactors))

    assert sum(folded) == 42
    verify_stream_integrity(await archived.store().read("s"))


async def test_the_oldest_summaries_merge_when_there_are_too_many(archived: Workshop):
    policy = {"threshold": 5, "keep_recent": 4, "max_window": 5, "max_summaries": 3}

    await compact_all(archived.compactor(**policy), "s")

    events = await archived.store().read("s")
    summaries = [event for event in events if event.type == SUMMARY_TYPE]
    assert len(summaries) == 3
    assert summaries[0].payload["first_version"] == 1
    verify_stream_integrity(events)


async def test_a_summary_past_its_time_is_forgotten(archived: Workshop):
    compactor = archived.compactor(threshold=40, keep_recent=15, summary_ttl_ms=1_000)
    await compact_all(compactor, "s")

    assert await compactor.forget_old("s") == 0
    archived.clock.forward(2_000)
    assert await compactor.forget_old("s") == 1

    assert versions(await archived.store().read("s")) == list(range(46, 61))


async def test_a_summarizer_of_ones_own_is_asked(archived: Workshop):
    async def count(events):
        return f"{len(events)} events"

    await compact_all(archived.compactor(count, threshold=40, keep_recent=15), "s")

    [summary, *_] = await archived.store().read("s")
    assert summary.payload["summary"] == "45 events"


async def test_a_summarizer_that_fails_or_hangs_is_stood_in_for(archived: Workshop):
    async def fail(events):
        raise RuntimeError(f"no model for {events[0].payload}")

    async def hang(events):
        await asyncio.Event().wait()

    def fail_at_once(events):
        raise LookupError("no model at all")

    for summarizer, error in (
        (fail, "RuntimeError in test_worker"),
        (hang, "TimeoutError"),
        (fail_at_once, "LookupError in test_worker"),
    ):
        compactor = archived.compactor(summarizer, threshold=5, keep_recent=1, max_window=10)
        done = await compactor.compact("s")
        assert done.summarizer_error.startswith(error)
        assert done.events == 10


async def test_reading_during_compaction_shows_neither_hole_nor_overlap(archived: Workshop):
    compactor = archived.compactor(threshold=5, keep_recent=1, max_window=3)
    store = archived.store()

    async def read_repeatedly() -> None:
        while not compacting.done():
            events = await store.read("s")
            verify_stream_integrity(events)
            assert events[-1].version == 60
            await asyncio.sleep(0)  # fakeredis never waits: let the compactor have its turn

    compacting = asyncio.create_task(compact_all(compactor, "s"))
    await read_repeatedly()

    assert await compacting == 57
