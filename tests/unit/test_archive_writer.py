"""Publishing rounds on a healthy disk."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from archive import (
    FileArchiveReader,
    FileArchiveWriter,
    PublicationConflict,
    Published,
    RoundRecord,
)
from archive.errors import InvalidRound
from archive.failures import UnsafePath
from archive.files import Modes
from archive.layout import TEMP_PREFIX, stream_dir
from archive.record_json import Tombstone, record_to_bytes, tombstone_to_bytes
from streams.errors import UsageError

START = datetime(2026, 1, 1, tzinfo=UTC)


def record(number: int, stream: str = "s", **changes: object) -> RoundRecord:
    """Round `number` of ten events each."""
    whole = RoundRecord(
        number,
        "implement",
        f"round {number} of {stream}",
        stream_id=stream,
        tenant_id="default",
        first_version=number * 10 - 9,
        last_version=number * 10,
        event_count=10,
        ended_at=START + timedelta(minutes=number),
        events_digest=f"{number:02d}" * 32,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def files(archive: Path) -> list[str]:
    return sorted(str(path.relative_to(archive)) for path in archive.rglob("*") if path.is_file())


def test_a_round_lands_in_its_streams_folder(tmp_path):
    published = FileArchiveWriter(tmp_path).record(record(1))
    assert published == Published(
        1, 0, 10, "written", written_bytes=len(record_to_bytes(record(1)))
    )
    assert (tmp_path / "default/s/round_1.json").read_bytes() == record_to_bytes(record(1))
    assert files(tmp_path) == ["default/s/round_1.json"]


def test_each_tenant_has_a_folder_of_its_own(tmp_path):
    FileArchiveWriter(tmp_path, tenant="acme").record(replace(record(1), tenant_id="acme"))
    assert files(tmp_path) == ["acme/s/round_1.json"]


def test_a_record_that_names_no_tenant_gets_the_writers(tmp_path):
    FileArchiveWriter(tmp_path, tenant="acme").record(replace(record(1), tenant_id=""))
    assert FileArchiveReader(tmp_path).read("s", 1).tenant_id == "acme"


@pytest.mark.parametrize(
    "stream", ["../../x", "/etc/x", "..", "a/b", "a\0b", "", "é" * 130, "x\ny"]
)
def test_no_id_leads_out_of_the_archive_and_each_is_found_again(tmp_path, stream):
    archive = tmp_path / "archive"
    FileArchiveWriter(archive).record(record(1, stream))
    assert files(tmp_path) == [f"archive/default/{stream_dir(stream)}/round_1.json"]
    assert FileArchiveReader(archive).read(stream, 1).stream_id == stream


def test_the_same_round_twice_is_one_file_and_a_success(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(1))
    assert writer.record(record(1)) == Published(1, 0, 10, "found")
    assert files(tmp_path) == ["default/s/round_1.json"]


def test_whoever_published_first_wins_whichever_release_wrote_it(tmp_path):
    FileArchiveWriter(tmp_path).record(record(1))
    FileArchiveWriter(tmp_path).record(record(1, summary="extracted otherwise"))
    assert FileArchiveReader(tmp_path).read("s", 1) == record(1)


def test_another_round_under_the_same_number_is_a_conflict_and_changes_nothing(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(1))
    with pytest.raises(PublicationConflict) as raised:
        writer.record(record(1, events_digest="ff" * 32))
    assert (raised.value.stream, raised.value.round, raised.value.highest) == ("s", 1, 1)
    assert FileArchiveReader(tmp_path).read("s", 1) == record(1)


def test_a_confirmed_conflict_is_kept_aside_in_a_new_epoch(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(1))
    fork = record(1, events_digest="ff" * 32)
    published = writer.record(fork, confirmed=True)
    assert (published.round, published.epoch, published.forked) == (2, 1, True)
    assert FileArchiveReader(tmp_path).read("s", 1) == record(1)
    assert FileArchiveReader(tmp_path).read("s", 2) == replace(fork, round=2, epoch=1)


def test_the_same_events_cut_otherwise_are_adopted(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(1, last_version=25, events_digest="long"))
    published = writer.record(record(1), confirmed=True, digest_of=lambda first, last: "long")
    assert published == Published(1, 0, 25, "adopted")
    assert files(tmp_path) == ["default/s/round_1.json"]


def test_a_batch_answers_in_order_and_each_stream_stays_in_order(tmp_path):
    batch = [record(n, stream) for n in (1, 2, 3) for stream in ("a", "b", "c")]
    results = FileArchiveWriter(tmp_path).record_many(batch)
    assert [r.round for r in results] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert FileArchiveReader(tmp_path).list("b") == [1, 2, 3]


def test_a_batch_of_more_than_one_chunk_is_published_whole(tmp_path):
    batch = [record(n, stream) for n in range(1, 51) for stream in "abcde"]
    results = FileArchiveWriter(tmp_path, max_rounds=0).record_many(batch)
    assert all(isinstance(result, Published) for result in results)
    assert len(files(tmp_path)) == 250


def test_in_a_batch_a_conflict_stops_its_stream_and_no_other(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(2, "a", events_digest="ff" * 32))
    results = writer.record_many([record(1, "a"), record(1, "b"), record(2, "a"), record(2, "b")])
    assert [type(result) for result in results] == [
        PublicationConflict,
        Published,
        PublicationConflict,
        Published,
    ]
    assert files(tmp_path / "default/a") == ["round_2.json"]


def test_in_a_batch_rounds_behind_one_found_elsewhere_wait_for_the_state(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(1, epoch=3))
    results = writer.record_many([record(1), record(2)])
    assert results[0] == Published(1, 3, 10, "found")
    assert isinstance(results[1], PublicationConflict)


def test_a_round_number_below_one_is_refused(tmp_path):
    with pytest.raises(InvalidRound):
        FileArchiveWriter(tmp_path).record(record(0))


def test_text_without_a_utf8_form_fails_alone(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    results = writer.record_many([record(1), record(1, "t", summary="\ud800"), record(2)])
    assert [isinstance(result, UsageError) for result in results] == [False, True, False]


@pytest.mark.parametrize("arguments", [{"max_rounds": -1}, {"tenant": "../x"}, {"directory": ""}])
def test_settings_that_make_no_sense_are_refused(tmp_path, arguments):
    with pytest.raises(UsageError):
        FileArchiveWriter(**{"directory": tmp_path, **arguments})


def test_the_newest_rounds_of_each_stream_stay(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=3)
    for number in range(1, 8):
        writer.record(record(number, "a"))
    writer.record_many([record(number, "b") for number in range(1, 6)])
    reader = FileArchiveReader(tmp_path)
    assert (reader.list("a"), reader.list("b")) == ([5, 6, 7], [3, 4, 5])


def test_rotation_is_told_with_the_round_that_caused_it(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=2)
    results = writer.record_many([record(number) for number in range(1, 5)])
    assert [result.rotated for result in results] == [0, 0, 0, 2]


def test_rotation_sees_what_another_writer_erased_or_removed(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=3)
    for number in range(1, 5):
        writer.record(record(number))
    erased = tombstone_to_bytes(Tombstone(2, record(2).identity))
    (tmp_path / "default/s/round_2.json").write_bytes(erased)
    writer.record(record(5))
    assert (tmp_path / "default/s/round_2.json").read_bytes() == erased
    assert FileArchiveReader(tmp_path).list("s") == [3, 4, 5]


def test_a_replayed_round_that_rotated_away_asks_for_the_state(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=2)
    writer.record_many([record(number) for number in range(1, 6)])
    with pytest.raises(PublicationConflict):
        FileArchiveWriter(tmp_path, max_rounds=2).record(record(2))


def test_a_replay_past_a_damaged_round_repeats_none_of_those_behind_it(tmp_path):
    """Redis was restored to round 2, round 3 is damaged: 3 is stored anew, 4 to 6 are found."""
    FileArchiveWriter(tmp_path).record_many([record(number) for number in range(1, 7)])
    (tmp_path / "default/s/round_3.json").write_bytes(b"")
    rounds, placed = 2, []
    for number in range(3, 8):
        writer = FileArchiveWriter(tmp_path)  # any worker of the fleet takes the next round
        candidate = replace(record(number), round=rounds + 1)
        try:
            published = writer.record(candidate)
        except PublicationConflict:
            published = writer.record(candidate, confirmed=True)
        rounds = max(rounds, published.round)
        placed.append((published.how, published.round))
    assert placed == [("written", 7), ("found", 4), ("found", 5), ("found", 6), ("written", 8)]


@pytest.mark.parametrize("umask", [0, 0o077, 0o177, 0o377])
def test_modes_are_as_set_whatever_the_umask(tmp_path, umask):
    """Also those of the archive's directory, and of what was missing above it."""
    before = os.umask(umask)
    try:
        FileArchiveWriter(tmp_path / "above/a").record(record(1))
        FileArchiveWriter(tmp_path / "b", modes=Modes(0o644, 0o755)).record(record(1))
    finally:
        os.umask(before)

    def mode(path: str) -> int:
        return stat.S_IMODE((tmp_path / path).stat().st_mode)

    folders = ("above", "above/a", "above/a/default", "above/a/default/s")
    assert [mode(folder) for folder in folders] == [0o750] * 4
    assert mode("above/a/default/s/round_1.json") == 0o640
    assert [mode(folder) for folder in ("b", "b/default", "b/default/s")] == [0o755] * 3
    assert mode("b/default/s/round_1.json") == 0o644


