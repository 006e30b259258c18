"""Append, read and memory of the event store against what redis-py does by hand."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import redis.asyncio
from redis.exceptions import WatchError

from bench.measure import Bench, Row, Stopwatch, interleaved
from streams.codec import Limits, encode_event
from streams.event import Event
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from support.redis_server import RedisServer

PAYLOAD = {"tool_name": "bash", "exit_code": 0, "output": "x" * 85}

_names = itertools.count()


def fresh(prefix: str) -> str:
    """A stream nobody has used in this run."""
    return f"{prefix}-{next(_names)}"


def event() -> Event:
    """One event of 300 bytes."""
    return Event(type="tool.call.completed", payload=PAYLOAD, module_name="runner")


def size_as_json(one: Event) -> int:
    """Bytes of the event as producers of one JSON document an event would send it."""
    document = {"stream": "session-42", "type": one.type, "id": one.id, "module": one.module_name}
    document |= {"timestamp": one.timestamp.isoformat(), "payload": one.payload, "metadata": {}}
    return len(json.dumps(document, separators=(",", ":")))


_ENCODED = encode_event(event(), Limits()).fields()
FIELDS = dict(zip(_ENCODED[::2], _ENCODED[1::2], strict=True))
"""A log entry ready for redis-py: a floor checks and encodes nothing."""


async def rows(bench: Bench) -> AsyncIterator[Row]:
    server = bench.redis()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(redis.asyncio.Redis(port=server.port))
        store = await stack.enter_async_context(
            await RedisEventStore.connect(server.url, tenant="bench")
        )
        for part in (appends, batches, big_neighbour, deep_reads):
            async for row in part(bench, store, client):
                yield row
        async for row in memory(bench, store, server):
            yield row


async def watch_append(client: redis.asyncio.Redis, stream: str) -> None:
    """Our commit as anybody would write it with redis-py: WATCH, GET, MULTI, …, EXEC."""
    keys = Keys("floor")
    log, head = keys.log(stream), keys.head(stream)
    for attempt in itertools.count(1):
        async with client.pipeline() as pipe:
            try:
                await pipe.watch(head)
                version = int(await pipe.get(head) or 0) + 1
                pipe.multi()
                pipe.xadd(log, FIELDS, id=f"{version}-1")
                pipe.set(head, version)
                pipe.xadd(keys.feed, {"s": stream, "f": version, "l": version, "t": "x"})
                pipe.zadd(keys.streams, {stream: version})
                await pipe.execute()
            except WatchError:
                await asyncio.sleep(random.random() * min(0.001 * 2**attempt, 0.05))
            else:
                return


async def callers(count: int, each: int, call: Callable[[int], Awaitable[object]]) -> float:
    """Calls a second when `count` tasks make `each` calls one after the other."""

    async def caller(number: int) -> None:
        for _ in range(each):
            await call(number)

    with Stopwatch() as watch:
        await asyncio.gather(*map(caller, range(count)))
    return watch.rate(count * each)


async def appends(
    bench: Bench, store: RedisEventStore, client: redis.asyncio.Redis
) -> AsyncIterator[Row]:
    for what, count, distinct, ours_each, loops, floor_each, target in [
        ("append, 1 caller", 1, True, 4_000, 1, 1_500, 2.5),
        ("append, 64 callers, distinct streams", 64, True, 300, 1, 1_500, 10),
        ("append, 64 callers, distinct streams", 64, True, 300, 64, 20, None),
        ("append, 32 callers, one stream", 32, False, 400, 32, 10, 20),
    ]:

        def streams(count: int = count, distinct: bool = distinct) -> list[str]:
            one = fresh("s")
            return [fresh("s") if distinct else one for _ in range(count)]

        async def ours(count: int = count, each: int = ours_each) -> float:
            names = streams(count)
            return await callers(
                count, bench.count(each), lambda n: store.append(names[n], [event()])
            )

        async def floor(count: int = loops, each: int = floor_each) -> float:
            names = streams(count)
            return await callers(count, bench.count(each), lambda n: watch_append(client, names[n]))

        mine, theirs = await interleaved(ours, floor)
        note = "redis-py WATCH loop" if loops == 1 else f"{loops} redis-py WATCH loops"
        yield Row(what, "appends/s", mine, theirs, at_least=target, note=note)


async def batches(
    bench: Bench, store: RedisEventStore, client: redis.asyncio.Redis
) -> AsyncIterator[Row]:
    rounds, size = bench.count(200), 100

    async def ours() -> float:
        stream = fresh("s")
        with Stopwatch() as watch:
            for _ in range(rounds):
                await store.append(stream, [event() for _ in range(size)])
        return watch.rate(rounds * size)

    async def floor() -> float:
        log = Keys("floor").log(fresh("s"))
        with Stopwatch() as watch:
            for _ in range(rounds):
                pipe = client.pipeline(transaction=False)
                for _ in range(size):
                    pipe.xadd(log, FIELDS)
                await pipe.execute()
        return watch.rate(rounds * size)

    mine, theirs = await interleaved(ours, floor)
    yield Row("append, batches of 100", "events/s", mine, theirs, at_least=0.6, note="piped XADD")


async def big_neighbour(
    bench: Bench, store: RedisEventStore, client: redis.asyncio.Redis
) -> AsyncIterator[Row]:
    big, small, each = fresh("big"), fresh("small"), bench.count(1_000)

    async def after(stream: str, last: Event) -> float:
        """Seconds an append right behind `last` takes."""
        spent = 0.0
        for _ in range(10):
            await store.append(stream, [last])
            with Stopwatch() as watch:
                for _ in range(each // 10):
                    await store.append(stream, [event()])
            spent += watch.seconds
        return spent / each * 1e6

    heavy = Event(type="llm.call", payload={"text": "x" * (6 << 20)})
    mine, theirs = await interleaved(lambda: after(big, heavy), lambda: after(small, event()))
    yield Row(
        "append behind an event of 6 MB", "µs", mine, theirs, at_most=1.2, note="behind 300 B"
    )


async def deep_reads(
    bench: Bench, store: RedisEventStore, client: redis.asyncio.Redis
) -> AsyncIterator[Row]:
    stream, length, each = fresh("long"), bench.count(200_000, least=2_000), bench.count(200)
    for _ in range(length // 500):
        await store.append(stream, [event() for _ in range(500)])

    async def read_at(version: int) -> float:
        with Stopwatch() as watch:
            for _ in range(each):
                found = await store.read(stream, from_version=version, limit=100)
                assert found[0].version == version
        return watch.seconds / each * 1e6

    mine, theirs = await interleaved(lambda: read_at(length * 3 // 4), lambda: read_at(1))
    what = f"read 100 events at version {length * 3 // 4:,} of {length:,}"
    yield Row(what, "µs", mine, theirs, at_most=1.2, note="at version 1")


async def memory(bench: Bench, store: RedisEventStore, server: RedisServer) -> AsyncIterator[Row]:
    stream, length, per_commit = fresh("memory"), bench.count(50_000), 10
    keys = Keys("memory")
    async with await RedisEventStore.connect(server.url, tenant="memory") as other:
        for _ in range(length // per_commit):
            await other.append(stream, [event() for _ in range(per_commit)])
    with server.admin() as admin:
        log = admin.memory_usage(keys.log(stream), samples=0) / length
        feed = admin.memory_usage(keys.feed, samples=0) / length
    size = size_as_json(event())
    yield Row("Redis memory an event", "bytes", log, size, at_most=1.4, note="the event as JSON")
    yield Row("Redis memory of the feed an event", "bytes", feed, at_most=60, note="10 a commit")
