"""The index as a file: refreshed, damaged, shared, and never a place where text survives."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from archive import FileArchiveWriter, RoundRecord
from archive.erase import Eraser
from archive.failures import IndexUnusable
from archive.recall import index_refresh
from archive.recall.index import RecallIndex
from archive.recall.query import EVERYTHING, Filters, parse_pattern, parse_query
from archive.recall.search import Recall
from archive.storage.layout import index_name
from archive.storage.volume import Volume
from archive.survey import Survey

PROJECT = Path(__file__).parents[2]


def record(number: int, stream: str = "s", summary: str = "the fox") -> RoundRecord:
    return RoundRecord(
        number,
        "fix",
        summary,
        stream_id=stream,
        tenant_id="default",
        first_version=number,
        last_version=number,
        ended_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number),
        events_digest=f"{stream}{number}",
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    FileArchiveWriter(tmp_path / "archive").record_many([record(n) for n in (1, 2, 3)])
    return tmp_path / "archive"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def look(archive: Path, cache: Path, text: str = "fox") -> list[int]:
    return [f.record.round for f in Recall(archive, cache=cache).query(parse_query(text))]


def age(archive: Path) -> None:
    """Make every folder look as if it had last changed long ago."""
    for folder in (archive / "default").iterdir():
        os.utime(folder, (1_700_000_000, 1_700_000_000))


def count_reads(archive: Path, cache: Path, text: str) -> int:
    """Rounds taken into the index by one query."""
    taken = [0]

    def progress(count: int) -> None:
        taken[0] = count

    list(Recall(archive, cache=cache).query(parse_query(text), progress=progress))
    return taken[0]


def test_the_index_is_made_once_and_then_takes_in_only_what_is_new(archive, cache):
    assert count_reads(archive, cache, "fox") == 3
    assert count_reads(archive, cache, "fox") == 0
    FileArchiveWriter(archive).record(record(4))
    assert count_reads(archive, cache, "fox") == 1
    assert look(archive, cache) == [4, 3, 2, 1]


def test_only_its_owner_may_read_the_index(archive, tmp_path):
    cache = tmp_path / "home/.cache/ares-worker"
    before = os.umask(0)
    try:
        look(archive, cache)
    finally:
        os.umask(before)
    for folder in (cache, cache.parent, cache.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in cache.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_edited_by_hand_is_noticed_though_its_folder_looks_unchanged(archive, cache):
    age(archive)
    look(archive, cache)
    path = archive / "default/s/round_2.json"
    path.write_text(path.read_text().replace("the fox", "a badger"))
    age(archive)
    assert look(archive, cache) == [3, 1]
    assert look(archive, cache, "badger") == [2]


def test_rounds_alike_in_time_and_number_are_in_the_order_of_their_folders_with_a_limit_too(
    archive, cache
):
    """ARES's rounds name no time; a new folder may stand before those indexed long ago."""

    def write(stream: str) -> None:
        folder = archive / stream
        folder.mkdir()
        (folder / "round_1.json").write_text('{"round": 1, "summary": "an owl"}')

    for number in range(520):
        write(f"b{number:03}")
    look(archive, cache)
    write("a")
    for asked in (Recall(archive, cache=cache), Recall(archive)):
        found = asked.query(parse_query("owl"), limit=2)
        assert [item.stream for item in found] == ["a", "b000"]


def test_a_limit_asks_for_the_newest_first_among_many(archive, cache):
    FileArchiveWriter(archive, 0).record_many([record(n, "many") for n in range(1, 521)])
    for query in (parse_query("fox"), EVERYTHING):
        for limit in (1, 499, 501):
            found = Recall(archive, cache=cache).query(query, limit=limit)
            plain = Recall(archive).query(query, limit=limit)
            assert [f.place for f in found] == [f.place for f in plain]


def test_an_erased_round_is_absent_at_once_and_its_text_leaves_the_index(archive, cache):
    FileArchiveWriter(archive).record(record(4, summary="the xylophone secret"))
    assert look(archive, cache, "xylophone") == [4]
    Eraser(archive).round("default", "s", 4)
    assert look(archive, cache, "xylophone") == []
    assert look(archive, cache) == [3, 2, 1]
    for path in cache.iterdir():
        assert b"xylophone" not in path.read_bytes()
    with sqlite3.connect(cache / index_name(archive)) as db:
        grams = "SELECT count(*) FROM grams WHERE grams MATCH '\"xyl\"'"
        assert db.execute(grams).fetchone() == (0,)


def test_an_erasure_can_be_taken_into_the_index_without_a_query(archive, cache):
    FileArchiveWriter(archive).record(record(4, summary="the xylophone secret"))
    assert not Recall(archive, cache=cache).refresh()
    look(archive, cache)
    Eraser(archive).round("default", "s", 4)
    assert Recall(archive, cache=cache).refresh()
    for path in cache.iterdir():
        assert b"xylophone" not in path.read_bytes()
    assert not Recall(archive).refresh()


def test_a_damaged_index_that_is_to_be_refreshed_is_thrown_away(archive, cache):
    look(archive, cache)
    (cache / index_name(archive)).write_bytes(b"x" * 5_000)
    assert Recall(archive, cache=cache).refresh()
    assert list(cache.iterdir()) == []


