"""The worker's stages on a backlog, each against the least its job can cost."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import redis.asyncio

from archive.build import build_round_record
from archive.publishing.writer import FileArchiveWriter
from archive.record_json import record_to_bytes
from bench.measure import Bench, Row, Stopwatch, interleaved
from streams.event import Event
from streams.feed import ARCHIVERS, FeedGroup
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from worker.archiving.archiver import Archiver, ArchiverPolicy
from worker.archiving.stream_archiver import ArchivingPolicy, StreamArchiver
from worker.sequencing.sequencer import Sequencer, SequencerPolicy

STREAMS, ROUND = 50, 20
PAYLOAD = {
    "tool_name": "bash",
    "task_id": "7f9c2ba4e88f827d616045507605853e",
    "args": {"command": "pytest -q tests/unit", "timeout_s": 120, "cwd": "/srv/app"},
    "exit_code": 0,
    "duration_ms": 1874.25,
    "output": "214 passed, 3 skipped in 1.87s\nall of them within their time limits\n",
    "truncated": False,
}
EVENT_JSON = json.dumps(PAYLOAD)
"""Payload of about 300 bytes."""
_runs = itertools.count()


async def rows(bench: Bench) -> AsyncIterator[Row]:
    server = bench.redis()
    async with redis.asyncio.Redis(port=server.port) as client:
        yield await sequencing(bench, server.url, client)
        yield await archiving(bench, server.url)


def entries(count: int) -> list[dict[str, str]]:
    """Inbox entries of `STREAMS` agents in turns, every `ROUND`th of a stream ends a round."""
    made = []
    for n in range(count):
        ends = (n // STREAMS + 1) % ROUND == 0
        type_ = "task.completed" if ends else "tool.call.completed"
        made.append({"stream": f"agent-{n % STREAMS}", "type": type_, "payload": EVENT_JSON})
    return made


async def send(client: redis.asyncio.Redis, key: bytes, batch: Sequence[dict[str, str]]) -> None:
    """Pipelined XADD of everything."""
    for start in range(0, len(batch), 1_000):
        pipe = client.pipeline(transaction=False)
        for fields in batch[start : start + 1_000]:
            pipe.xadd(key, fields)
        await pipe.execute()


async def sequencing(bench: Bench, url: str, client: redis.asyncio.Redis) -> Row:
    backlog = entries(bench.count(30_000, least=2_000))

    async def ours() -> float:
        async with await RedisEventStore.connect(url, f"seq-{next(_runs)}") as store:
            await send(client, store.keys.inbox, backlog)
            sequencer = new_sequencer(store)
            done = 0
            with Stopwatch() as watch:
                while done < len(backlog):
                    done += (await sequencer.run_once()).events
            await sequencer.release()
            await sequencer.close()
            return watch.rate(done)

    async def floor() -> float:
        """Read by group, decode, acknowledge: what any consumer does at the least."""
        key = Keys(f"floor-{next(_runs)}").inbox
        await send(client, key, backlog)
        await client.xgroup_create(key, "g", id="0")
        done = 0
        with Stopwatch() as watch:
            while done < len(backlog):
                reply = await client.xreadgroup("g", "c", {key: ">"}, count=500)
                ids = []
                for entry_id, fields in reply[0][1]:
                    decoded = {name.decode(): value.decode() for name, value in fields.items()}
                    decoded["payload"] = json.loads(decoded["payload"])
                    ids.append(entry_id)
                await client.xack(key, "g", *ids)
                done += len(ids)
        return watch.rate(done)

    mine, theirs = await interleaved(ours, floor)
    what = f"sequencer, backlog of 300 B events, {STREAMS} streams"
    return Row(what, "events/s", mine, theirs, at_least=0.4, note="read + decode + ack")


def new_sequencer(store: RedisEventStore) -> Sequencer:
    """A sequencer with the default policy."""
    wire = store.wires.dedicated()
    committer = store.committer(wire)
    return Sequencer(wire, committer, store.keys, SequencerPolicy(), store.clock)


async def archiving(bench: Bench, url: str) -> Row:
    rounds = bench.count(2_000, least=200)

    async def ours() -> float:
        run = next(_runs)
        async with await RedisEventStore.connect(url, f"arc-{run}") as store:
            for n in range(rounds):
                await store.append(f"agent-{n % STREAMS}", round_of_events())
            writer = FileArchiveWriter(bench.folder / f"archive-{run}", 0, tenant=store.tenant)
            archiver = new_archiver(store, writer)
            await archiver.start()
            done = 0
            with Stopwatch() as watch:
                while done < rounds:
                    done += len((await archiver.run_once()).archived.rounds)
            await archiver.close()
            writer.close()
            return watch.rate(done)

    mine, theirs = await interleaved(ours, lambda: atomic_writes(bench, rounds))
    what = f"archiver, backlog of {ROUND}-event rounds, fsync on"
    return Row(what, "rounds/s", mine, theirs, at_least=0.45, note="8 threads of atomic writes")


def round_of_events() -> list[Event]:
    """One round of `ROUND` events."""
    steps = [Event(type="tool.call.completed", payload=PAYLOAD) for _ in range(ROUND - 1)]
    return [*steps, Event(type="task.completed", payload={"result": "done"})]


def new_archiver(store: RedisEventStore, writer: FileArchiveWriter) -> Archiver:
    """An archiver with the default policy."""
    streams = StreamArchiver(
        store.wires.dedicated(), store.keys, writer, ArchivingPolicy(store.tenant), store.clock
    )
    group = FeedGroup(store.wires.dedicated(), store.keys, ARCHIVERS, "bench")
    return Archiver(group, streams, ArchiverPolicy())


async def atomic_writes(bench: Bench, count: int) -> float:
    """Write, fsync, rename, fsync the directory, in 8 threads: files a second."""
    events = [Event(type="task.completed", payload={"result": "x" * 600}, version=1, stream_id="s")]
    content = record_to_bytes(build_round_record(round=1, events=events))
    folder = bench.folder / f"floor-{next(_runs)}"
    for n in range(STREAMS):
        (folder / f"agent-{n}").mkdir(parents=True)

    def write(number: int) -> None:
        atomic_write(folder / f"agent-{number % STREAMS}" / f"round_{number}.json", content)

    with ThreadPoolExecutor(8) as pool, Stopwatch() as watch:
        await asyncio.to_thread(lambda: list(pool.map(write, range(count))))
    return watch.rate(count)


def atomic_write(path: Path, content: bytes) -> None:
    """The least a durable file costs."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