def test_a_shared_folder_hands_its_group_on(tmp_path):
    tenant = tmp_path / "default"
    tenant.mkdir()
    tenant.chmod(0o2750)
    FileArchiveWriter(tmp_path).record(record(1))
    assert (tenant / "s").stat().st_mode & stat.S_ISGID


@pytest.mark.parametrize("level", ["default", "default/s"])
def test_a_link_in_place_of_a_folder_is_refused_and_never_written_through(tmp_path, level):
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    outside.mkdir()
    (archive / level).parent.mkdir(parents=True)
    (archive / level).symlink_to(outside)
    with pytest.raises(UnsafePath):
        FileArchiveWriter(archive).record(record(1))
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_one_streams_folder_harms_no_other_stream(tmp_path):
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    outside.mkdir()
    (archive / "default").mkdir(parents=True)
    (archive / "default/s").symlink_to(outside)
    results = FileArchiveWriter(archive).record_many([record(1), record(1, "t")])
    assert isinstance(results[0], UnsafePath)
    assert isinstance(results[1], Published)


def test_a_link_in_place_of_a_round_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(record_to_bytes(record(1)))
    folder = tmp_path / "archive/default/s"
    folder.mkdir(parents=True)
    (folder / "round_1.json").symlink_to(secret)
    published = FileArchiveWriter(tmp_path / "archive").record(record(1), confirmed=True)
    assert published.round == 2
    assert secret.read_bytes() == record_to_bytes(record(1))


