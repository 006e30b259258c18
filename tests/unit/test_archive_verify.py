"""The promises of the archive and of a stream, checked on facts and on files."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from archive import FileArchiveWriter, RoundRecord
from archive.erase import Eraser
from archive.layout import TEMP_PREFIX
from archive.publication import StoredRound
from archive.record import RoundIdentity
from archive.survey import Survey
from archive.verify import StreamFacts, StreamState, check_rounds, check_stream
from archive.verify_files import check_archive, stored_rounds
from archive.volume import Volume

DAY_NS = 24 * 3_600_000_000_000


def stored(number: int, first: int, last: int, *, epoch: int = 0, digest: str = "") -> StoredRound:
    identity = RoundIdentity("s", first, last, digest or f"{number:02d}" * 32)
    return StoredRound(number, identity, epoch, ended_us=number)


HEALTHY = StreamFacts(
    stream="s",
    head=50,
    log_first=21,
    log_last=50,
    log_length=30,
    state=StreamState(
        archived_version=40, rounds=4, compacted_version=20, compacting_to=20, forgotten_version=5
    ),
    summaries=((6, 10), (11, 20)),
    archived=(stored(3, 21, 30), stored(4, 31, 40)),
    digests={(21, 30): "03" * 32, (31, 40): "04" * 32},
)


def test_a_healthy_stream_has_no_finding():
    assert check_stream(HEALTHY) == []


def test_a_new_stream_has_no_finding():
    assert check_stream(StreamFacts("s", 3, 1, 3, 3)) == []


def test_a_retired_stream_has_no_finding():
    state = StreamState(archived_version=50, rounds=5, compacted_version=50, forgotten_version=50)
    assert check_stream(StreamFacts("s", 50, 0, 0, 0, state)) == []


def broken_state(**changes: int) -> StreamFacts:
    return replace(HEALTHY, state=replace(HEALTHY.state, **changes))


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (replace(HEALTHY, log_length=29), "log"),
        (replace(HEALTHY, log_length=0, log_first=0, log_last=0), "log"),
        (replace(HEALTHY, log_last=51), "log"),
        (replace(HEALTHY, log_first=20), "log"),
        (replace(HEALTHY, log_breaks=(25,)), "log"),
        (broken_state(archived_version=19), "state"),
        (broken_state(forgotten_version=21), "state"),
        (broken_state(compacting_to=41), "state"),
        (broken_state(archived_version=60), "state"),
        (replace(HEALTHY, summaries=()), "summaries"),
        (replace(HEALTHY, summaries=((6, 10), (12, 20))), "summaries"),
        (replace(HEALTHY, summaries=((6, 10), (10, 20))), "summaries"),
        (replace(HEALTHY, summaries=((5, 10), (11, 20))), "summaries"),
        (replace(HEALTHY, archived=()), "not_in_archive"),
        (replace(HEALTHY, archived=(stored(3, 21, 30),)), "not_in_archive"),
        (replace(HEALTHY, digests={(31, 40): "ff" * 32}), "digest_mismatch"),
    ],
)
def test_a_broken_promise_is_found(facts, kind):
    assert kind in [finding.kind for finding in check_stream(facts)]


def test_a_round_published_before_the_state_advanced_is_no_finding():
    assert check_stream(replace(HEALTHY, archived=(stored(4, 31, 40), stored(5, 41, 50)))) == []


def test_where_the_archive_was_not_looked_at_nothing_is_said_about_it():
    assert check_stream(replace(HEALTHY, archived=None)) == []


def kinds(rounds: list[StoredRound]) -> list[str]:
    return [finding.kind for finding in check_rounds("s", rounds)]


@pytest.mark.parametrize(
    ("rounds", "found"),
    [
        ([stored(1, 1, 10), stored(2, 11, 20)], []),
        ([stored(7, 61, 70), stored(8, 71, 80)], []),
        ([stored(4, 1, 10), stored(2, 11, 20)], []),
        ([stored(1, 1, 10), stored(3, 21, 30)], ["gap"]),
        ([stored(1, 1, 10), stored(2, 10, 20)], ["overlap"]),
        ([stored(1, 1, 10), stored(2, 1, 10, digest="01" * 32)], ["duplicate"]),
        ([stored(1, 1, 10), stored(2, 5, 9, epoch=1)], ["fork"]),
        ([stored(1, 1, 10, digest="xyz")], ["bad_digest"]),
        ([StoredRound(1, None), stored(2, 11, 20)], []),
        ([StoredRound(1, RoundIdentity("s", 0, 0, ""))], []),
        ([replace(stored(1, 1, 10), erased=True), stored(9, 81, 90)], []),
    ],
)
def test_rounds_of_a_stream_follow_each_other_within_an_epoch(rounds, found):
    assert kinds(rounds) == found


def test_a_fork_is_worth_knowing_and_no_damage():
    (finding,) = check_rounds("s", [stored(1, 1, 10), stored(2, 5, 9, epoch=1)])
    assert finding.level == "note"


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


def check(archive: Path, *streams: str) -> list[tuple[str, str]]:
    now = (archive / "default").stat().st_mtime_ns
    found = check_archive(Survey(Volume(archive)), now_ns=now, streams=streams)
    return [(finding.kind, finding.path or finding.stream) for finding in found]


def test_a_healthy_archive_has_no_finding(archive):
    Eraser(archive).round("default", "s", 2)
    assert check(archive) == []


def test_a_rotated_archive_has_no_finding(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=2)
    writer.record_many([record(number) for number in range(1, 8)])
    assert check(tmp_path) == []


def test_a_lost_round_is_found_as_a_gap(archive):
    (archive / "default/s/round_2.json").unlink()
    assert check(archive) == [("gap", "s")]


def test_a_damaged_round_is_found_by_name_beside_the_gap_it_leaves(archive):
    (archive / "default/s/round_2.json").write_bytes(b"")
    assert check(archive) == [("damaged", f"{archive}/default/s/round_2.json"), ("gap", "s")]


def test_files_moved_by_hand_are_found(archive):
    folder = archive / "default/s"
    shutil.copy(folder / "round_3.json", folder / "round_4.json")
    assert check(archive, "s") == [("misnumbered", "default/s/round_4.json"), ("duplicate", "s")]


def test_a_round_in_another_streams_folder_is_found(archive):
    (archive / "default/v").mkdir()
    shutil.copy(archive / "default/s/round_1.json", archive / "default/v/round_1.json")
    assert check(archive) == [("misplaced", "default/v/round_1.json")]


def test_a_link_is_found(archive):
    (archive / "default/w").symlink_to(archive / "default/s")
    assert check(archive) == [("unsafe", f"{archive}/default/w")]


def test_leftovers_of_dead_workers_are_noted_and_those_of_living_ones_are_not(archive):
    for name, age_days in (("old", 2), ("young", 0)):
        path = archive / f"default/s/{TEMP_PREFIX}{name}"
        path.write_bytes(b"{")
        moment = (archive / "default").stat().st_mtime_ns - age_days * DAY_NS
        os.utime(path, ns=(moment, moment))
    assert check(archive) == [("leftover", f"default/s/{TEMP_PREFIX}old")]


def test_one_stream_alone_can_be_checked(archive):
    (archive / "default/s/round_2.json").unlink()
    assert check(archive, "T/u") == []


def test_what_the_archive_holds_of_a_stream_is_given_for_the_check_with_redis(archive):
    Eraser(archive).round("default", "T/u", 1)
    rounds = stored_rounds(Survey(Volume(archive)), "T/u")
    assert [(r.round, r.first_version, r.last_version, r.erased) for r in rounds] == [
        (3, 21, 30, False),
        (2, 11, 20, False),
        (1, 1, 10, True),
    ]
