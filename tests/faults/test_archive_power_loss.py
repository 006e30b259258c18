"""Power loss at every single file operation of a publication, on a disk that forgets.

What a call has answered is there afterwards; what is there is whole; and doing the work again
leaves every round in the archive once.
"""

from __future__ import annotations

import contextlib
import errno
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from archive import FileArchiveReader, FileArchiveWriter, PublicationConflict, RoundRecord
from archive.erase import Eraser
from archive.publishing.publication import identity_of
from archive.record_json import Tombstone, record_from_bytes, record_to_bytes, stored_from_bytes
from support.simulated_disk import ROOT, SimulatedCrash, SimulatedDisk, failing

START = datetime(2026, 1, 1, tzinfo=UTC)


def rounds(stream: str, count: int) -> list[RoundRecord]:
    return [
        RoundRecord(
            n,
            "fix",
            f"round {n} of {stream} " + "x" * 40,
            stream_id=stream,
            tenant_id="default",
            first_version=n * 10 - 9,
            last_version=n * 10,
            event_count=10,
            ended_at=START + timedelta(minutes=n),
            events_digest=f"{stream}{n}",
        )
        for n in range(1, count + 1)
    ]


class Archiver:
    """What the worker does around the writer: its state advances when a call has answered."""

    def __init__(self, disk: SimulatedDisk, *, max_rounds: int = 0) -> None:
        self.disk, self.max_rounds = disk, max_rounds
        self.number: dict[str, int] = {}
        self.epoch: dict[str, int] = {}
        self.archived: dict[str, int] = {}
        self.answered: dict[str, bytes] = {}

    def writer(self) -> FileArchiveWriter:
        return FileArchiveWriter(ROOT, max_rounds=self.max_rounds, disk=self.disk)

    def archive(self, work: list[RoundRecord]) -> None:
        writer = self.writer()
        for record in work:
            stream = record.stream_id
            if record.last_version <= self.archived.get(stream, 0):
                continue
            candidate = replace(
                record, round=self.number.get(stream, 0) + 1, epoch=self.epoch.get(stream, 0)
            )
            try:
                published = writer.record(candidate)
            except PublicationConflict:
                published = writer.record(candidate, confirmed=True)
            self.advance(record, published.round, published.epoch)

    def archive_batch(self, work: list[RoundRecord]) -> None:
        results = self.writer().record_many(work)
        for record, result in zip(work, results, strict=True):
            self.advance(record, result.round, result.epoch)

    def advance(self, record: RoundRecord, number: int, epoch: int) -> None:
        stream = record.stream_id
        self.number[stream] = max(self.number.get(stream, 0), number)
        self.epoch[stream] = epoch
        self.archived[stream] = record.last_version
        written = record_to_bytes(replace(record, round=number, epoch=epoch))
        self.answered[f"default/{stream}/round_{number}.json"] = written


def crash_at(disk: SimulatedDisk, point: int, *, after: bool) -> None:
    """End everything at operation `point`: before it has an effect, or right after."""

    def hook(name: str, args: object) -> None:
        if disk.operations == point + after:
            raise SimulatedCrash

    if after:
        disk.after = hook
    else:
        disk.before = hook


def survivals() -> list[Callable[[], bool]]:
    """What becomes of changes that weren't synced: none, all, or some of them survive."""
    chances = [random.Random(seed) for seed in range(4)]
    return [lambda: False, lambda: True, *(partial(_toss, chance) for chance in chances)]


def _toss(chance: random.Random) -> bool:
    return chance.random() < 0.5


def sweep(
    run: Callable[[Archiver], None],
    work: list[RoundRecord],
    check: Callable[[SimulatedDisk, Archiver], None],
    *,
    max_rounds: int = 0,
) -> int:
    """Run with a crash at every operation, and check before and after doing the work again."""
    whole = SimulatedDisk()
    run(Archiver(whole, max_rounds=max_rounds))
    for point in range(whole.operations):
        for after in (False, True):
            for keep in survivals():
                disk = SimulatedDisk()
                archiver = Archiver(disk, max_rounds=max_rounds)
                crash_at(disk, point, after=after)
                with contextlib.suppress(SimulatedCrash):
                    run(archiver)
                disk.restart(keep)
                check(disk, archiver)
                archiver.archive(work)
                check(disk, archiver)
                assert_each_once(disk, work, max_rounds)
    return whole.operations


def round_files(disk: SimulatedDisk) -> dict[str, bytes]:
    return {path: data for path, data in disk.tree().items() if "/." not in path}


