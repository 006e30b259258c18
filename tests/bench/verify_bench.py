"""`verify` over 1,000 streams of 100 rounds, beside merely reading and decoding the files."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import redis.asyncio

from archive.publishing.writer import FileArchiveWriter
from archive.record_json import stored_from_bytes
from archive.storage.volume import Volume
from archive.survey import Survey
from bench.measure import Bench, Row, Stopwatch, interleaved, peak_mib
from streams.event import Event
from streams.redis_store import RedisEventStore
from worker.archiving.facts import Archived
from worker.archiving.stream_archiver import ArchivingPolicy, StreamArchiver
from worker.verifying.verifier import Verifier

PROJECT = Path(__file__).parents[2]
PER_STREAM = 100
EVENTS = 5
"""Events of a round; all of them are still in the logs."""


async def rows(bench: Bench) -> AsyncIterator[Row]:
    """One pass, in process and as a command."""
    server, archive = bench.redis(), bench.folder / "verify-archive"
    streams = [f"agent-{number}" for number in range(bench.count(1_000, least=20))]
    async with redis.asyncio.Redis(port=server.port) as client:
        store = RedisEventStore(client, "default")
        await fill(store, archive, streams)
        total = len(streams) * PER_STREAM

        async def ours() -> float:
            verifier = Verifier(store, Survey(Volume(archive), ["default"]))
            with Stopwatch() as watch:
                found = [finding async for finding in verifier.verify()]
            assert (found, verifier.checked.rounds) == ([], total), found
            assert verifier.checked.events == total * EVENTS
            return watch.rate(total)

        def floor() -> float:
            with Stopwatch() as watch:
                for path in archive.glob("default/*/round_*.json"):
                    stored_from_bytes(path.read_bytes())
            return watch.rate(total)

        rate, floor_rate = await interleaved(ours, floor)
        await store.close()
    note = f"{total:,} rounds of {EVENTS} events, each hashed; floor: read and decode the files"
    yield Row("verify: rounds", "rounds/s", rate, floor_rate, note=note)
    yield peak_row(server.url, archive, total)


async def fill(store: RedisEventStore, archive: Path, streams: list[str]) -> None:
    """Archive rounds of `streams`, which stay in the logs."""
    writer = FileArchiveWriter(archive)
    wire = store.wires.dedicated()
    archiver = StreamArchiver(wire, store.keys, writer, ArchivingPolicy("default"), store.clock)
    payload = {"content": "what was decided, changed and verified " * 5}
    types = ["task.created", *["message.added"] * (EVENTS - 2), "task.completed"]
    rounds = itertools.chain.from_iterable(itertools.repeat(types, PER_STREAM))
    events = [Event(kind, payload) for kind in rounds]
    for stream in streams:
        await store.append(stream, [Event(each.type, each.payload) for each in events])
    archived = Archived()
    await archiver.archive(streams, archived)
    assert not archived.failures
    writer.close()
    await archiver.close()


def peak_row(redis_url: str, archive: Path, total: int) -> Row:
    """Memory of the whole command."""
    place = ["--redis", redis_url, "--archive-dir", archive]
    answer = archive.with_name("verify.json")
    code = (
        "import contextlib, sys; from worker import cli\n"
        "with open(sys.argv[1], 'w') as answer, contextlib.redirect_stdout(answer):\n"
        "    assert cli.run(sys.argv[2:]) == 0"
    )
    with Stopwatch() as watch:
        peak = peak_mib(code, answer, *place, "verify", "--json", cwd=PROJECT)
    assert json.loads(answer.read_bytes())["checked"]["rounds"] == total
    note = f"the whole command took {watch.seconds:.1f} s"
    return Row("verify: memory of the command", "MiB", peak, at_most=100, note=note)
