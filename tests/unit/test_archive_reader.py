"""Reading archives: ours, those of ARES, damaged ones, and ones that change meanwhile."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from archive import (
    ArchiveFailure,
    ArchiveMissing,
    FileArchiveReader,
    FileArchiveWriter,
    RoundDamaged,
    RoundNotFound,
    RoundRecord,
)
from archive.errors import InvalidRound
from archive.failures import UnsafePath
from archive.places import Problem
from archive.recall.query import EVERYTHING, parse_query
from archive.recall.search import Recall
from support.simulated_disk import FaultyDisk, failing, os_error


def record(number: int, stream: str = "s", summary: str = "the fox") -> RoundRecord:
    return RoundRecord(
        number,
        "fix",
        summary,
        stream_id=stream,
        tenant_id="default",
        first_version=number,
        last_version=number,
        ended_at=datetime(2026, 1, 1, 0, number, tzinfo=UTC),
        events_digest=f"{stream}{number}",
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    FileArchiveWriter(tmp_path).record_many([record(n, s) for s in ("s", "t") for n in (1, 2, 3)])
    return tmp_path


def ares(folder: Path, number: int, **fields: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"round": number, "action": "plan", "summary": f"fox {number}", "files": None}
    text = json.dumps({**content, **fields}, indent=2)
    (folder / f"round_{number}.json").write_text(text)


def test_a_missing_archive_is_told_from_an_empty_one(tmp_path):
    with pytest.raises(ArchiveMissing):
        FileArchiveReader(tmp_path / "absent").list("s")
    assert FileArchiveReader(tmp_path).list("s") == []
    with pytest.raises(RoundNotFound):
        FileArchiveReader(tmp_path).read("s", 1)


def test_a_number_that_is_none_is_refused(archive):
    with pytest.raises(InvalidRound):
        FileArchiveReader(archive).read("s", 0)


def test_no_index_is_made_for_a_missing_archive(tmp_path):
    recall = Recall(tmp_path / "absent", cache=tmp_path / "cache")
    with pytest.raises(ArchiveMissing):
        list(recall.query(EVERYTHING))
    assert not (tmp_path / "cache").exists()


def test_search_gives_records_and_recall_text_newest_first(archive):
    reader = FileArchiveReader(archive)
    assert [r.round for r in reader.search("FOX")] == [3, 3, 2, 2, 1, 1]
    assert [r.round for r in reader.search("fox", limit=3)] == [3, 3, 2]
    assert reader.recall("fox", limit=1).startswith("round 3  s  fix  completed")
    assert reader.recall("no such") == "No round matches no such\n"


def test_a_flat_archive_of_ares_is_one_stream_named_like_its_folder(tmp_path):
    for number in (1, 2, 12):
        ares(tmp_path / "rounds", number)
    reader = FileArchiveReader(tmp_path / "rounds")
    assert reader.streams() == ["rounds"]
    assert reader.list("rounds") == [1, 2, 12]
    assert reader.read("rounds", 12).summary == "fox 12"
    assert [r.round for r in reader.search("fox")] == [12, 2, 1]


def test_plain_folders_of_ares_are_a_stream_each(tmp_path):
    ares(tmp_path / "Agent_7", 1)
    ares(tmp_path / "a_b-1f2e", 1, stream_id="a/b")
    reader = FileArchiveReader(tmp_path)
    assert reader.streams() == ["Agent_7", "a/b"]
    assert reader.read("Agent_7", 1).summary == "fox 1"
    assert reader.read("a/b", 1).stream_id == "a/b"
    assert [found.stream for found in reader.holders(1)] == ["Agent_7", "a/b"]


def test_all_layouts_may_live_side_by_side(archive):
    ares(archive, 1)
    ares(archive / "Agent_7", 1)
    FileArchiveWriter(archive, tenant="acme").record(record(1, "u"))
    assert FileArchiveReader(archive).streams() == sorted(["s", "t", "u", "Agent_7", archive.name])
    assert FileArchiveReader(archive, tenants=["acme"]).streams() == ["u"]
    assert len(FileArchiveReader(archive).search("fox")) == 9


def test_a_tenants_round_is_not_read_for_another(archive):
    FileArchiveWriter(archive, tenant="acme").record(record(1, "u"))
    with pytest.raises(RoundNotFound):
        FileArchiveReader(archive, tenants=["default"]).read("u", 1)


def test_rounds_of_another_stream_in_the_same_folder_stay_apart(archive):
    """Two ids could be made to share the digits of their hash."""
    (archive / "default/s/round_4.json").write_bytes(
        (archive / "default/t/round_1.json").read_bytes()
    )
    reader = FileArchiveReader(archive)
    assert reader.list("s") == [1, 2, 3]
    with pytest.raises(RoundNotFound):
        reader.read("s", 4)


DAMAGE = {
    "empty": b"",
    "zeroed": b"\0" * 700,
    "halved": None,
    "a pipe": "fifo",
    "a folder": "folder",
    "a link": "link",
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("indexed", [False, True])
def test_a_damaged_round_is_named_and_hides_no_other(archive, tmp_path_factory, kind, indexed):
    path = archive / "default/s/round_2.json"
    whole = path.read_bytes()
    path.unlink()
    damage = DAMAGE[kind]
    if damage == "fifo":
        os.mkfifo(path)
    elif damage == "folder":
        path.mkdir()
    elif damage == "link":
        path.symlink_to(archive / "default/s/round_1.json")
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    problems: list[Problem] = []
    cache = tmp_path_factory.mktemp("cache") if indexed else None
    found = Recall(archive, cache=cache).query(parse_query("fox"), report=problems.append)
    assert [(r.stream, r.record.round) for r in found] == [
        ("s", 3), ("t", 3), ("t", 2), ("s", 1), ("t", 1)
    ]  # fmt: skip
    assert [problem.path for problem in problems] == [str(path)]
    reader = FileArchiveReader(archive)
    with pytest.raises((RoundDamaged, UnsafePath)):
        reader.read("s", 2)
    assert reader.read("s", 3) == record(3)


def test_an_unreadable_folder_is_named_and_hides_no_other(archive):
    problems: list[Problem] = []
    disk = FaultyDisk(failing("open_folder", errno.EACCES, match="t"))
    found = Recall(archive, disk=disk).query(EVERYTHING, report=problems.append)
    assert {r.stream for r in found} == set()
    assert [problem.reason for problem in problems] == ["permission"]


def test_a_stale_file_is_read_again_from_the_top_and_then_named(archive):
    problems: list[Problem] = []
    once = FaultyDisk(failing("open_file", errno.ESTALE, times=1))
    assert len(list(Recall(archive, disk=once).query(EVERYTHING, report=problems.append))) == 6
    assert problems == []
    always = FaultyDisk(failing("open_file", errno.ESTALE, match="round_2"))
    assert len(list(Recall(archive, disk=always).query(EVERYTHING, report=problems.append))) == 4
    assert {problem.reason for problem in problems} == {"stale_handle"}


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    "operation", ["open_root", "open_folder", "open_file", "read", "names", "kinds"]
)
def test_whatever_goes_stale_once_changes_no_answer(archive, tmp_path_factory, operation, indexed):
    cache = tmp_path_factory.mktemp("cache") if indexed else None
    calls = [0]

    def count(name: str, args: object) -> None:
        calls[0] += name == operation

    list(Recall(archive, disk=FaultyDisk(count)).query(EVERYTHING))
    for point in range(calls[0]):
        problems: list[Problem] = []
        left = [point]

        def stale(name: str, args: object, left: list[int] = left) -> None:
            left[0] -= name == operation
            if left[0] == -1 and name == operation:
                raise os_error(errno.ESTALE)

        recall = Recall(archive, cache=cache, disk=FaultyDisk(stale))
        assert len(list(recall.query(EVERYTHING, report=problems.append))) == 6
        assert problems == []


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO, errno.EACCES])
def test_an_archive_that_cannot_be_read_never_looks_empty(archive, number):
    recall = Recall(archive, disk=FaultyDisk(failing("open_root", number)))
    with pytest.raises(ArchiveFailure):
        list(recall.query(EVERYTHING))


def test_a_link_in_place_of_a_streams_folder_is_named_and_not_followed(archive, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    ares(outside, 1, summary="secret fox")
    (archive / "default/u").symlink_to(outside)
    (archive / "other").symlink_to(outside)
    problems: list[Problem] = []
    found = list(Recall(archive).query(parse_query("secret"), report=problems.append))
    assert found == []
    assert [problem.reason for problem in problems] == ["unsafe", "unsafe"]
    with pytest.raises(UnsafePath):
        FileArchiveReader(archive).read("u", 1)


@pytest.mark.parametrize("stream", ["../t", "..", ".", "/", "", "a\0b", "x\ny", "-rf"])
def test_no_stream_id_reads_outside_the_archive(archive, stream):
    with pytest.raises(RoundNotFound):
        FileArchiveReader(archive / "default").read(stream, 1)


def test_a_round_that_rotates_away_meanwhile_fails_no_reader(archive):
    found = Recall(archive).query(EVERYTHING)
    first = next(found)
    for path in (archive / "default/s").iterdir():
        path.unlink()
    assert first.record.round == 3
    assert {r.stream for r in found} == {"t"}


def test_other_files_are_left_alone(archive):
    for name in ("round_x.json", "round_01.json", "notes.txt", "round_9.json.tmp", ".tmp-1"):
        (archive / "default/s" / name).write_text("{")
    problems: list[Problem] = []
    assert len(list(Recall(archive).query(EVERYTHING, report=problems.append))) == 6
    assert problems == []


def test_a_name_that_is_no_text_is_reported_in_words(archive):
    (archive / "default" / os.fsdecode(b"\xff")).mkdir()
    problems: list[Problem] = []
    assert len(list(Recall(archive).query(EVERYTHING, report=problems.append))) == 6
    assert [problem.path for problem in problems] == [f"{archive}/default/\\udcff"]
