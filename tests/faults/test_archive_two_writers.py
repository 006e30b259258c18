"""A second writer comes between two steps of the first, or runs as somebody else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archive import (
    FileArchiveReader,
    FileArchiveWriter,
    PublicationConflict,
    Published,
    RoundRecord,
)
from archive.record_json import record_to_bytes
from support.simulated_disk import FaultyDisk

OURS = RoundRecord(
    1,
    "fix",
    "ours",
    stream_id="s",
    tenant_id="default",
    first_version=1,
    last_version=10,
    events_digest="aa" * 32,
)
SIX = [
    replace(OURS, round=n, first_version=n, last_version=n, events_digest=f"{n:02d}" * 32)
    for n in range(1, 7)
]


def in_turn(writer: FileArchiveWriter, rounds: list[RoundRecord]) -> None:
    """Each in a call of its own, so that the older ones rotate away."""
    for record in rounds:
        writer.record(record)


STEPS = ["names", "create", "write", "sync", "link"]


def interrupted(
    tmp_path: Path, step: str, meanwhile: Callable[[], object], max_rounds: int = 200
) -> FileArchiveWriter:
    """A writer that is stopped at its first `step` until `meanwhile` has run."""
    pending = [meanwhile]

    def hook(name: str, args: object) -> None:
        if name == step and pending:
            pending.pop()()

    return FileArchiveWriter(tmp_path, max_rounds, disk=FaultyDisk(hook))


@pytest.mark.parametrize("step", STEPS)
def test_the_same_round_written_meanwhile_is_found_and_its_bytes_stay(tmp_path, step):
    theirs = replace(OURS, summary="as another release extracts it")
    other = FileArchiveWriter(tmp_path)
    writer = interrupted(tmp_path, step, lambda: other.record(theirs))
    assert writer.record(OURS) == Published(1, 0, 10, "found")
    path = tmp_path / "default/s/round_1.json"
    assert path.read_bytes() == record_to_bytes(theirs)
    assert [p.name for p in path.parent.iterdir()] == ["round_1.json"]


@pytest.mark.parametrize("step", STEPS)
def test_another_round_written_meanwhile_keeps_its_number_and_both_stay(tmp_path, step):
    theirs = replace(OURS, events_digest="bb" * 32)
    other = FileArchiveWriter(tmp_path)
    writer = interrupted(tmp_path, step, lambda: other.record(theirs))
    with pytest.raises(PublicationConflict):
        writer.record(OURS)
    assert writer.record(OURS, confirmed=True).round == 2
    reader = FileArchiveReader(tmp_path)
    assert [reader.read("s", n).events_digest[:2] for n in (1, 2)] == ["bb", "aa"]


def test_in_a_batch_what_follows_a_round_lost_to_another_writer_is_not_written(tmp_path):
    theirs = replace(OURS, events_digest="bb" * 32)
    other = FileArchiveWriter(tmp_path)
    writer = interrupted(tmp_path, "link", lambda: other.record(theirs))
    later = replace(OURS, round=2, first_version=11, last_version=20)
    results = writer.record_many([OURS, later])
    assert [type(result) for result in results] == [PublicationConflict] * 2
    assert [p.name for p in (tmp_path / "default/s").iterdir()] == ["round_1.json"]


def test_rounds_another_writer_published_meanwhile_rotate_away_before_later_ones(tmp_path):
    """Else a gap would open between them and the rounds that stay."""
    other = FileArchiveWriter(tmp_path, 0)
    writer = interrupted(tmp_path, "link", lambda: other.record_many(SIX[:3]), max_rounds=2)
    results = writer.record_many(SIX)
    assert [result.how for result in results] == ["found"] * 3 + ["written"] * 3
    assert writer.record(SIX[5]).rotated == 4
    assert FileArchiveReader(tmp_path).list("s") == [5, 6]


@pytest.mark.parametrize("step", ["names", "create", "write", "sync"])
def test_rounds_that_rotated_away_while_a_writer_was_held_up_do_not_come_back(tmp_path, step):
    """Not for a moment: between them and those that are left a reader would find a gap."""
    other = FileArchiveWriter(tmp_path, 2)
    linked: list[object] = []

    def hook(name: str, args: object) -> None:
        if name == step and pending:
            pending.pop()()
        linked.extend([args] if name == "link" else [])

    pending = [lambda: in_turn(other, SIX)]
    writer = FileArchiveWriter(tmp_path, 2, disk=FaultyDisk(hook))
    results = writer.record_many(SIX[:3])
    assert [type(result) for result in results] == [PublicationConflict] * 3
    assert not linked
    assert sorted(p.name for p in (tmp_path / "default/s").iterdir()) == [
        "round_5.json", "round_6.json",
    ]  # fmt: skip


def test_rounds_that_rotated_away_while_a_writer_was_held_up_do_not_come_back_to_stay(tmp_path):
    """It links names that are free again; the next rotation is its own."""
    other = FileArchiveWriter(tmp_path, 2)
    writer = interrupted(tmp_path, "link", lambda: in_turn(other, SIX), max_rounds=2)
    results = writer.record_many(SIX[:3])
    assert [result.how for result in results] == ["written"] * 3
    assert FileArchiveReader(tmp_path).list("s") == [5, 6]


def test_a_round_that_rotates_away_after_it_was_found_fails_nothing(tmp_path):
    """Later rounds are durable then, so it was."""
    other = FileArchiveWriter(tmp_path, 2)
    meanwhile = {
        "link": [lambda: other.record_many(SIX[:2])],
        "open_file": [lambda: None, lambda: None, lambda: in_turn(other, SIX[2:])],
    }

    def hook(name: str, args: object) -> None:
        if meanwhile.get(name):
            meanwhile[name].pop(0)()

    writer = FileArchiveWriter(tmp_path, 2, disk=FaultyDisk(hook))
    results = writer.record_many(SIX[:2])
    assert [result.how for result in results] == ["found"] * 2
    assert FileArchiveReader(tmp_path).list("s") == [5, 6]


def as_somebody(user: int, action: Callable[[], object]) -> None:
    """Do `action` in a process of that user, in group 3000, with a strict umask."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(3_000)
            os.setuid(user)
            os.umask(0o077)
            action()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_workers_and_readers_of_one_group_share_an_archive_whatever_the_umask():
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name)
        os.chown(archive, 1_000, 3_000)
        archive.chmod(0o2770)
        as_somebody(1_000, lambda: FileArchiveWriter(archive).record(OURS))

        def read() -> None:
            assert FileArchiveReader(archive).search("ours") == [OURS]

        as_somebody(2_000, read)
