"""Appends whose network fails at the worst moment, and appends that compete: once, or told so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from streams.errors import OutcomeUnknown, StoreUnavailable, VersionConflict
from streams.event import Event
from streams.redis_store import RedisEventStore, StoreOptions
from streams.store import ANY
from streams.wire import Command, Reply, Wire
from support.lossy_proxy import Fault, LossyProxy

TIMEOUT_S = 0.3


async def connect(url: str, tenant: str) -> RedisEventStore:
    return await RedisEventStore.connect(url, tenant, options=StoreOptions(timeout_s=TIMEOUT_S))


@pytest.fixture
async def proxy(server):
    async with LossyProxy(server.port) as running:
        yield running


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


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.REFUSE, Fault.BLACKHOLE])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_lost_reply_whose_reading_back_is_lost_too_is_still_found(
    proxy, store, truth, fault, times
):
    """Not knowing yet must never be taken for knowing that nothing was written."""
    event = Event(type="llm.call")
    proxy.fail("EXEC", Fault.DROP)
    proxy.fail("XRANGE", fault, times=times)

    assert await store.append("s", [event]) == 1

    assert proxy.hits == 1 + times
    assert [found.id for found in await truth.read("s")] == [event.id]


@pytest.mark.parametrize("expected", [ANY, 1])
async def test_a_commit_that_happens_after_its_caller_stopped_waiting_happens_once(
    proxy, store, truth, expected
):
    await truth.append("s", [Event(type="llm.call")])
    event = Event(type="llm.call")
    proxy.fail("EXEC", Fault.DELAY, delay_s=3 * TIMEOUT_S)

    assert await store.append("s", [event], expected) == 2

    await asyncio.sleep(3 * TIMEOUT_S)  # whatever was still on its way has arrived
    assert [found.id for found in await truth.read("s", 2)] == [event.id]


class Meddled(Wire):
    """A wire that loses `races` races for a stream, then the reply to its EXEC."""

    races: int
    rival: RedisEventStore

    async def exchange(
        self, commands: Sequence[Command], *, timeout_s: float | None = None
    ) -> list[Reply]:
        """As `Wire.exchange`."""
        if commands[0][0] != "MULTI" or not any(command[0] == "XADD" for command in commands):
            return await super().exchange(commands, timeout_s=timeout_s)
        self.races -= 1
        if self.races >= 0:
            await self.rival.append("s", [Event(type="rival")])
        replies = await super().exchange(commands, timeout_s=timeout_s)
        if self.races == -1:
            await self.close()
            raise StoreUnavailable("the reply was lost")
        return replies


async def test_a_reply_lost_after_many_lost_races_is_read_back_all_the_same(server, tenant):
    async with await connect(server.url, tenant) as store, await connect(server.url, tenant) as own:
        wire = Meddled(store.client, store.keys.inbox)
        wire.races, wire.rival = 12, store
        for lane in own._lanes:
            lane._committer = own.committer(wire)
        event = Event(type="llm.call")

        assert await own.append("s", [event]) == 13

        assert [found.id for found in await store.read("s", 13)] == [event.id]
        await wire.close()


async def test_forty_writers_on_one_stream_all_get_through(server, tenant):
    """Each has connections of its own, as forty processes would have."""

    async def write(writer: int) -> list[int]:
        async with await RedisEventStore.connect(server.url, tenant) as store:
            return [
                await store.append("s", [Event(type="x", payload={"w": writer, "n": n})])
                for n in range(10)
            ]

    told = await asyncio.gather(*(write(writer) for writer in range(40)))

    assert sorted(version for versions in told for version in versions) == list(range(1, 401))
    async with await RedisEventStore.connect(server.url, tenant) as store:
        log = await store.read("s")
    for writer, versions in enumerate(told):
        assert versions == sorted(versions)
        own = [event for event in log if event.payload["w"] == writer]
        assert [event.payload["n"] for event in own] == list(range(10))


async def test_of_many_with_one_expectation_one_wins_in_every_round(server, tenant):
    async def attempt(store: RedisEventStore, expected: int) -> int | VersionConflict:
        try:
            return await store.append("s", [Event(type="x")], expected)
        except VersionConflict as conflict:
            return conflict

    stores = [await connect(server.url, tenant) for _ in range(10)]
    await stores[0].append("s", [Event(type="x")])
    for version in range(1, 31):
        results = await asyncio.gather(*(attempt(store, version) for store in stores))
        conflicts = [item for item in results if isinstance(item, VersionConflict)]
        assert [item for item in results if not isinstance(item, VersionConflict)] == [version + 1]
        assert {(item.expected, item.actual) for item in conflicts} == {(version, version + 1)}
    for store in stores:
        await store.close()


async def test_many_writers_through_a_network_that_loses_commits_lose_and_repeat_nothing(
    proxy, tenant, truth
):
    """Told a version: there, once. Told nothing is known: at most once."""
    told: dict[str, int] = {}
    unknown: set[str] = set()

    async def write(writer: int) -> None:
        async with await connect(proxy.url, tenant) as store:
            for n in range(9):
                event = Event(type="llm.call")
                if n % 3 == 0:
                    proxy.fail("EXEC", Fault.DROP)
                    proxy.fail("XRANGE", Fault.DROP)
                try:
                    told[event.id] = await store.append(f"s{writer % 2}", [event])
                except OutcomeUnknown:
                    unknown.add(event.id)

    await asyncio.gather(*(write(writer) for writer in range(8)))

    logs = [await truth.read(stream) for stream in ("s0", "s1")]
    stored = [(event.id, event.version) for log in logs for event in log]
    assert len(dict(stored)) == len(stored)
    assert told.items() <= dict(stored).items()
    assert dict(stored).keys() - told.keys() <= unknown
    assert proxy.hits > 10


async def test_both_doors_into_one_stream_lose_repeat_and_reorder_nothing(server, shop):
    """The SDK and the inbox, two sequencers in turns, eight writers, one stream."""
    keys, done = shop.store().keys, asyncio.Event()

    async def produce(producer: int) -> None:
        for n in range(40):
            await shop.xadd("s", "inbox", {"p": producer, "n": n}, id=f"i{producer}-{n}")
            await asyncio.sleep(0)

    async def append(writer: int) -> None:
        async with await RedisEventStore.connect(server.url, shop.tenant) as store:
            for n in range(40):
                await store.append("s", [Event("sdk", {"p": writer, "n": n})])

    async def sequence() -> None:
        sequencer = shop.sequencer()
        while not done.is_set() or await shop.client.xlen(keys.inbox):
            await sequencer.run_once()
            await sequencer.release()  # the other one's turn
            await asyncio.sleep(0)

    sequencing = [asyncio.create_task(sequence()) for _ in range(2)]
    await asyncio.gather(*map(produce, range(4)), *map(append, range(4)))
    done.set()
    await asyncio.wait_for(asyncio.gather(*sequencing), 60)

    log = await shop.store().read("s")
    assert [event.version for event in log] == list(range(1, 321))
    for door in ("inbox", "sdk"):
        for producer in range(4):
            own = [e.payload["n"] for e in log if e.type == door and e.payload["p"] == producer]
            assert own == list(range(40))
