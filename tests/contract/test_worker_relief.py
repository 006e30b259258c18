"""Relief on every kind of Redis: everything archived leaves the logs, and nothing else does."""

from __future__ import annotations

import asyncio

import pytest

from streams.durable.upkeep import read_groups
from streams.errors import StreamCorrupted
from streams.event import SUMMARY_TYPE, Event
from streams.integrity import verify_stream_integrity
from streams.memory import Memory
from streams.state import Advance, advance
from support.workshop import Workshop, drain, versions
from worker.compacting.compactor import Compactor
from worker.upkeep import relief as relief_module
from worker.upkeep.relief import Relief, Relieved


async def relieve_all(compactor: Compactor, stream: str) -> int:
    """Until nothing is left to free; how many events left the log."""
    events = 0
    while (done := await compactor.relieve(stream)).more:
        events += done.events
    return events


@pytest.fixture
async def archived(workshop: Workshop) -> Workshop:
    """A stream of 6 archived rounds of 10 events; another of one round and an open one."""
    await workshop.xadd_rounds("s", 6, events=10)
    await workshop.xadd_rounds("open", 1)
    for _ in range(2):
        await workshop.xadd("open", "llm.call")
    await workshop.sequence()
    await drain(workshop.archiver())
    return workshop


async def test_all_that_is_archived_goes_at_once_and_is_read_as_its_summary(archived: Workshop):
    assert await relieve_all(archived.compactor(), "s") == 60

    events = await archived.store().read("s")
    assert [(event.type, event.version) for event in events] == [(SUMMARY_TYPE, 60)]
    assert events[0].payload["event_count"] == 60


async def test_what_is_not_archived_stays(archived: Workshop):
    assert await relieve_all(archived.compactor(), "open") == 3

    assert versions(await archived.store().read("open")) == [3, 4, 5]


async def test_an_emptied_log_takes_no_key_and_the_stream_goes_on_where_it_was(
    archived: Workshop,
):
    await relieve_all(archived.compactor(), "s")
    assert not await archived.client.exists(archived.store().keys.log("s"))

    await archived.xadd_rounds("s", 1)
    await archived.sequence()
    assert await archived.store().append("s", [Event("llm.call")]) == 64
    await drain(archived.archiver())

    assert archived.rounds("s") == [1, 2, 3, 4, 5, 6, 7]
    verify_stream_integrity(await archived.store().read("s"))


async def test_a_window_that_another_compaction_has_fixed_holds_nothing_up(archived: Workshop):
    store = archived.store()
    fixed = Advance("s", {"compacting_to": 0}, {"compacting_to": 17})
    await advance(store.wires.dedicated(), store.keys, [fixed])

    assert await relieve_all(archived.compactor(), "s") == 60
    assert (await archived.compactor(threshold=1).compact("s", force=True)).result == "idle"


async def test_relief_and_compaction_side_by_side_fold_every_event_once(archived: Workshop):
    relievers = [archived.compactor(max_window=7) for _ in range(2)]
    compactor = archived.compactor(threshold=0, keep_recent=0, max_window=5)

    async def compact() -> int:
        events = 0
        while (done := await compactor.compact("s")).more:
            events += done.events
        return events

    async def keep_on(reliever: Compactor) -> int:
        events = 0
        while (done := await reliever.relieve("s")).result != "idle":
            events += done.events
        return events

    folded = await asyncio.gather(*map(keep_on, relievers), compact())

    assert sum(folded) == 60
    verify_stream_integrity(await archived.store().read("s"))


async def test_summaries_stay_in_bounds(archived: Workshop):
    await relieve_all(archived.compactor(max_window=5, max_summaries=3), "s")

    events = await archived.store().read("s")
    assert len(events) == 3
    verify_stream_integrity(events)


@pytest.mark.damage("a foreign entry in a log")
async def test_what_somebody_else_put_into_a_log_is_not_deleted_with_it(archived: Workshop):
    log = archived.store().keys.log("s")
    await archived.client.xadd(log, {"by": "hand"}, id="70-1")

    await relieve_all(archived.compactor(), "s")

    assert [name for name, _ in await archived.raw_log("s")] == [b"70-1"]


@pytest.mark.damage("the summaries key holds another type")
async def test_a_summary_that_cannot_be_stored_lets_no_event_go(archived: Workshop):
    await archived.client.set(archived.store().keys.summaries("s"), "x")
    before = await archived.raw_log("s")

    with pytest.raises(StreamCorrupted):
        await archived.compactor().relieve("s")

    assert await archived.raw_log("s") == before


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    """What Redis says of its memory; the last one again and again."""
    said = [Memory(960, 1_000)]

    async def read_memory(_: object) -> Memory:
        return said.pop(0) if len(said) > 1 else said[0]

    monkeypatch.setattr(relief_module, "read_memory", read_memory)
    return said


