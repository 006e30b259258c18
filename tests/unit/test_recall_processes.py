"""A search without an index in several processes: the same answer, whatever becomes of them.

Each case runs in a Python of its own, since a process with threads, as a test's is, isn't forked.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from archive.recall.processes import can_spread, usable_processors
from archive.record import RoundRecord
from archive.record_json import record_to_bytes

PROJECT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone")

SEARCH = """
import json, sys, threading
from archive.recall.processes import can_spread
from archive.recall.search import Recall
from archive.recall.query import EVERYTHING, parse_pattern, parse_query

assert can_spread()
said = {}
for processes in (1, 3):
    recall = Recall(sys.argv[1], processes=processes)
    for name, query in {
        "all": EVERYTHING, "word": parse_query("fox"), "pattern": parse_pattern("f.x [0-9]7"),
    }.items():
        for limit in (None, 5):
            problems = []
            found = recall.query(query, limit=limit, report=problems.append)
            paths = [f.place.path for f in found]
            said[f"{name} {limit} {processes}"] = paths, [p.reason for p in problems]
print(json.dumps(said))
"""

SPREAD = """
import os, signal, sys
from archive.recall.processes import spread

here = os.getpid()

def work(item):
    if os.getpid() != here and item == {killed}:
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item, os.getpid() != here

found = list(spread(work, iter(range(40)), 3))
assert [item for item, _ in found] == list(range(40))
assert [square for _, (square, _) in found] == [n * n for n in range(40)]
print(sum(elsewhere for _, (_, elsewhere) in found))
"""


def run(code: str, *arguments: object) -> Any:
    """What a Python of its own prints, as JSON."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    return json.loads(done.stdout)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """More folders than are read before processes start, with damage among the last."""
    for stream in range(200):
        folder = tmp_path / f"default/s{stream:03}"
        folder.mkdir(parents=True)
        for number in (1, 2):
            record = RoundRecord(
                number,
                "fix",
                f"the {'fox' if stream % 3 else 'dog'} {stream}",
                stream_id=folder.name,
                tenant_id="default",
                first_version=number,
                last_version=number,
                events_digest=f"{stream}/{number}",
            )
            (folder / f"round_{number}.json").write_bytes(record_to_bytes(record))
    (tmp_path / "default/s190/round_2.json").write_text("{")
    (tmp_path / "default/s150/round_1.json").unlink()
    (tmp_path / "default/s150/round_1.json").symlink_to(tmp_path / "default/s001/round_1.json")
    return tmp_path


def test_processes_find_and_report_what_one_does(archive: Path) -> None:
    said = run(SEARCH, archive)

    for name, count in (("all", 398), ("word", 265), ("pattern", 26)):
        for limit in (None, 5):
            found, problems = said[f"{name} {limit} 1"]
            assert len(found) == min(count, limit or count)
            assert problems == ["unsafe", "damaged"]
            assert said[f"{name} {limit} 3"] == [found, problems]


@pytest.mark.skipif(usable_processors() < 2, reason="one processor")
@pytest.mark.parametrize(("flags", "spreads"), [(["--no-index"], True), ([], False)])
def test_the_command_without_an_index_uses_every_processor(
    archive: Path, tmp_path_factory: pytest.TempPathFactory, flags: list[str], spreads: bool
) -> None:
    code = """
import contextlib, io, os, sys
from archive.recall import scan
from worker.cli import run

asked, spread = [], scan.spread

def counted(work, items, processes):
    asked.append(processes)
    return spread(work, items, processes)

scan.spread = counted
os.environ["XDG_CACHE_HOME"] = sys.argv[2]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    code = run(["--archive-dir", sys.argv[1], "recall", "query", "fox", *sys.argv[3:]])
assert code == 0
print(asked)
"""
    asked = run(code, archive, tmp_path_factory.mktemp("cache"), *flags)

    assert asked == ([usable_processors()] if spreads else [])


def test_work_is_done_in_other_processes_and_comes_back_in_order() -> None:
    assert run(SPREAD.format(killed=None)) == 40


def test_what_a_killed_process_leaves_is_done_here() -> None:
    assert 0 <= run(SPREAD.format(killed=7)) < 40


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_a_search_that_was_ended(number: signal.Signals) -> None:
    code = """
import sys, time
from archive.recall.processes import spread

def work(item):
    print(item, flush=True)
    time.sleep(0.1)

list(spread(work, range(10_000), 3))
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as search:
        assert search.stdout is not None
        search.stdout.readline()
        search.send_signal(number)

        # Everybody who works on it holds this pipe open.
        search.communicate(timeout=20)

    assert search.returncode != 0


def test_a_pattern_that_takes_too_long_is_refused_from_any_process(archive: Path) -> None:
    record = json.loads((archive / "default/s180/round_1.json").read_text())
    record["summary"] = "a" * 40
    (archive / "default/s180/round_1.json").write_text(json.dumps(record))
    code = """
import sys
from archive.failures import InvalidQuery
from archive.recall.search import Recall
from archive.recall.query import parse_pattern
try:
    list(Recall(sys.argv[1], processes=2).query(parse_pattern("(a+)+$b")))
except InvalidQuery as refused:
    print('"' + refused.reason + '"')
"""
    assert run(code, archive) == "the pattern takes more than 2 seconds over one round"


def test_a_process_with_threads_is_not_forked() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert not can_spread()
    finally:
        done.set()
        thread.join()


def test_as_many_processes_are_used_as_may_run_but_few() -> None:
    assert 1 <= usable_processors() <= 8