def test_leftovers_of_a_dead_worker_are_swept_and_those_of_a_living_one_are_not(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(record(1))
    old, young = (tmp_path / f"default/s/{TEMP_PREFIX}{name}" for name in ("old", "young"))
    for leftover in (old, young):
        leftover.write_bytes(b"{")
    two_hours_ago = old.stat().st_mtime - 7_200
    os.utime(old, (two_hours_ago, two_hours_ago))
    writer.record(record(2))
    assert (old.exists(), young.exists()) == (False, True)


def test_many_writers_of_the_same_rounds_leave_each_once(tmp_path):
    rounds = [record(n, stream) for n in range(1, 21) for stream in ("a", "b", "c")]
    gate = threading.Barrier(4)
    answers: list[list[object]] = []

    def work() -> None:
        writer = FileArchiveWriter(tmp_path)
        gate.wait()
        answers.append([writer.record(item).round for item in rounds])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[item.round for item in rounds]] * 4
    assert len(files(tmp_path)) == 60
    assert all(
        (tmp_path / f"default/{item.stream_id}/round_{item.round}.json").read_bytes()
        == record_to_bytes(item)
        for item in rounds
    )


def test_writers_of_different_rounds_never_replace_each_others(tmp_path):
    gate = threading.Barrier(4)
    placed: dict[str, int] = {}

    def work(name: str) -> None:
        writer = FileArchiveWriter(tmp_path)
        gate.wait()
        for number in range(1, 11):
            ours = record(number, summary=name, events_digest=f"{name}{number}")
            while True:
                try:
                    placed[f"{name}{number}"] = writer.record(ours, confirmed=True).round
                    break
                except PublicationConflict:
                    continue

    threads = [threading.Thread(target=work, args=(name,)) for name in "wxyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(placed.values()) == list(range(1, 41))
    reader = FileArchiveReader(tmp_path)
    assert all(reader.read("s", n).events_digest == name for name, n in placed.items())