async def whole_pass(relief: Relief) -> Relieved:
    """Until a pass has ended."""
    while not (facts := await relief.run_once()).ended:
        pass
    return facts


async def test_every_stream_is_freed_and_the_feed_trimmed(archived: Workshop, scarce: list):
    facts = await whole_pass(archived.relief())

    assert facts.events == 63
    assert facts.more
    assert await archived.client.xlen(archived.store().keys.feed) <= 1


async def test_it_ends_as_soon_as_there_is_memory(archived: Workshop, scarce: list):
    await archived.xadd_rounds("t", 1)
    await archived.sequence()
    await drain(archived.archiver())
    scarce[:] = [Memory(960, 1_000), Memory(800, 1_000)]

    facts = await archived.relief().run_once()

    assert len({run.done.window for run in facts.runs}) == 1
    assert not (await archived.relief().run_once()).short


async def test_with_memory_enough_nothing_is_touched(archived: Workshop, scarce: list):
    scarce[:] = [Memory(900, 1_000)]
    before = await archived.raw_log("s")

    facts = await archived.relief().run_once()

    assert (facts.short, facts.events, facts.feed_trimmed) == (False, 0, 0)
    assert await archived.raw_log("s") == before


async def test_the_feed_keeps_what_a_group_has_not_finished(workshop: Workshop, scarce: list):
    keys = workshop.store().keys
    for n in range(3):
        await workshop.xadd_rounds(f"s{n}", 1)
        await workshop.sequence()
    await workshop.client.xgroup_create(keys.feed, "archivers", "0")
    await workshop.client.xreadgroup("archivers", "one", {keys.feed: ">"}, noack=True)
    await workshop.client.xgroup_create(keys.feed, "slow", "0")
    await workshop.client.xreadgroup("slow", "one", {keys.feed: ">"}, count=1, noack=True)

    facts = await workshop.relief().run_once()

    assert facts.feed_trimmed == 1
    assert await workshop.client.xlen(keys.feed) == 2


async def test_a_feed_nobody_archives_from_yet_stays_whole(workshop: Workshop, scarce: list):
    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()

    facts = await workshop.relief().run_once()

    assert facts.feed_trimmed == 0
    assert await workshop.client.xlen(workshop.store().keys.feed) == 1


async def test_a_durable_group_holds_the_feed(archived: Workshop, scarce: list):
    store = archived.store()
    subscription = store.subscribe(group="audit", start="beginning")
    async with subscription:
        _, groups = await read_groups(store.wires.dedicated(), store.keys)
        assert [group.name for group in groups] == ["audit"]
        before = await archived.client.xlen(store.keys.feed)
        facts = await archived.relief().run_once()

    assert facts.feed_trimmed + await archived.client.xlen(store.keys.feed) == before
    assert facts.events == 63


async def test_full_with_nothing_to_free_is_said_after_the_second_pass(
    workshop: Workshop, scarce: list
):
    scarce[:] = [Memory(1_010, 1_000)]
    await workshop.xadd("s", "llm.call")
    await workshop.sequence()
    await workshop.xadd("s", "llm.call")
    relief = workshop.relief()

    first, second = await whole_pass(relief), await whole_pass(relief)

    assert first.stuck == ""
    assert "not archived: 1 event of 1 stream;" in second.stuck
    assert "waiting in the inbox: 1" in second.stuck


@pytest.mark.damage("a key of one stream is damaged")
async def test_a_damaged_stream_is_named_and_the_others_are_freed(archived: Workshop, scarce: list):
    await archived.client.set(archived.store().keys.head("open"), "not an id")

    facts = await whole_pass(archived.relief())

    assert list(facts.failures) == ["open"]
    assert facts.events == 60


async def test_a_refused_write_is_reason_enough(archived: Workshop, scarce: list):
    """Where the user may not ask for the memory, or it looks better than it is."""
    scarce[:] = [Memory()]

    facts = await archived.relief().run_once(refused=True)

    assert facts.events == 63
    assert facts.ended


@pytest.mark.damage("what is no name is listed among the streams")
async def test_names_that_are_no_text_among_the_streams_harm_nobody(
    archived: Workshop, scarce: list
):
    await archived.client.zadd(archived.store().keys.streams, {b"\xff\xfe": 1, b"": 2})

    assert (await whole_pass(archived.relief())).events == 63
