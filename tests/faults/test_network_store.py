"""The event store on a network that loses replies, hangs and cuts: exactly once, or told so."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack

import pytest

from streams.errors import OutcomeUnknown, StoreUnavailable, VersionConflict
from streams.event import Event
from streams.redis_store import RedisEventStore, StoreOptions
from streams.store import ANY, NO_STREAM
from support.lossy_proxy import Fault, LossyProxy
from support.waiting import eventually

TIMEOUT_S = 0.6


@pytest.fixture
async def proxy(server):
    async with LossyProxy(server.port) as running:
        yield running


async def connect(url: str, tenant: str) -> RedisEventStore:
    return await RedisEventStore.connect(url, tenant, options=StoreOptions(timeout_s=TIMEOUT_S))


@pytest.fixture
async def store(proxy, tenant):
    """A store behind the proxy, its connections open."""
    async with await connect(proxy.url, tenant) as opened:
        await opened.append("warm", [Event(type="llm.call")])
        yield opened


@pytest.fixture
async def truth(server, tenant):
    """A store on the same data beside the proxy."""
    async with await connect(server.url, tenant) as opened:
        yield opened


LOSSES = [Fault.DROP, Fault.REFUSE, Fault.BLACKHOLE]


@pytest.mark.parametrize("fault", LOSSES)
@pytest.mark.parametrize("word", ["WATCH", "MULTI", "EXEC"])
@pytest.mark.parametrize("expected", [ANY, NO_STREAM, 3])
async def test_an_append_through_a_lost_packet_happens_exactly_once(
    proxy, store, truth, fault, word, expected
):
    """A lost reply to EXEC must be neither a conflict nor a second event."""
    before = 3 if expected == 3 else 0
    if before:
        await truth.append("s", [Event(type="llm.call")] * before)
    sent = [Event(type="llm.call"), Event(type="llm.call")]
    proxy.fail(word, fault)

    assert await store.append("s", sent, expected) == before + 2

    assert proxy.hits == 1
    read = await truth.read("s", from_version=before + 1)
    assert [event.id for event in read] == [event.id for event in sent]


@pytest.mark.parametrize("times", [2, 3])
async def test_an_append_outlives_several_lost_replies_in_a_row(proxy, store, truth, times):
    proxy.fail("EXEC", Fault.DROP, times=times)

    for n in range(times + 1):
        assert await store.append("s", [Event(type="llm.call", payload={"n": n})]) == n + 1

    assert [event.payload["n"] for event in await truth.read("s")] == list(range(times + 1))


async def test_a_true_conflict_behind_a_lost_packet_is_still_a_conflict(proxy, store, truth):
    await truth.append("s", [Event(type="llm.call")])
    proxy.fail("EXEC", Fault.REFUSE)
    proxy.fail("WATCH", Fault.DROP)

    with pytest.raises(VersionConflict) as conflict:
        await store.append("s", [Event(type="llm.call")], NO_STREAM)

    assert conflict.value.actual == 1


async def test_another_writer_behind_a_lost_reply_does_not_hide_the_success(proxy, store, truth):
    """Read back by place and id: the head alone would say somebody else was first."""
    ours = Event(type="llm.call")
    proxy.fail("EXEC", Fault.DROP)
    append = asyncio.create_task(store.append("s", [ours], NO_STREAM))
    await eventually(lambda: proxy.hits)
    proxy.fail("WATCH", Fault.DELAY, delay_s=0.1)
    await eventually(lambda: truth.stream_version("s"))
    await truth.append("s", [Event(type="llm.call")])

    assert await append == 1
    assert (await truth.read("s"))[0].id == ours.id


async def test_when_redis_stays_away_the_outcome_is_unknown_and_said_so_in_time(
    start_server, tenant
):
    server = start_server(aof="always")
    async with LossyProxy(server.port) as proxy, await connect(proxy.url, tenant) as store:
        await store.append("s", [Event(type="llm.call")])
        proxy.fail("EXEC", Fault.DROP)
        started = time.monotonic()
        append = asyncio.create_task(store.append("s", [Event(type="llm.call")]))
        await eventually(lambda: proxy.hits)
        proxy.fail("", Fault.REFUSE, times=1_000)

        with pytest.raises(OutcomeUnknown) as unknown:
            await append

        assert unknown.value.stream == "s"
        assert time.monotonic() - started < 20

        proxy.heal()
        assert await store.append("s", [Event(type="llm.call")]) == 3


async def test_when_redis_is_away_from_the_start_nothing_is_unknown(start_server, tenant):
    server = start_server()
    async with await connect(server.url, tenant) as store:
        await store.append("s", [Event(type="llm.call")])
        server.kill()

        with pytest.raises(StoreUnavailable) as failure:
            await store.append("s", [Event(type="llm.call")])

        assert failure.value.kind == "connection"


async def test_a_hanging_server_is_noticed_within_the_timeout(start_server, tenant):
    server = start_server()
    async with await connect(server.url, tenant) as store:
        await store.append("s", [Event(type="llm.call")])
        server.pause()
        started = time.monotonic()

        with pytest.raises(StoreUnavailable) as failure:
            await store.read("s")

        assert time.monotonic() - started < 3
        assert failure.value.kind == "timeout"
        server.resume()
        assert await eventually(lambda: retry(store.stream_version("s"))) == 1


async def retry(call):
    """The answer, or None while Redis is out of reach."""
    try:
        return await call
    except StoreUnavailable:
        return None


async def test_a_restart_of_redis_is_not_seen_by_who_calls_afterwards(start_server, tenant):
    """Idle connections have died: the next call must not be the one that finds out."""
    server = start_server(aof="always")
    async with await connect(server.url, tenant) as store:
        await store.append("s", [Event(type="llm.call")])
        await asyncio.gather(*(store.read("s") for _ in range(8)))
        server.kill()
        idle_since = time.monotonic()
        await eventually(lambda: time.monotonic() - idle_since > 0.2)
        server.start()

        assert [event.version for event in await store.read("s")] == [1]
        assert await store.append("s", [Event(type="llm.call")], 1) == 2
        assert await store.stream_version("s") == 2
        assert await store.list_streams() == ["s"]
        assert [event.version async for event in store.read_all()] == [1, 2]


async def test_a_storm_of_faults_neither_loses_nor_repeats_an_event(proxy, tenant, truth):
    """Every append that returned is there once, at the version it was told."""
    chance = random.Random(7)
    told: dict[str, int] = {}
    unknown: set[str] = set()
    done = False

    async def write(store: RedisEventStore, stream: str) -> None:
        for _ in range(20):
            event = Event(type="llm.call")
            try:
                told[event.id] = await store.append(stream, [event])
            except OutcomeUnknown:
                unknown.add(event.id)
            except StoreUnavailable:
                pass  # said to have left no trace; checked below

    async def disturb() -> None:
        while not done:
            fault = chance.choice([Fault.DROP, Fault.DROP, Fault.REFUSE, Fault.DELAY])
            proxy.fail(chance.choice(["EXEC", "WATCH", "MULTI"]), fault, delay_s=0.02)
            hits = proxy.hits
            await eventually(lambda hits=hits: done or proxy.hits > hits, 30)

    async with AsyncExitStack() as stack:
        stores = [
            await stack.enter_async_context(await connect(proxy.url, tenant)) for _ in range(4)
        ]
        storm = asyncio.create_task(disturb())
        await asyncio.gather(*(write(store, f"s{n}") for store in stores for n in range(3)))
        done = True
        await storm

    stored = {}
    for name in ["s0", "s1", "s2"]:
        log = await truth.read(name)
        assert [event.version for event in log] == list(range(1, len(log) + 1))
        stored |= {event.id: event.version for event in log}
        assert len({event.id for event in log}) == len(log)
    assert proxy.hits > 10
    assert {id_: stored.get(id_) for id_ in told} == told
    assert set(stored) - set(told) <= unknown


async def test_cancelled_calls_never_hand_their_reply_to_another(proxy, store):
    for n in range(1, 41):
        await store.append(f"s{n}", [Event(type="llm.call", payload={"n": n})])
    proxy.fail("", Fault.DELAY, times=200, delay_s=0.002)
    chance = random.Random(3)

    async def read(n: int) -> None:
        task = asyncio.create_task(store.read(f"s{n}"))
        if chance.random() < 0.5:
            await asyncio.sleep(chance.random() * 0.01)
            task.cancel()
        [found] = await asyncio.gather(task, return_exceptions=True)
        if not isinstance(found, asyncio.CancelledError):
            assert [event.payload["n"] for event in found] == [n]

    for _ in range(12):
        await asyncio.gather(*(read(chance.randint(1, 40)) for _ in range(40)))


async def test_cancelled_appends_leak_no_connection(proxy, store, truth):
    for word in ["WATCH", "EXEC", "UNWATCH"]:
        for _ in range(20):
            proxy.fail(word, Fault.DELAY, delay_s=0.05)
            expected = 77 if word == "UNWATCH" else ANY
            append = asyncio.create_task(store.append("s", [Event(type="llm.call")], expected))
            await asyncio.sleep(0.005)
            append.cancel()
            await asyncio.gather(append, return_exceptions=True)
            proxy.heal()

    version = await truth.stream_version("s")
    assert await store.append("s", [Event(type="llm.call")]) >= version + 1
    log = await truth.read("s")
    assert [event.version for event in log] == list(range(1, len(log) + 1))
    pool = store.client.connection_pool
    assert len(pool._in_use_connections) <= 3  # of two lanes of appends, and of readers
