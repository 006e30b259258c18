"""Many rounds in one call, and many writers at once: in order, each once, none replaced."""

from __future__ import annotations

import threading

from archive import (
    FileArchiveReader,
    FileArchiveWriter,
    PublicationConflict,
    Published,
)
from archive.record_json import record_to_bytes
from streams.errors import UsageError
from support.rounds import a_round, files


def test_a_batch_answers_in_order_and_each_stream_stays_in_order(tmp_path):
    batch = [a_round(n, stream) for n in (1, 2, 3) for stream in ("a", "b", "c")]
    results = FileArchiveWriter(tmp_path).record_many(batch)
    assert [r.round for r in results] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert FileArchiveReader(tmp_path).list("b") == [1, 2, 3]


def test_a_batch_of_more_than_one_chunk_is_published_whole(tmp_path):
    batch = [a_round(n, stream) for n in range(1, 51) for stream in "abcde"]
    results = FileArchiveWriter(tmp_path, max_rounds=0).record_many(batch)
    assert all(isinstance(result, Published) for result in results)
    assert len(files(tmp_path)) == 250


def test_in_a_batch_a_conflict_stops_its_stream_and_no_other(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(2, "a", events_digest="ff" * 32))
    results = writer.record_many([a_round(n, stream) for n in (1, 2) for stream in ("a", "b")])
    assert [type(result) for result in results] == [
        PublicationConflict,
        Published,
        PublicationConflict,
        Published,
    ]
    assert files(tmp_path / "default/a") == ["round_2.json"]


def test_in_a_batch_rounds_behind_one_found_elsewhere_wait_for_the_state(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    writer.record(a_round(1, epoch=3))
    results = writer.record_many([a_round(1), a_round(2)])
    assert results[0] == Published(1, 3, 10, "found")
    assert isinstance(results[1], PublicationConflict)


def test_text_without_a_utf8_form_fails_alone(tmp_path):
    writer = FileArchiveWriter(tmp_path)
    results = writer.record_many([a_round(1), a_round(1, "t", summary="\ud800"), a_round(2)])
    assert [isinstance(result, UsageError) for result in results] == [False, True, False]


def test_rotation_is_told_with_the_round_that_caused_it(tmp_path):
    writer = FileArchiveWriter(tmp_path, max_rounds=2)
    for number in (1, 2):
        writer.record(a_round(number))
    results = writer.record_many([a_round(3), a_round(4)])
    assert [(result.rotated, result.overdue) for result in results] == [(0, False), (2, False)]


def test_many_writers_of_the_same_rounds_leave_each_once(tmp_path):
    rounds = [a_round(n, stream) for n in range(1, 21) for stream in ("a", "b", "c")]
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
            ours = a_round(number, summary=name, events_digest=f"{name}{number}")
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
