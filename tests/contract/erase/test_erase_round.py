"""Erasing one round on every kind of Redis: what it said is gone, what others said is left."""

from __future__ import annotations

import pytest

from archive.failures import RoundErased, RoundNotFound
from archive.record_json import record_to_bytes
from archive.segments import ArchiveStore, export_in
from streams.event import SUMMARY_TYPE
from streams.integrity import verify_stream_integrity
from streams.state import Advance, advance
from support.workshop import drain, versions
from worker.erasing.plan import WITHHELD
from worker.sealing.sealer import SegmentSealer

pytestmark = pytest.mark.usefixtures("without_pauses")


async def test_a_round_in_a_summary_is_taken_out_of_what_the_summary_says(past):
    erased = await past.erase("s", 2)

    assert await past.traces(" s-2.") == set()
    assert (erased.rounds, erased.events, erased.summaries, erased.segments) == (1, 0, 1, 1)
    summary = (await past.shop.store().read("s"))[0]
    assert (summary.type, summary.version, summary.payload["types"]) == (SUMMARY_TYPE, 9, {})
    assert summary.payload["summary"].splitlines() == [
        f"completed: {past.reader.read('s', number).summary}" for number in (1, 3)
    ]


async def test_a_round_in_the_log_leaves_a_summary_that_says_nothing(past):
    erased = await past.erase("s", 5)

    assert await past.traces(" s-5.") == set()
    assert (erased.rounds, erased.events, erased.segments) == (1, 3, 1)
    events = await past.shop.store().read("s")
    verify_stream_integrity(events)
    assert versions(events) == [9, 12, 15, *range(16, 20)]
    assert "s-4." in events[1].payload["summary"]
    assert (events[2].payload["summary"], events[2].payload["types"]) == (WITHHELD, {})
    assert events[2].payload["first_version"] == 13


async def test_a_round_half_in_a_summary_and_half_in_the_log_is_gone_from_both(past):
    await past.compact("s", 6)  # up to version 13, the first of round 5

    erased = await past.erase("s", 5)

    assert await past.traces(" s-5.") == set()
    assert (erased.events, erased.summaries) == (2, 1)
    assert versions(await past.shop.store().read("s")) == [9, 13, 15, *range(16, 20)]


async def test_other_rounds_are_where_they_were(past):
    others = [n for n in range(1, 7) if n != 5]
    before = [record_to_bytes(past.reader.read("s", number)) for number in others]

    await past.erase("s", 5)

    assert [record_to_bytes(past.reader.read("s", number)) for number in others] == before
    for number in others:
        assert await past.traces(f" s-{number}.") != set()
    with pytest.raises(RoundErased):
        past.reader.read("s", 5)


async def test_only_feed_entries_of_the_round_alone_go(past):
    await past.append("t", "task.created", "task.completed", told="one")
    await past.append("t", "task.created", "task.completed", told="two")
    await past.work()

    assert (await past.erase("t", 1)).feed_entries == 1

    feed = await past.shop.client.xrange(past.keys.feed)
    assert [(e[b"f"], e[b"l"]) for _, e in feed if e[b"s"] == b"t"] == [(b"3", b"4")]


async def test_a_worker_that_reads_everything_again_does_not_bring_it_back(past):
    """The state is lost, the feed begins anew: what is left of the log is archived once more."""
    await past.append("t", "task.created", "task.completed", told="one")
    await past.work()
    await past.shop.client.delete(past.keys.state("t"))
    async with past.reach() as found:
        found.eraser.round(past.shop.tenant, "t", 1)

    await past.shop.client.xgroup_setid(past.keys.feed, "archivers", "0")
    await drain(past.shop.archiver("two"))

    assert past.reader.list("t") == []
    assert (await past.state("t"))["archived_version"] == 2
    assert (await past.erase("t", 1)).events == 2
    assert await past.traces("t-one.") == set()


async def test_doing_it_again_changes_nothing(past):
    for number in (2, 5):
        await past.erase("s", number)
    before = await past.shop.store().read("s"), past.shop.files(), await past.state("s")

    for number in (2, 5):
        again = await past.erase("s", number)
        assert (again.total, again.rounds_before) == (0, 1)

    assert (await past.shop.store().read("s"), past.shop.files(), await past.state("s")) == before


async def test_every_round_in_turn_leaves_the_open_one(past):
    for number in (4, 1, 6, 3, 5, 2):
        await past.erase("s", number)

    assert await past.traces(*(f" s-{number}." for number in range(1, 7))) == set()
    events = await past.shop.store().read("s")
    assert [event.payload.get("summary") for event in events[:-1]] == [WITHHELD] * (len(events) - 1)
    assert "s-open." in events[-1].payload["text"]


async def test_a_round_nobody_has_is_not_found(past):
    with pytest.raises(RoundNotFound):
        await past.erase("s", 99)
    with pytest.raises(RoundNotFound):
        await past.erase("nobody", 1)


