"""Publishing rounds on a healthy disk: each once, the first one wins, the newest stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archive import (
    FileArchiveReader,
    FileArchiveWriter,
    PublicationConflict,
    Published,
)
from archive.errors import InvalidRound
from archive.record_json import Tombstone, record_to_bytes, tombstone_to_bytes
from streams.errors import UsageError
from support.rounds import a_round, files


def test_a_round_lands_in_its_streams_folder(tmp_path):
    published = FileArchiveWriter(tmp_path).record(a_round(1))
    assert published == Published(
        1, 0, 10, "written", written_bytes=len(record_to_bytes(a_round(1)))
    )
    assert (tmp_path / "default/s/round_1.json").read_bytes() == record_to_bytes(a_round(1))
    assert files(tmp_path) == ["default/s/round_1.json"]


def test_each_tenant_has_a_folder_of_its_own(tmp_path):
    FileArchiveWriter(tmp_path, tenant="acme").record(a_round(1, tenant_id="acme"))
    assert files(tmp_path) == ["acme/s/round_1.json"]


def test_a_record_that_names_no_tenant_gets_the_writers(tmp_path):
    FileArchiveWriter(tmp_path, tenant="acme").record(a_round(1, tenant_id=""))
    assert FileArchiveReader(tmp_path).read("s", 1).tenant_id == "acme"


def test_the_same_round_twice_is_one_file_and_a_success(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(1))
    assert writer.record(a_round(1)) == Published(1, 0, 10, "found")
    assert files(tmp_path) == ["default/s/round_1.json"]


def test_whoever_published_first_wins_whichever_release_wrote_it(tmp_path):
    FileArchiveWriter(tmp_path).record(a_round(1))
    FileArchiveWriter(tmp_path).record(a_round(1, summary="extracted otherwise"))
    assert FileArchiveReader(tmp_path).read("s", 1) == a_round(1)


def test_another_round_under_the_same_number_is_a_conflict_and_changes_nothing(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(1))
    with pytest.raises(PublicationConflict) as raised:
        writer.record(a_round(1, events_digest="ff" * 32))
    assert (raised.value.stream, raised.value.round, raised.value.highest) == ("s", 1, 1)
    assert FileArchiveReader(tmp_path).read("s", 1) == a_round(1)


def test_a_confirmed_conflict_is_kept_aside_in_a_new_epoch(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(1))
    fork = a_round(1, events_digest="ff" * 32)
    published = writer.record(fork, confirmed=True)
    assert (published.round, published.epoch, published.forked) == (2, 1, True)
    assert FileArchiveReader(tmp_path).read("s", 1) == a_round(1)
    assert FileArchiveReader(tmp_path).read("s", 2) == replace(fork, round=2, epoch=1)


def test_the_same_events_cut_otherwise_are_adopted(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(1, last_version=25, events_digest="long"))
    published = writer.record(a_round(1), confirmed=True, digest_of=lambda first, last: "long")
    assert published == Published(1, 0, 25, "adopted")
    assert files(tmp_path) == ["default/s/round_1.json"]


def test_a_round_number_below_one_is_refused(tmp_path):
    with pytest.raises(InvalidRound):
        FileArchiveWriter(tmp_path).record(a_round(0))


@pytest.mark.parametrize("arguments", [{"max_rounds": -1}, {"tenant": "../x"}, {"directory": ""}])
def test_settings_that_make_no_sense_are_refused(tmp_path, arguments):
    with pytest.raises(UsageError):
        FileArchiveWriter(**{"directory": tmp_path, **arguments})


def test_the_newest_rounds_of_each_stream_stay(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=3)
    for number in range(1, 8):
        writer.record(a_round(number, "a"))
    writer.record(a_round(1, "b"))
    reader = FileArchiveReader(tmp_path)
    assert (reader.list("a"), reader.list("b")) == ([5, 6, 7], [1])


@pytest.mark.parametrize("count", [5, 300])
def test_what_a_call_published_stays_until_its_last_round_is_recorded_again(tmp_path, count):
    """The stream's state doesn't know of it: after a crash the same call comes again."""
    for writer in (FileArchiveWriter(tmp_path, max_rounds=2) for _ in range(2)):
        results = writer.record_many([a_round(number) for number in range(1, count + 1)])
        assert results[-1].overdue
    assert {result.how for result in results} == {"found"}
    again = writer.record(a_round(count))
    assert (again.rotated, again.overdue) == (count - 2, False)
    assert FileArchiveReader(tmp_path).list("s") == [count - 1, count]


def test_rotation_sees_what_another_writer_erased_or_removed(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=3)
    for number in range(1, 5):
        writer.record(a_round(number))
    erased = tombstone_to_bytes(Tombstone(2, a_round(2).identity))
    (tmp_path / "default/s/round_2.json").write_bytes(erased)
    writer.record(a_round(5))
    assert (tmp_path / "default/s/round_2.json").read_bytes() == erased
    assert FileArchiveReader(tmp_path).list("s") == [3, 4, 5]


def test_a_replayed_round_that_rotated_away_asks_for_the_state(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=2)
    for number in range(1, 6):
        writer.record(a_round(number))
    with pytest.raises(PublicationConflict):
        FileArchiveWriter(tmp_path, max_rounds=2).record(a_round(2))


def test_a_replay_past_a_damaged_round_repeats_none_of_those_behind_it(tmp_path):
    """Redis was restored to round 2, round 3 is damaged: 3 is stored anew, 4 to 6 are found."""
    FileArchiveWriter(tmp_path).record_many([a_round(number) for number in range(1, 7)])
    (tmp_path / "default/s/round_3.json").write_bytes(b"")
    rounds, placed = 2, []
    for number in range(3, 8):
        writer = FileArchiveWriter(tmp_path)  # any worker of the fleet takes the next round
        candidate = replace(a_round(number), round=rounds + 1)
        try:
            published = writer.record(candidate)
        except PublicationConflict:
            published = writer.record(candidate, confirmed=True)
        rounds = max(rounds, published.round)
        placed.append((published.how, published.round))
    assert placed == [("written", 7), ("found", 4), ("found", 5), ("found", 6), ("written", 8)]
