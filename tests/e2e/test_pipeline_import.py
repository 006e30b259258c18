"""Import files in, round files out: everything once, whoever works, however often."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from streams.integrity import verify_stream_integrity
from streams.redis_store import RedisEventStore
from support.sessions import write_import
from support.waiting import eventually_sync
from support.worker_process import Installation

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts" / "dev"


@pytest.fixture
def place(start_server, install) -> Callable[[], Installation]:
    """`place()`: a Redis and an archive that nothing else uses."""
    return lambda: install(start_server().url)


@pytest.fixture(params=["made up", "real"])
def imported(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[str], int, int]:
    """Import files, how many events they hold, and how many rounds."""
    if request.param == "made up":
        names, events = write_import(tmp_path / "sessions", streams=10, rounds=6)
        return names, events, 60
    if not TRANSCRIPTS.is_dir():
        pytest.skip("the real transcripts are elsewhere")
    names = sorted(str(path) for path in TRANSCRIPTS.glob("*.jsonl"))
    return names, sum(len(Path(name).read_bytes().splitlines()) for name in names), 108


async def test_every_round_of_an_import_becomes_a_file_once_however_often_it_is_sent(
    place, imported
):
    names, events, rounds = imported
    here = place()

    assert here.json("import", *names)["sent"] == events
    here.call("run", "--once")
    files = here.rounds()
    assert len(files) == rounds

    here.call("import", *names)
    here.call("run", "--once")
    assert here.rounds() == files
    async with await RedisEventStore.connect(here.redis_url) as store:
        logs = {stream: await store.read(stream) for stream in await store.list_streams()}
    for log in logs.values():
        verify_stream_integrity(log)
        assert log[0].version == 1
    assert sum(map(len, logs.values())) == events


def test_two_workers_make_the_files_that_one_makes_byte_for_byte(place, imported):
    names, _, rounds = imported
    alone, together = place(), place()
    alone.call("import", *names)
    alone.call("run", "--once")

    with together.worker() as first, together.worker() as second:
        first.wait_ready()
        second.wait_ready()
        together.call("import", *names)
        eventually_sync(lambda: len(together.rounds()) == rounds, 60)

    assert together.rounds() == alone.rounds()


def test_a_round_file_says_which_versions_it_holds(place, tmp_path):
    names, events = write_import(tmp_path / "sessions", streams=1, rounds=5)
    here = place()
    here.call("import", *names)
    here.call("run", "--once")

    records = sorted(
        (json.loads(data) for data in here.rounds().values()), key=lambda r: r["round"]
    )
    assert [record["round"] for record in records] == [1, 2, 3, 4, 5]
    assert records[0]["first_version"] == 1
    assert records[-1]["last_version"] == events
    for before, after in pairwise(records):
        assert after["first_version"] == before["last_version"] + 1
    assert all(record["stream_id"] == "agent/0" for record in records)
