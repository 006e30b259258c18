"""The archiver on every kind of Redis: every finished round once, whatever comes in between."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from archive.failures import ArchiveFailure
from archive.publishing.published import Published, Result
from archive.publishing.writer import FileArchiveWriter
from archive.record import RoundRecord
from archive.storage.layout import TAKEN_PREFIX
from streams.event import Event
from support.simulated_disk import FaultyDisk, failing
from support.workshop import Workshop, drain
from worker.archiving.rounds import RoundLimits


class BrokenWriter:
    """A volume that refuses until it is mended."""

    def __init__(self, writer: FileArchiveWriter) -> None:
        self._writer = writer
        self.broken = True

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        if self.broken:
            full = OSError(errno.ENOSPC, "No space left on device")
            return [ArchiveFailure("write", "round", full) for _ in records]
        return self._writer.record_many(records)


async def test_every_finished_round_becomes_a_file_and_an_open_one_waits(workshop: Workshop):
    await workshop.xadd_rounds("s", 3)
    await workshop.xadd("s", "task.created")
    await workshop.sequence()

    await drain(workshop.archiver())

    records = workshop.records("s")
    assert [(r.round, r.first_version, r.last_version) for r in records] == [
        (1, 1, 3),
        (2, 4, 6),
        (3, 7, 9),
    ]


async def test_what_was_appended_before_the_first_worker_is_archived(workshop: Workshop):
    await workshop.store().append("s", [Event("task.created"), Event("task.completed")])

    await drain(workshop.archiver())

    assert workshop.rounds("s") == [1]


async def test_archiving_again_from_the_beginning_changes_no_file(workshop: Workshop):
    await workshop.xadd_rounds("s", 5)
    await workshop.sequence()
    await drain(workshop.archiver())
    before = workshop.files()

    keys = workshop.store().keys
    await workshop.client.xgroup_setid(keys.feed, "archivers", "0")
    await workshop.client.delete(keys.state("s"))
    await drain(workshop.archiver("two"))

    assert workshop.files() == before


async def test_two_archivers_side_by_side_write_each_round_once(workshop: Workshop):
    await workshop.xadd_rounds("s", 4)
    await workshop.sequence()
    one, two = workshop.archiver("one", batch=1), workshop.archiver("two", batch=1)

    await one.run_once()
    await two.run_once()
    await drain(one)
    await drain(two)

    assert workshop.rounds("s") == [1, 2, 3, 4]


async def test_a_refusing_volume_holds_the_batch_and_nothing_is_lost(workshop: Workshop):
    await workshop.xadd_rounds("s", 2)
    await workshop.sequence()
    writer = BrokenWriter(FileArchiveWriter(workshop.directory, tenant=workshop.tenant))
    archiver = workshop.archiver(writer=writer)
    await archiver.start()

    blocked = await archiver.run_once()
    again = await archiver.run_once()
    writer.broken = False
    await drain(archiver)

    assert isinstance(blocked.blocked, ArchiveFailure)
    assert blocked.blocked.reason == "no_space"
    assert again.blocked is not None
    assert workshop.rounds("s") == [1, 2]
    keys = workshop.store().keys
    assert (await workshop.client.xpending(keys.feed, "archivers"))["pending"] == 0


@pytest.mark.parametrize("at_once", [1, 3])
async def test_rounds_that_cannot_rotate_away_are_told_and_hold_nothing_up(
    workshop: Workshop, at_once: int
):
    """Published one by one, and several at once, which rotate when the state has passed them."""
    refuses = FaultyDisk(failing("unlink", errno.EACCES, match=TAKEN_PREFIX))
    writer = FileArchiveWriter(workshop.directory, 1, tenant=workshop.tenant, disk=refuses)
    archiver = workshop.archiver(writer=writer)
    await archiver.start()
    await workshop.xadd_rounds("s", at_once)
    await workshop.sequence()
    told = (await archiver.run_once()).archived.unrotated
    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()

    told |= (await archiver.run_once()).archived.unrotated

    assert isinstance(told["s"], ArchiveFailure)
    assert told["s"].reason == "permission"
    assert workshop.rounds("s")[-1] == at_once + 1


class OvertakenWriter:
    """Another worker archives what comes next, between our publication and our late rotation."""

    def __init__(self, writer: FileArchiveWriter) -> None:
        self._writer = writer
        self.overtaken = 0

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        return self._writer.record_many(records)

    def record(self, record: RoundRecord, **options: Any) -> Published:
        """As `FileArchiveWriter.record`, of a round that has rotated away meanwhile."""
        self.overtaken += 1
        for number in (record.round + 1, record.round + 2):
            digest = f"{number:02d}" * 32
            following = {"first_version": 3 * number - 2, "last_version": 3 * number}
            self._writer.record(replace(record, round=number, events_digest=digest, **following))
        return self._writer.record(record, **options)


async def test_a_worker_that_was_overtaken_leaves_rotation_to_the_other(workshop: Workshop):
    """The round it rotates behind is gone itself: it must neither come again nor be a failure."""
    writer = OvertakenWriter(FileArchiveWriter(workshop.directory, 1, tenant=workshop.tenant))
    archiver = workshop.archiver(writer=writer)
    await archiver.start()
    await workshop.xadd_rounds("s", 3)
    await workshop.sequence()

    facts = await archiver.run_once()

    assert writer.overtaken == 1
    assert facts.archived.unrotated == {}
    assert workshop.rounds("s") == [5]


async def test_entries_of_a_dead_worker_are_claimed(workshop: Workshop):
    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()
    keys = workshop.store().keys
    await workshop.client.xgroup_create(keys.feed, "archivers", "0")
    await workshop.client.xreadgroup("archivers", "dead", {keys.feed: ">"})

    facts = await drain(workshop.archiver("alive", claim_idle_ms=0))

    assert facts[0].claimed == 1
    assert workshop.rounds("s") == [1]


@pytest.mark.parametrize("loss", ["feed", "group"])
async def test_a_vanished_feed_or_group_is_made_again(workshop: Workshop, loss: str):
    archiver = workshop.archiver()
    await archiver.start()
    keys = workshop.store().keys
    if loss == "feed":
        await workshop.client.delete(keys.feed)
    else:
        await workshop.client.xgroup_destroy(keys.feed, "archivers")
    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()

    assert (await archiver.run_once()).recreated
    await drain(archiver)

    assert workshop.rounds("s") == [1]


async def test_entries_trimmed_while_pending_are_acknowledged_and_the_scan_finds_their_rounds(
    workshop: Workshop,
):
    await workshop.xadd_rounds("s", 2)
    await workshop.sequence()
    keys = workshop.store().keys
    await workshop.client.xgroup_create(keys.feed, "archivers", "0")
    await workshop.client.xreadgroup("archivers", "dead", {keys.feed: ">"})
    await workshop.client.xtrim(keys.feed, maxlen=0, approximate=False)

    await drain(workshop.archiver("alive", claim_idle_ms=0))
    await workshop.janitor().run_once()

    assert workshop.rounds("s") == [1, 2]
    assert (await workshop.client.xpending(keys.feed, "archivers"))["pending"] == 0


@pytest.mark.damage("a log is deleted")
async def test_a_damaged_log_does_not_hold_up_other_streams(workshop: Workshop):
    await workshop.xadd_rounds("bad", 1)
    await workshop.xadd_rounds("good", 1)
    await workshop.sequence()
    await workshop.client.delete(workshop.store().keys.log("bad"))

    [facts, *_] = await drain(workshop.archiver())

    assert list(facts.archived.failures) == ["bad"]
    assert workshop.rounds("good") == [1]


async def test_an_open_round_over_its_limit_is_cut_and_the_next_record_goes_on(
    workshop: Workshop,
):
    store = workshop.store()
    await store.append("s", [Event("llm.call", {"n": n}) for n in range(1024)])
    await store.append("s", [Event("task.completed")])

    await drain(workshop.archiver(limits=RoundLimits(max_events=500)))

    records = workshop.records("s")
    assert [(r.first_version, r.last_version, r.outcome) for r in records] == [
        (1, 500, "unfinished"),
        (501, 1000, "unfinished"),
        (1001, 1025, "completed"),
    ]


async def test_redis_reset_under_a_full_archive_opens_an_epoch_and_overwrites_nothing(
    workshop: Workshop,
):
    await workshop.xadd_rounds("s", 2)
    await workshop.sequence()
    await drain(workshop.archiver())
    before = workshop.files()
    for key in await workshop.client.keys(f"ares:{{{workshop.tenant}}}:*"):
        await workshop.client.delete(key)

    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()
    await drain(workshop.archiver("after"))

    assert {name: workshop.files()[name] for name in before} == before
    last = workshop.records("s")[-1]
    assert (last.round, last.epoch, last.first_version) == (3, 1, 1)


async def test_a_state_lost_behind_the_archive_adopts_what_is_there(workshop: Workshop):
    """Rounds cut in another way hold the same events: their file counts as this round."""
    await workshop.xadd_rounds("s", 1, events=6)
    await workshop.sequence()
    await drain(workshop.archiver(limits=RoundLimits(max_events=4)))
    before = workshop.files()
    await workshop.client.delete(workshop.store().keys.state("s"))
    await workshop.client.xgroup_setid(workshop.store().keys.feed, "archivers", "0")

    await drain(workshop.archiver("later", limits=RoundLimits(max_events=3)))

    assert workshop.files() == before
