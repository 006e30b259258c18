"""The archive: publishing against bare fsyncs, recall over 100,000 rounds in 1,000 streams."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from archive import FileArchiveWriter, RoundRecord
from archive.recall.processes import usable_processors
from archive.recall.query import Query, parse_query
from archive.recall.search import Recall
from archive.record import Check, FileChange, Verdict
from archive.record_json import record_to_bytes
from archive.storage.layout import index_name
from bench.measure import Bench, Row, Stopwatch, interleaved, peak_mib

PROJECT = Path(__file__).parents[2]
START = datetime(2026, 1, 1, tzinfo=UTC)
RARE = "needleinhaystack"
FOLDERS = 50
PER_STREAM = 100


async def rows(bench: Bench) -> AsyncIterator[Row]:
    """Publishing, then recall."""
    yield await publish_row(bench)
    archive = bench.folder / "recall-archive"
    total = fill(archive, bench.count(1_000, least=20))
    recall = Recall(archive, cache=bench.folder / "recall-cache")
    with Stopwatch() as watch:
        list(recall.query(parse_query(RARE)))
    yield Row(
        f"recall: first index of {total:,} rounds", "rounds/s", watch.rate(total), at_least=2_500
    )
    yield warm_row(bench, archive, recall, [RARE], "rare word")
    yield warm_row(bench, archive, recall, ["the", "worker keeps", "src/", RARE, "qzx"], "mixed")
    yield command_row(bench, archive, RARE, "3 characters or more", at_most=250)
    yield command_row(bench, archive, "q7", "two characters", at_most=600)
    yield refresh_row(archive, recall)
    yield await scan_row(archive)
    for row in memory_rows(bench, archive, total):
        yield row


async def publish_row(bench: Bench) -> Row:
    """Files a second made durable, in batches as the archiver makes them."""
    count = bench.count(2_000, least=256)
    runs = itertools.count()

    def ours() -> float:
        writer = FileArchiveWriter(bench.folder / f"publish-{next(runs)}")
        records = [
            record(stream, number)
            for number in range(1, count // FOLDERS + 1)
            for stream in range(FOLDERS)
        ]
        with Stopwatch() as watch:
            for start in range(0, len(records), 128):
                results = writer.record_many(records[start : start + 128])
                assert not any(isinstance(result, Exception) for result in results)
        writer.close()
        return watch.rate(len(records))

    def floor() -> float:
        folder = bench.folder / f"floor-{next(runs)}"
        folders = [folder / str(n) for n in range(FOLDERS)]
        for each in folders:
            each.mkdir(parents=True)
        data = record_to_bytes(record(1, 1))

        def one(number: int) -> None:
            write_durably(folders[number % FOLDERS], number, data)

        with Stopwatch() as watch, ThreadPoolExecutor(8) as pool:
            list(pool.map(one, range(count)))
        return watch.rate(count)

    rate, bare = await interleaved(ours, floor)
    note = "floor: 8 threads of write + fsync + rename + fsync folder"
    return Row("archive: publish rounds", "files/s", rate, bare, at_least=0.45, note=note)


def write_durably(folder: Path, number: int, data: bytes) -> None:
    """The least a durable file costs."""
    draft = folder / f".{number}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
    os.write(handle, data)
    os.fsync(handle)
    os.close(handle)
    draft.rename(folder / f"{number}.json")
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def vocabulary() -> tuple[list[str], list[float]]:
    """Words as in prose: few are common, most are rare; and how often each is used."""
    chance = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    weights = [1 / (place + 3) for place in range(len(letters))]
    made = [
        "".join(chance.choices(letters, weights, k=chance.randint(2, 10))) for _ in range(8_000)
    ]
    common = ["the", "worker", "keeps", "round", "test", "fails", "src", "parse"]
    every = [*common, *made]
    return every, list(itertools.accumulate(1 / (place + 1) for place in range(len(every))))


WORDS, WEIGHTS = vocabulary()


def words(chance: random.Random, count: int) -> str:
    """So many of them."""
    return " ".join(chance.choices(WORDS, cum_weights=WEIGHTS, k=count))


def record(stream: int, number: int, summary: str = "") -> RoundRecord:
    """Round `number` of a stream: about 1.6 kB."""
    chance = random.Random(stream * 100_000 + number)
    ended = START + timedelta(minutes=37 * number, seconds=stream % 60, microseconds=stream)
    return RoundRecord(
        number,
        "fix",
        summary or words(chance, 18),
        files=tuple(
            FileChange(f"src/{words(chance, 1)}.py", 3, 1, words(chance, 6)) for _ in "abc"
        ),
        verdict=Verdict(checks=(Check("test", "pytest", "pass"),)),
        todos=(words(chance, 10),),
        decisions=(words(chance, 12), words(chance, 12)),
        refs={"commit": f"{chance.getrandbits(160):040x}", "pr": f"#{chance.randint(1, 9_999)}"},
        stream_id=f"stream-{stream}",
        tenant_id="default",
        first_version=20 * number - 19,
        last_version=20 * number,
        event_count=20,
        started_at=ended,
        ended_at=ended,
        events_digest=f"{chance.getrandbits(256):064x}",
    )


def fill(archive: Path, streams: int) -> int:
    """Write an archive without fsyncs; returns how many rounds it holds."""
    for stream in range(streams):
        folder = archive / f"default/stream-{stream}"
        folder.mkdir(parents=True)
        for number in range(1, PER_STREAM + 1):
            found = RARE if (stream, number) == (streams // 2, 50) else ""
            (folder / f"round_{number}.json").write_bytes(
                record_to_bytes(record(stream, number, found))
            )
    return streams * PER_STREAM


def warm_row(bench: Bench, archive: Path, recall: Recall, texts: list[str], what: str) -> Row:
    """Milliseconds of one query in process, the newest 20, the index up to date."""
    turns = max(9, 45 // len(texts))
    took: list[float] = []
    for text in texts * turns:
        with Stopwatch() as watch:
            list(recall.query(parse_query(text), limit=20))
        took.append(watch.seconds * 1_000)
    note = (
        f"FTS5 alone {fts_alone(bench, archive):.1f} ms; p95 {sorted(took)[-len(took) // 20]:.0f}"
    )
    return Row(
        f"recall: warm query, {what}, p50", "ms", statistics.median(took), at_most=30, note=note
    )


def fts_alone(bench: Bench, archive: Path) -> float:
    """Milliseconds of the bare trigram query for the rare word."""
    grams = " ".join(f'"{RARE[i : i + 3]}"' for i in range(len(RARE) - 2))
    with sqlite3.connect(bench.folder / "recall-cache" / index_name(archive)) as db:
        took = []
        for _ in range(9):
            with Stopwatch() as watch:
                db.execute("SELECT rowid FROM grams WHERE grams MATCH ?", (grams,)).fetchall()
            took.append(watch.seconds * 1_000)
    return statistics.median(took)


def command_row(bench: Bench, archive: Path, text: str, what: str, *, at_most: float) -> Row:
    """Milliseconds of the whole command, from start to exit."""
    took = []
    for _ in range(7):
        with Stopwatch() as watch:
            run_command(bench, archive, "query", text, "--limit", "20")
        took.append(watch.seconds * 1_000)
    return Row(
        f"recall: whole command, {what}, p50", "ms", statistics.median(took), at_most=at_most
    )


def run_command(bench: Bench, archive: Path, *arguments: str) -> None:
    """`ares-worker recall …` with the index of this run."""
    cache = bench.folder / "xdg"
    (cache).mkdir(exist_ok=True)
    link = cache / "ares-worker"
    if not link.exists():
        link.symlink_to(bench.folder / "recall-cache")
    command = [sys.executable, "-m", "worker.cli", "--archive-dir", str(archive), "recall"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=PROJECT,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()


def refresh_row(archive: Path, recall: Recall) -> Row:
    """Seconds of a query that first takes in 100 new rounds in 100 streams."""
    streams = len(list((archive / "default").iterdir()))
    for number in range(100):
        new = record(number % streams, PER_STREAM + 1 + number // streams, f"fresh {number}")
        path = archive / f"default/{new.stream_id}/round_{new.round}.json"
        path.write_bytes(record_to_bytes(new))
    with Stopwatch() as watch:
        found = list(recall.query(parse_query("fresh"), limit=None))
    assert len(found) == 100
    return Row("recall: refresh after 100 new rounds", "s", watch.seconds, at_most=1)


async def scan_row(archive: Path) -> Row:
    """Seconds without an index, against ripgrep over the same files."""
    query: Query = parse_query(RARE)
    ripgrep = shutil.which("rg")

    def ours() -> float:
        with Stopwatch() as watch:
            assert len(list(Recall(archive, processes=usable_processors()).query(query))) == 1
        return watch.seconds

    def floor() -> float:
        with Stopwatch() as watch:
            subprocess.run([ripgrep or "rg", "-il", RARE, archive], capture_output=True, check=True)
        return watch.seconds

    what = "recall: without index"
    if ripgrep is None:
        return Row(what, "s", ours(), note="no ripgrep on this machine")
    seconds, bare = await interleaved(ours, floor)
    return Row(what, "s", seconds, bare, at_most=3, note="floor: ripgrep")


def memory_rows(bench: Bench, archive: Path, total: int) -> Iterator[Row]:
    """Peak memory of a search through everything, against one through a tenth."""
    tenth = bench.folder / "recall-tenth"
    (tenth / "default").mkdir(parents=True)
    folders = sorted((archive / "default").iterdir())
    for folder in folders[: max(1, len(folders) // 10)]:
        shutil.copytree(folder, tenth / "default" / folder.name)
    asked = {
        "the newest 20 of": ("parse_query('the worker'), limit=20", 1.2),
        "every one of": ("EVERYTHING", 1.5),
    }
    for what, (query, at_most) in asked.items():
        code = (
            "import sys; from archive.recall.search import Recall;"
            "from archive.recall.query import EVERYTHING, parse_query\n"
            f"for found in Recall(sys.argv[1]).query({query}): pass"
        )
        yield Row(
            f"recall: peak memory, {what} {total:,} rounds",
            "MiB",
            peak_mib(code, archive, cwd=PROJECT),
            peak_mib(code, tenth, cwd=PROJECT),
            at_most=at_most,
            note="floor: over a tenth",
        )