async def test_a_compaction_that_had_fixed_its_window_before_ends_behind_the_round(past):
    store = past.shop.store()
    fixed = Advance("s", {"compacting_to": 0}, {"compacting_to": 14})
    await advance(store.wires.dedicated(), store.keys, [fixed])

    await past.erase("s", 5)
    await past.compact("s", 2)

    assert await past.traces(" s-5.") == set()
    assert versions(await past.shop.store().read("s"))[:3] == [9, 12, 15]


async def test_summaries_that_are_merged_later_stay_silent(past):
    await past.erase("s", 5)
    compactor = past.shop.compactor(threshold=1, keep_recent=2, max_summaries=1)
    while (await compactor.compact("s")).more:
        pass

    (merged, *_) = await past.shop.store().read("s")
    assert merged.version == 17
    assert "s-5." not in merged.payload["summary"]
    assert "s-6." in merged.payload["summary"]


async def test_a_summary_made_anew_survives_its_next_merge(past):
    await past.erase("s", 2)
    compactor = past.shop.compactor(threshold=1, keep_recent=2, max_summaries=1)
    while (await compactor.compact("s")).more:
        pass

    assert await past.traces(" s-2.") == set()


async def test_a_published_round_that_the_state_does_not_know_yet_is_pending_then_done(
    past, monkeypatch: pytest.MonkeyPatch
):
    """The worker died between the two: without the state its events can't leave the log."""
    monkeypatch.setattr("worker.erasing.withhold._NOTED_PAUSE_S", 0)
    await past.append("t", "task.created", "task.completed", told="one")
    await past.work()
    await past.shop.client.delete(past.keys.state("t"))

    first = await past.erase("t", 1)

    assert (first.rounds, len(first.pending)) == (1, 1)
    assert "run --once" in first.pending[0].reason
    await past.shop.client.xgroup_setid(past.keys.feed, "archivers", "0")
    await drain(past.shop.archiver("two"))
    second = await past.erase("t", 1)
    assert (second.pending, second.events) == ([], 2)
    assert await past.traces("t-one.") == set()


async def test_a_round_of_an_earlier_life_leaves_the_present_one_alone(past):
    """Redis was emptied: versions begin anew, and mean other events than those of the round."""
    await past.shop.client.delete(
        past.keys.head("s"), past.keys.state("s"), past.keys.log("s"), past.keys.summaries("s")
    )
    await past.append("s", "task.created", "task.completed", told="new life")
    await past.work()
    assert past.reader.read("s", 7).epoch == 1

    erased = await past.erase("s", 1)

    assert (erased.rounds, erased.events, erased.pending) == (1, 0, [])
    assert versions(await past.shop.store().read("s")) == [1, 2, 3]


async def test_a_damaged_round_goes_and_what_can_not_be_told_of_redis_is_said(past):
    (path,) = past.shop.directory.glob("*/s/round_5.json")
    path.write_bytes(path.read_bytes()[:-50])

    erased = await past.erase("s", 5)

    assert erased.rounds == 1
    assert not [
        name for name in await past.traces(" s-5.") if "/" in name and "segments" not in name
    ]
    assert "Erase the whole stream" in erased.pending[0].reason
    assert (await past.erase("s")).pending == []
    assert await past.traces(" s-") == set()


class TestSegments:
    async def test_the_segment_is_known_by_its_events(self, past):
        await past.erase("s", 5)

        living = [
            row for row in export_in(past.base, f"{past.shop.tenant}/s") if not row["tombstone"]
        ]
        assert len(living) == 5
        assert await past.traces(" s-5.") == set()

    async def test_without_events_it_is_known_by_its_note(self, past):
        assert (await past.erase("s", 1)).segments == 1

        assert await past.traces(" s-1.") == set()

    async def test_where_nothing_tells_it_a_person_is_told(self, past):
        scope = f"{past.shop.tenant}/t"
        await past.append("t", "task.created", "task.completed", told="one")
        await past.shop.sequence()
        await drain(past.shop.archiver("two"))
        ArchiveStore(past.base, scope, "t").seal([{"role": "user", "content": "by hand"}], "")
        await past.compact("t", 0)

        erased = await past.erase("t", 1)

        assert (erased.segments, erased.pending) == (0, [])
        assert "1 segment could be told" in erased.remarks[-1]

    async def test_rounds_with_equal_notes_are_told_apart_while_their_events_are_there(
        self, past, tmp_path
    ):
        sealer = SegmentSealer(past.base)
        for number in (1, 2):
            for kind in ("task.created", "message.added", "task.completed"):
                payload = {"role": "user", "content": f"n{number}", "result": "the same"}
                await past.shop.xadd("t", kind, payload if kind != "task.created" else {})
        await past.shop.sequence()
        await drain(past.shop.archiver("two", sealer=sealer))

        assert (await past.erase("t", 1)).segments == 1

        rows = export_in(past.base, f"{past.shop.tenant}/t")
        assert [row["tombstone"] for row in rows] == [True, False]