def assert_answered_and_whole(disk: SimulatedDisk, archiver: Archiver) -> None:
    found = round_files(disk)
    for path, data in archiver.answered.items():
        assert found.get(path) == data
    for data in found.values():
        record_from_bytes(data)


def assert_whole(disk: SimulatedDisk, archiver: Archiver) -> None:
    for data in round_files(disk).values():
        record_from_bytes(data)


def assert_each_once(disk: SimulatedDisk, work: list[RoundRecord], max_rounds: int) -> None:
    there = [identity_of(record_from_bytes(data)) for data in round_files(disk).values()]
    assert len(there) == len(set(there))
    if max_rounds:  # a removal lost with the power is made good by the next publication
        assert set(there) >= {identity_of(record) for record in work[-max_rounds:]}
    else:
        assert set(there) == {identity_of(record) for record in work}


def test_power_loss_anywhere_in_a_publication_loses_and_repeats_nothing():
    work = rounds("s", 3)
    operations = sweep(lambda archiver: archiver.archive(work), work, assert_answered_and_whole)
    assert operations > 40  # the sweep saw every step of three publications


def test_power_loss_anywhere_in_a_batch_loses_and_repeats_nothing():
    work = [*rounds("a", 2), *rounds("b", 2)]
    sweep(lambda archiver: archiver.archive_batch(work), work, assert_answered_and_whole)


def test_power_loss_anywhere_in_a_rotation_keeps_the_newest():
    work = rounds("s", 4)
    sweep(lambda archiver: archiver.archive(work), work, assert_whole, max_rounds=2)


def test_a_round_found_but_never_synced_by_its_dead_writer_is_made_durable():
    work = rounds("s", 1)
    disk = SimulatedDisk()
    FileArchiveWriter(ROOT, disk=disk).record(work[0])
    for node in disk._nodes.values():
        node.durable_entries = {}  # its writer died before any folder was synced
    FileArchiveWriter(ROOT, disk=disk).record(work[0])
    disk.restart(lambda: False)
    assert FileArchiveReader(ROOT, disk=disk).read("s", 1) == work[0]


@pytest.mark.parametrize("forgotten", ["file", "stream folder", "tenant folder", "root folder"])
def test_the_disk_would_notice_a_missing_fsync(forgotten):
    """The sweep's own check: leave one fsync out and an answered round is lost."""
    disk = SimulatedDisk()
    order = iter(["root folder", "tenant folder", "file", "stream folder"])
    real = disk._sync

    def lazy(handle: int) -> None:
        if next(order) != forgotten:
            real(handle)

    disk._sync = lazy  # type: ignore[method-assign]
    work = rounds("s", 1)
    FileArchiveWriter(ROOT, disk=disk).record(work[0])
    disk.restart(lambda: False)
    path = "default/s/round_1.json"
    assert disk.tree().get(path) != record_to_bytes(work[0])


def test_power_loss_anywhere_in_an_erasure_leaves_each_round_whole_or_erased():
    work = rounds("s", 2)

    def archived() -> SimulatedDisk:
        disk = SimulatedDisk()
        FileArchiveWriter(ROOT, disk=disk).record_many(work)
        return disk

    whole = archived()
    start = whole.operations
    assert Eraser(ROOT, disk=whole).stream("default", "s").erased == 2
    originals = {record_to_bytes(record) for record in work}
    for point in range(start, whole.operations):
        for after in (False, True):
            for keep in survivals():
                disk = archived()
                crash_at(disk, point, after=after)
                with contextlib.suppress(SimulatedCrash):
                    Eraser(ROOT, disk=disk).stream("default", "s")
                disk.restart(keep)
                for data in round_files(disk).values():
                    assert data in originals or isinstance(stored_from_bytes(data), Tombstone)
                assert len(round_files(disk)) == 2
                assert Eraser(ROOT, disk=disk).stream("default", "s").complete
                disk.restart(lambda: False)
                assert sorted(disk.tree()) == ["default/s/round_1.json", "default/s/round_2.json"]
                assert all(b"round 1 of s" not in data for data in disk.tree().values())
                assert not originals & set(disk.tree().values())


def test_what_cannot_be_erased_now_is_pending_and_erased_by_the_next_call():
    disk = SimulatedDisk()
    FileArchiveWriter(ROOT, disk=disk).record_many(rounds("s", 3))
    disk.before = failing("rename", errno.EIO, match="round_2.json")
    done = Eraser(ROOT, disk=disk).stream("default", "s")
    assert (done.erased, done.complete, done.pending[0].reason) == (2, False, "io")
    disk.before = lambda name, args: None
    again = Eraser(ROOT, disk=disk).stream("default", "s")
    assert (again.erased, again.already_erased, again.complete) == (1, 2, True)
