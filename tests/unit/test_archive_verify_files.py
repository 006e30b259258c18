"""An archive's files, checked where they stand."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from archive import ArchiveMissing, FileArchiveWriter, RoundRecord
from archive.erase import Eraser
from archive.storage.layout import TEMP_PREFIX, stream_dir
from archive.storage.volume import Volume
from archive.survey import Survey
from archive.verifying.files import check_archive, check_folder, own_folder

DAY_NS = 24 * 3_600_000_000_000


def record(number: int, stream: str = "s") -> RoundRecord:
    return RoundRecord(
        number,
        "fix",
        "x",
        stream_id=stream,
        tenant_id="default",
        first_version=number * 10 - 9,
        last_version=number * 10,
        events_digest=f"{number:02d}" * 32,
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    FileArchiveWriter(tmp_path).record_many([record(n, s) for s in ("s", "T/u") for n in (1, 2, 3)])
    return tmp_path


def now_ns(archive: Path) -> int:
    return (archive / "default").stat().st_mtime_ns


def check(archive: Path) -> list[tuple[str, str]]:
    """Kind, and the file or else the stream, of every finding."""
    checks = check_archive(Survey(Volume(archive)), now_ns=now_ns(archive))
    return [(f.kind, f.path or f.stream) for _, check in checks for f in check.findings]


def test_a_healthy_archive_has_no_finding(archive: Path) -> None:
    Eraser(archive).round("default", "s", 2)
    assert check(archive) == []


def test_a_rotated_archive_has_no_finding(tmp_path: Path) -> None:
    writer = FileArchiveWriter(tmp_path, max_rounds=2)
    writer.record_many([record(number) for number in range(1, 8)])
    assert check(tmp_path) == []


def test_a_lost_round_is_found_as_a_gap(archive: Path) -> None:
    (archive / "default/s/round_2.json").unlink()
    assert check(archive) == [("gap", "s")]


def test_a_damaged_round_is_named_beside_the_gap_it_leaves(archive: Path) -> None:
    (archive / "default/s/round_2.json").write_bytes(b"")
    assert check(archive) == [("damaged", f"{archive}/default/s/round_2.json"), ("gap", "s")]


def test_what_is_damaged_hides_nothing_else_in_its_folder(archive: Path) -> None:
    folder = archive / "default/s"
    shutil.copy(folder / "round_3.json", folder / "round_5.json")
    (folder / "round_1.json").write_bytes(b"{")
    (folder / "round_4.json").mkdir()
    assert check(archive) == [
        ("unsafe", f"{folder}/round_4.json"),
        ("damaged", f"{folder}/round_1.json"),
        ("misnumbered", f"{folder}/round_5.json"),
        ("duplicate", "s"),
    ]


def test_a_damaged_round_belongs_to_the_stream_of_its_neighbours(archive: Path) -> None:
    (archive / "default" / stream_dir("T/u") / "round_3.json").write_bytes(b"")
    checks = check_archive(Survey(Volume(archive)), now_ns=0)
    assert [f.stream for _, check in checks for f in check.findings] == ["T/u"]


def test_files_moved_by_hand_are_found(archive: Path) -> None:
    folder = archive / "default/s"
    shutil.copy(folder / "round_3.json", folder / "round_4.json")
    assert check(archive) == [("misnumbered", f"{folder}/round_4.json"), ("duplicate", "s")]


def test_a_round_in_another_streams_folder_is_found(archive: Path) -> None:
    (archive / "default/v").mkdir()
    shutil.copy(archive / "default/s/round_1.json", archive / "default/v/round_1.json")
    assert check(archive) == [("misplaced", f"{archive}/default/v/round_1.json")]


def test_a_link_is_found_once(archive: Path) -> None:
    (archive / "default/w").symlink_to(archive / "default/s")
    assert check(archive) == [("unsafe", f"{archive}/default/w")]
    survey = Survey(Volume(archive))
    looked_at = own_folder("default", "w")
    found = check_folder(survey, looked_at, now_ns=0)
    assert ([f.kind for f in found.findings], found.readable) == (["unsafe"], False)
    but = {looked_at.parts}
    assert not [c.findings for _, c in check_archive(survey, now_ns=0, but=but) if c.findings]


def test_leftovers_of_dead_workers_are_noted_and_those_of_living_ones_are_not(
    archive: Path,
) -> None:
    for name, age_days in (("old", 2), ("young", 0)):
        path = archive / f"default/s/{TEMP_PREFIX}{name}"
        path.write_bytes(b"{")
        moment = now_ns(archive) - age_days * DAY_NS
        os.utime(path, ns=(moment, moment))
    assert check(archive) == [("leftover", f"{archive}/default/s/{TEMP_PREFIX}old")]


def test_rounds_of_ares_have_no_finding(tmp_path: Path) -> None:
    for path in ("round_1.json", "session-1/round_1.json", "session-1/round_7.json"):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text('{"round": 1, "action": "fix"}' if "7" not in path else '{"round": 7}')
    checks = list(check_archive(Survey(Volume(tmp_path)), now_ns=0))
    assert [check.files for _, check in checks] == [1, 2]
    assert [check.findings for _, check in checks] == [[], []]


def test_a_folder_tells_its_rounds_by_stream_and_counts_its_files(archive: Path) -> None:
    Eraser(archive).round("default", "T/u", 1)
    (archive / "default" / stream_dir("T/u") / "round_2.json").write_bytes(b"")
    found = check_folder(Survey(Volume(archive)), own_folder("default", "T/u"), now_ns=0)
    assert found.files == 3
    assert [(r.round, r.first_version, r.erased) for r in found.rounds["T/u"]] == [
        (3, 21, False),
        (1, 1, True),
    ]


def test_a_folder_that_is_missing_holds_nothing_and_a_missing_archive_is_told(
    archive: Path,
) -> None:
    found = check_folder(Survey(Volume(archive)), own_folder("default", "none"), now_ns=0)
    assert (found.files, found.findings, found.readable) == (0, [], True)
    with pytest.raises(ArchiveMissing):
        list(check_archive(Survey(Volume(archive / "none")), now_ns=0))