DAMAGES = {
    "emptied": lambda data: b"",
    "not a database": lambda data: b"x" * 5_000,
    "header lost": lambda data: b"\0" * 100 + data[100:],
    "cut in half": lambda data: data[: len(data) // 2],
    "pages overwritten": lambda data: data[:4096] + b"\xff" * (len(data) - 4096),
    "another release's": None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew_and_the_answer_is_right(archive, cache, damage):
    look(archive, cache)
    path = cache / index_name(archive)
    change = DAMAGES[damage]
    if change is None:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
    else:
        path.write_bytes(change(path.read_bytes()))
    assert look(archive, cache) == [3, 2, 1]
    assert count_reads(archive, cache, "fox") == 0


def test_more_words_than_sql_takes_do_no_harm_to_the_index(archive, cache, monkeypatch):
    monkeypatch.setattr("archive.recall.search._drop", lambda path: pytest.fail("thrown away"))
    words = " ".join(f"w{number}" for number in range(3_000))
    FileArchiveWriter(archive).record(record(4, summary=f"the fox {words}"))
    assert look(archive, cache, f"fox {words}") == [4]
    assert look(archive, cache, f"fox {words} badger") == []


@pytest.mark.parametrize("obstacle", ["a file in its place", "a folder in its place"])
def test_where_no_index_can_be_kept_the_files_answer(archive, cache, obstacle):
    if obstacle == "a file in its place":
        cache.write_text("")
    else:
        (cache / index_name(archive)).mkdir(parents=True)
    assert look(archive, cache) == [3, 2, 1]


def test_while_another_reader_builds_the_files_answer(archive, cache):
    look(archive, cache)
    FileArchiveWriter(archive).record(record(4))
    with sqlite3.connect(cache / index_name(archive), isolation_level=None) as builder:
        builder.execute("BEGIN IMMEDIATE")
        assert look(archive, cache) == [4, 3, 2, 1]
        builder.execute("ROLLBACK")
    assert look(archive, cache) == [4, 3, 2, 1]


def test_many_readers_at_once_each_get_the_whole_answer(archive, cache):
    FileArchiveWriter(archive).record_many([record(n, "t") for n in range(1, 201)])
    gate = threading.Barrier(6)
    answers: list[int] = []

    def read() -> None:
        gate.wait()
        answers.extend(len(look(archive, cache)) for _ in range(3))

    readers = [threading.Thread(target=read) for _ in range(6)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert answers == [203] * 18


@pytest.mark.parametrize("gone", ["a round", "its whole stream"])
def test_what_another_reader_takes_out_of_the_index_meanwhile_stops_no_reader(archive, cache, gone):
    FileArchiveWriter(archive).record_many([record(n, "t") for n in (4, 5)])
    busy = Recall(archive, cache=cache).query(parse_query("fox"))
    assert next(busy).record.round == 5
    if gone == "a round":
        (archive / "default/s/round_2.json").unlink()
    else:
        shutil.rmtree(archive / "default/s")

    look(archive, cache)

    left = [4, 3, 1] if gone == "a round" else [4]
    assert [found.record.round for found in busy] == left


def test_a_folder_whose_row_another_reader_gave_away_is_not_dropped(archive, cache):
    """SQLite uses the numbers of rows again."""
    look(archive, cache)
    shutil.rmtree(archive / "default/s")
    survey = Survey(Volume(archive))

    class Slow(Survey):
        """Another reader does it all, and indexes a new stream, before this one drops a folder."""

        def stamps(self, report):
            yield from Survey.stamps(self, report)
            other = RecallIndex(cache / index_name(archive))
            other.refresh(survey, report)
            FileArchiveWriter(archive).record(record(7, "new"))
            other.refresh(survey, report)
            other.close()

    index = RecallIndex(cache / index_name(archive))
    index.refresh(Slow(Volume(archive)), print)
    found = index.candidates(parse_query("fox"), Filters(), tenants=(), limit=None)
    assert [place.path for place in found] == ["default/new/round_7.json"]
    index.close()


def test_no_reader_takes_in_a_folder_that_another_has_listed_and_not_taken_in(
    archive, cache, monkeypatch
):
    """Else the older listing would take out what the newer one has put in."""
    look(archive, cache)
    FileArchiveWriter(archive).record(record(4))
    other = RecallIndex(cache / index_name(archive))
    refused: list[IndexUnusable] = []
    files = index_refresh._files

    def held_up(opened):
        listed = list(files(opened))
        if not refused:
            with pytest.raises(IndexUnusable) as caught:
                other.refresh(Survey(Volume(archive)), print)
            refused.append(caught.value)
        return iter(listed)

    monkeypatch.setattr(index_refresh, "_files", held_up)
    assert look(archive, cache) == [4, 3, 2, 1]
    assert not refused[0].damaged
    other.close()


def test_a_folder_out_of_reach_is_not_taken_for_gone(archive, cache):
    look(archive, cache)
    hidden = archive.parent / "hidden"
    (archive / "default").rename(hidden)
    (archive / "default").symlink_to(hidden)
    assert look(archive, cache) == []
    (archive / "default").unlink()
    hidden.rename(archive / "default")
    assert count_reads(archive, cache, "fox") == 0
    assert look(archive, cache) == [3, 2, 1]


def test_a_tenants_reader_leaves_the_index_of_the_others_alone(archive, cache):
    FileArchiveWriter(archive, tenant="acme").record(record(1, "u"))
    look(archive, cache)
    only = Recall(archive, tenants=["acme"], cache=cache)
    assert [found.stream for found in only.query(parse_query("fox"))] == ["u"]
    assert count_reads(archive, cache, "fox") == 0


def test_patterns_and_single_streams_are_read_from_the_files(archive, cache):
    recall = Recall(archive, cache=cache)
    assert len(list(recall.query(parse_pattern("f.x")))) == 3
    assert len(list(recall.query(EVERYTHING, Filters(streams=("s",))))) == 3
    assert not cache.exists()


def test_recall_is_imported_without_what_is_slow_to_import():
    code = (
        "import archive.recall.search, archive.recall.index, archive.recall.render, sys;"
        "import archive.recall.export;"
        "print([m for m in ('redis', 'pydantic', 'asyncio', 'fakeredis') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
