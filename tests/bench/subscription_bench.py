"""Subscriptions: how late an event arrives, how fast history is read, and what a sleeper costs."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from statistics import median, quantiles

from bench.measure import RUNS, Bench, Row, Stopwatch, interleaved
from streams import RedisEventStore, Subscription
from streams.event import Event

PAYLOAD = {"tool_name": "bash", "exit_code": 0, "output": "x" * 85}
STREAMS, RATE, SUBSCRIBERS = 50, 1_000, 100

_tenants = itertools.count()


def event(**more: float) -> Event:
    """One event of 300 bytes."""
    return Event("tool.call.completed", PAYLOAD | more, module_name="runner")


async def two_stores(stack: AsyncExitStack, url: str) -> tuple[RedisEventStore, RedisEventStore]:
    """A reading and a writing one, on a tenant of their own."""
    tenant = f"bench-{next(_tenants)}"
    return (
        await stack.enter_async_context(await RedisEventStore.connect(url, tenant)),
        await stack.enter_async_context(await RedisEventStore.connect(url, tenant)),
    )


async def fill(store: RedisEventStore, count: int, *, at_once: int) -> None:
    """`count` events over all streams, `at_once` in a commit of one stream."""
    for _ in range(count // STREAMS // at_once):
        batch = [event() for _ in range(at_once)]
        await asyncio.gather(*(store.append(f"s{n}", batch) for n in range(STREAMS)))


async def receive(subscription: Subscription, count: int) -> None:
    for _ in range(count):
        await anext(subscription)


async def rows(bench: Bench) -> AsyncIterator[Row]:
    server = bench.redis()
    for part in (latency, catch_up, sleeper, group):
        async with AsyncExitStack() as stack:
            reading, writing = await two_stores(stack, server.url)
            async for row in part(bench, reading, writing):
                yield row


async def latency(
    bench: Bench, reading: RedisEventStore, writing: RedisEventStore
) -> AsyncIterator[Row]:
    count = bench.count(5_000)

    async def publish() -> None:
        started = time.perf_counter()
        for number in range(count):
            due = started + number / RATE
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            await writing.append(f"s{number % STREAMS}", [event(sent=time.perf_counter())])

    async def once() -> list[float]:
        async with reading.subscribe(buffer=count) as subscription:
            publishing = asyncio.create_task(publish())
            late = []
            for _ in range(count):
                arrived = await anext(subscription)
                late.append((time.perf_counter() - arrived.payload["sent"]) * 1000)
            await publishing
        return quantiles(late, n=100)

    runs = [await once() for _ in range(RUNS)]
    note = f"append to consumer, {RATE:,} events/s"
    yield Row("live delivery, p50", "ms", median(r[49] for r in runs), at_most=5, note=note)
    yield Row("live delivery, p99", "ms", median(r[98] for r in runs), at_most=25, note=note)


async def catch_up(
    bench: Bench, reading: RedisEventStore, writing: RedisEventStore
) -> AsyncIterator[Row]:
    count = bench.count(30_000, least=STREAMS * 10) // STREAMS // 10 * STREAMS * 10
    await fill(writing, count, at_once=1)

    async def since(start: str) -> float:
        with Stopwatch() as watch:
            async with reading.subscribe(start=start, on_overflow="block") as subscription:
                await receive(subscription, count)
        return watch.rate(count)

    for start, note in (("beginning", "from the logs"), ("0-0", "along the feed, 1 an entry")):
        rate = median([await since(start) for _ in range(RUNS)])
        yield Row("catch-up, 1 subscriber", "events/s", rate, at_least=20_000, note=note)


async def sleeper(
    bench: Bench, reading: RedisEventStore, writing: RedisEventStore
) -> AsyncIterator[Row]:
    count = bench.count(5_000) // STREAMS // 5 * STREAMS * 5

    async def fan_out(asleep: int) -> float:
        async with AsyncExitStack() as stack:
            for _ in range(asleep):
                await stack.enter_async_context(reading.subscribe())
            awake = [
                await stack.enter_async_context(reading.subscribe(on_overflow="block"))
                for _ in range(SUBSCRIBERS - 1)
            ]
            with Stopwatch() as watch:
                receiving = [asyncio.create_task(receive(one, count)) for one in awake]
                await fill(writing, count, at_once=5)
                await asyncio.gather(*receiving)
        return watch.rate(count)

    mine, theirs = await interleaved(lambda: fan_out(1), lambda: fan_out(0))
    what = f"{SUBSCRIBERS - 1} subscribers, beside one that sleeps"
    yield Row(what, "events/s", mine, theirs, at_least=0.9, note="the same without the sleeper")


async def group(
    bench: Bench, reading: RedisEventStore, writing: RedisEventStore
) -> AsyncIterator[Row]:
    count = bench.count(10_000) // STREAMS // 10 * STREAMS * 10
    await fill(writing, count, at_once=10)

    async def handle(name: str) -> float:
        async with reading.subscribe(group=name, start="0-0") as member:
            with Stopwatch() as watch:
                for _ in range(count):
                    delivery = await anext(member)
                    await delivery.ack()
        return watch.rate(count)

    rate = median([await handle(f"g{number}") for number in range(RUNS)])
    yield Row("group, 1 member, each event acknowledged", "events/s", rate)
