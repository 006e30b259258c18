"""A whole worker process: how much it takes in, and how long one event or round takes."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import redis.asyncio

from archive.storage.layout import stream_dir
from bench.measure import RUNS, Bench, Row, Stopwatch
from bench.pipeline_bench import EVENT_JSON, ROUND, STREAMS, atomic_write, entries, send
from streams.keys import Keys
from support.file_watch import FileWatch
from support.waiting import eventually
from support.worker_process import Installation, WorkerProcess

_tenants = itertools.count()


async def rows(bench: Bench) -> AsyncIterator[Row]:
    server = bench.redis()
    async with redis.asyncio.Redis(port=server.port) as client:
        async for row in throughput(bench, server.url, client):
            yield row
        yield await two_tenants(bench, server.url, client)
        async for row in log_latency(bench, server.url, client):
            yield row
        async for row in round_latency(bench, server.url, client):
            yield row


def installation(bench: Bench, url: str) -> tuple[Installation, Keys]:
    """A fresh tenant and archive on the shared server."""
    tenant = f"w{next(_tenants)}"
    archive = bench.folder / tenant / "rounds"
    archive.parent.mkdir()
    return Installation(url, archive, {"ARES_TENANTS": tenant}), Keys(tenant)


async def work_off(
    client: redis.asyncio.Redis, workers: Sequence[WorkerProcess], tenants: Sequence[Keys]
) -> float:
    """Seconds from the first event taken in to the last round archived, workers started here."""
    lengths = [await client.xlen(keys.inbox) for keys in tenants]

    async def begun() -> bool:
        return any([await client.xlen(k.inbox) < n for k, n in zip(tenants, lengths, strict=True)])

    async def done() -> bool:
        return all([await _idle(client, keys) for keys in tenants])

    with ExitStack() as stack:
        for worker in workers:
            stack.enter_context(worker)
        await eventually(begun, 60)
        with Stopwatch() as watch:
            await eventually(done, 300)
        for worker in workers:
            worker.peak_mb = _peak_mb(worker.process.pid)
    return watch.seconds


async def _idle(client: redis.asyncio.Redis, keys: Keys) -> bool:
    """Everything sequenced, and every feed entry acknowledged."""
    if await client.xlen(keys.inbox):
        return False
    [group] = await client.xinfo_groups(keys.feed)
    last = await client.xrevrange(keys.feed, count=1)
    return group["pending"] == 0 and group["last-delivered-id"] == last[0][0]


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


async def throughput(bench: Bench, url: str, client: redis.asyncio.Redis) -> AsyncIterator[Row]:
    backlog = entries(bench.count(100_000, least=5_000))
    rates, peaks = [], []
    for _ in range(RUNS):
        here, keys = installation(bench, url)
        await send(client, keys.inbox, backlog)
        worker = here.worker()
        rates.append(len(backlog) / await work_off(client, [worker], [keys]))
        peaks.append(worker.peak_mb)
        assert len(here.rounds()) == len(backlog) // ROUND
    rate = statistics.median(rates)
    yield Row("whole pipeline, one worker, backlog", "events/s", rate, at_least=10_000)
    yield Row("whole pipeline, one worker, backlog", "rounds/s", rate / ROUND, at_least=500)
    yield Row("peak memory of that worker", "MB", statistics.median(peaks), at_most=100)


async def two_tenants(bench: Bench, url: str, client: redis.asyncio.Redis) -> Row:
    backlog = entries(bench.count(50_000, least=5_000))

    async def rate(count: int) -> float:
        places = [installation(bench, url) for _ in range(count)]
        for _, keys in places:
            await send(client, keys.inbox, backlog)
        workers = [here.worker() for here, _ in places]
        seconds = await work_off(client, workers, [keys for _, keys in places])
        return count * len(backlog) / seconds

    pairs = [(await rate(1), await rate(2)) for _ in range(RUNS)]
    one, two = (statistics.median(values) for values in zip(*pairs, strict=True))
    cores = os.cpu_count() or 1
    target = 1.6 if cores >= 4 else None
    what = "two workers on two tenants"
    return Row(what, "events/s", two, one, at_least=target, note=f"one worker; {cores} cores")


async def offer(rate: int, count: int, send_one) -> None:
    """Call `send_one(n)` `rate` times a second, `count` times, whatever each takes."""
    began = time.perf_counter()
    pending = set()
    for n in range(count):
        await asyncio.sleep(max(0.0, began + n / rate - time.perf_counter()))
        pending.add(asyncio.ensure_future(send_one(n)))
    await asyncio.gather(*pending)


def percentiles(name: str, spent_s: Sequence[float], p50: float, p99: float) -> list[Row]:
    """Two rows of milliseconds with their targets."""
    cuts = statistics.quantiles(spent_s, n=100)
    return [
        Row(f"{name}: p50", "ms", cuts[49] * 1e3, at_most=p50),
        Row(f"{name}: p99", "ms", cuts[98] * 1e3, at_most=p99),
    ]


async def log_latency(bench: Bench, url: str, client: redis.asyncio.Redis) -> AsyncIterator[Row]:
    here, keys = installation(bench, url)
    rate, count = 1_000, bench.count(10_000)
    acked: dict[str, deque[float]] = {f"agent-{n}": deque() for n in range(STREAMS)}
    spent: list[float] = []

    async def xadd(n: int) -> None:
        stream = f"agent-{n % STREAMS}"
        await client.xadd(keys.inbox, {"stream": stream, "type": "llm.call", "payload": EVENT_JSON})
        acked[stream].append(time.perf_counter())

    async def follow() -> None:
        """A feed entry appears in the transaction that makes its events readable."""
        position = b"0"
        async with redis.asyncio.Redis.from_url(url, protocol=2) as reader:
            while len(spent) < count:
                reply = await reader.xread({keys.feed: position}, block=1_000)
                for position, fields in reply[0][1] if reply else ():  # noqa: B007
                    now = time.perf_counter()
                    for _ in range(int(fields[b"f"]), int(fields[b"l"]) + 1):
                        times = acked[fields[b"s"].decode()]
                        spent.append(now - (times.popleft() if times else now))

    with here.worker() as worker:
        worker.wait_ready()
        following = asyncio.create_task(follow())
        await offer(rate, count, xadd)
        await asyncio.wait_for(following, 30)
    for row in percentiles("XADD → readable in its log, 1,000 events/s", spent, 3, 15):
        yield row


async def round_latency(bench: Bench, url: str, client: redis.asyncio.Redis) -> AsyncIterator[Row]:
    here, keys = installation(bench, url)
    rate, count = 100, bench.count(2_000)
    acked: dict[Path, float] = {}
    seen: dict[Path, float] = {}
    folders = [here.archive / keys.tenant / stream_dir(f"agent-{n}") for n in range(STREAMS)]

    async def one_round(n: int) -> None:
        pipe = client.pipeline(transaction=False)
        for step in range(ROUND):
            type_ = "task.completed" if step == ROUND - 1 else "tool.call.completed"
            stream = f"agent-{n % STREAMS}"
            pipe.xadd(keys.inbox, {"stream": stream, "type": type_, "payload": EVENT_JSON})
        await pipe.execute()
        acked[folders[n % STREAMS] / f"round_{n // STREAMS + 1}.json"] = time.perf_counter()

    watch = FileWatch()
    with here.worker() as worker:
        worker.wait_ready()
        for n in range(STREAMS):  # makes the folders
            await one_round(n)
        await eventually(lambda: all(folder.is_dir() for folder in folders), 30)
        await eventually(lambda: len(here.rounds()) == STREAMS, 30)
        for folder in folders:
            watch.add(folder)
        loop = asyncio.get_running_loop()

        def note() -> None:
            now = time.perf_counter()
            seen.update((path, now) for path in watch.appeared() if path.suffix == ".json")

        loop.add_reader(watch.fileno(), note)
        await offer(rate, count, lambda n: one_round(n + STREAMS))
        await eventually(lambda: len(seen) >= count, 30)
        loop.remove_reader(watch.fileno())
    watch.close()
    spent = [moment - acked[path] for path, moment in seen.items()]
    for row in percentiles("XADD → round file, 100 rounds/s", spent, 10, 40):
        yield row
    floor = await two_trips_and_a_file(bench, client, 200)
    yield Row("  2 round trips and one atomic write: p50", "ms", floor * 1e3)


async def two_trips_and_a_file(bench: Bench, client: redis.asyncio.Redis, count: int) -> float:
    """Median seconds of the least a durable round takes."""
    folder = bench.folder / "two-trips"
    folder.mkdir()
    spent = []
    for n in range(count):
        with Stopwatch() as watch:
            await client.ping()
            await client.ping()
            await asyncio.to_thread(atomic_write, folder / f"round_{n}.json", b"x" * 1_500)
        spent.append(watch.seconds)
    return statistics.median(spent)
