"""A sequencer among the dead, the full, the slow and the damaged: it goes on, and rests."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
import redis.asyncio

from streams.connection import open_client
from streams.errors import StoreUnavailable, TooMuchContention
from streams.inbox import parse_entry
from support.lossy_proxy import Fault, LossyProxy
from support.workshop import Workshop, drain
from worker.sequencing.reader import PagePolicy


class Died(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def deadly(monkeypatch):
    """Decoding an entry whose payload says so ends the worker."""

    def parse(entry_id, fields, limits):
        if any(b"poison" in value for value in fields):
            raise Died
        return parse_entry(entry_id, fields, limits)

    monkeypatch.setattr("worker.sequencing.page.parse_entry", parse)


def behind(proxy: LossyProxy, shop: Workshop) -> Workshop:
    """The same tenant, reached through a proxy."""
    return Workshop(open_client(proxy.url), shop.tenant, shop.directory, shop.stack, shop.clock)


async def die(shop: Workshop, **policy) -> bool:
    """A worker takes over from a dead one; whether it dies too."""
    await shop.client.delete(shop.store().keys.lease("sequencer"))
    try:
        await drain(shop.sequencer(**policy))
    except Died:
        return True
    return False


async def quarantine(shop: Workshop, entries: int) -> None:
    """Entries at the head of the inbox that can't leave it."""
    await shop.xadd("hurt", "x")
    await shop.sequence()
    await shop.client.xadd(shop.store().keys.log("hurt"), {"by": "hand"})
    for _ in range(entries):
        await shop.xadd("hurt", "x")


@pytest.mark.damage("a quarantined stream holds entries up")
async def test_an_entry_that_has_to_stay_never_becomes_poison(shop: Workshop):
    """Workers come and go by SIGKILL for months; the entry they all met first is innocent."""
    await quarantine(shop, 2)
    for n in range(12):
        await shop.xadd("s", "x", {"n": n})
        assert not await die(shop)

    keys = shop.store().keys
    assert await shop.client.xlen(keys.inbox) == 2
    assert await shop.client.xlen(keys.dead) == 0
    assert await shop.store().stream_version("s") == 12
    assert list(await shop.client.hgetall(keys.attempts)) == [b"holder"]


@pytest.mark.damage("a quarantined stream holds entries up")
async def test_poison_behind_many_that_have_to_stay_is_found(shop: Workshop, deadly):
    await quarantine(shop, 9)
    await shop.xadd("s", "x", {"poison": True})
    await shop.xadd("s", "x", {"n": 1})
    page = PagePolicy(entries=4)

    deaths = 0
    while await die(shop, page=page):
        deaths += 1
        assert deaths < 20

    assert await shop.client.xlen(shop.store().keys.dead) == 1
    assert await shop.store().stream_version("s") == 1


async def test_poison_that_finds_no_room_among_the_dead_is_not_decoded_again(
    shop: Workshop, deadly
):
    await shop.xadd("s", "x", "no object")
    await shop.xadd("s", "x", {"poison": True})
    await shop.xadd("s", "x", {"n": 1})
    while await die(shop, dead_max=1):
        pass
    sequencer = shop.sequencer(dead_max=1)
    await shop.client.delete(shop.store().keys.lease("sequencer"))
    for _ in range(5):
        await drain(sequencer)
        shop.clock.forward(61_000)

    assert await shop.client.xlen(shop.store().keys.inbox) == 1
    await shop.client.xtrim(shop.store().keys.dead, maxlen=0, approximate=False)
    shop.clock.forward(61_000)
    await drain(sequencer)
    assert await shop.client.xlen(shop.store().keys.inbox) == 0
    assert await shop.store().stream_version("s") == 1


async def test_a_failing_network_makes_nobody_poison(server, shop: Workshop):
    """An attempt that ends by a lost connection says nothing about its entry."""
    await shop.xadd("s", "x", {"n": 1})
    keys = shop.store().keys
    await shop.client.hset(keys.attempts, mapping={"holder": "dead", "0-1": "1"})
    async with LossyProxy(server.port) as proxy:
        through = behind(proxy, shop)
        sequencer = through.sequencer()
        for _ in range(12):
            proxy.fail("ZADD", Fault.REFUSE)
            with pytest.raises(StoreUnavailable):
                await drain(sequencer)
        proxy.heal()
        await drain(sequencer)
        await through.client.aclose()

    assert await shop.client.xlen(keys.dead) == 0
    assert await shop.store().stream_version("s") == 1


@pytest.mark.parametrize(
    "stays",
    ["dead stream full", pytest.param("quarantined", marks=pytest.mark.damage("a foreign entry"))],
)
async def test_at_rest_entries_that_stay_cost_nothing(shop: Workshop, stays: str):
    """Waiting before them would return at once: a loop as fast as Redis answers."""
    if stays == "quarantined":
        await quarantine(shop, 3)
    else:
        for _ in range(3):
            await shop.xadd("s", "x", "no object")
    sequencer = shop.sequencer(dead_max=1, block_ms=300)
    await drain(sequencer)

    began = time.monotonic()
    await sequencer.wait(asyncio.Event())

    assert time.monotonic() - began > 0.25


async def test_what_stayed_is_taken_up_again_once_there_is_room(shop: Workshop):
    for _ in range(3):
        await shop.xadd("s", "x", "no object")
    sequencer = shop.sequencer(dead_max=1)
    await drain(sequencer)
    await shop.client.xtrim(shop.store().keys.dead, maxlen=0, approximate=False)

    shop.clock.forward(61_000)
    await shop.xadd("s", "x")
    await drain(sequencer)

    assert await shop.client.xlen(shop.store().keys.inbox) == 1
    assert await shop.store().stream_version("s") == 1


@pytest.mark.damage("a quarantined stream holds entries up")
async def test_a_long_pass_that_commits_nothing_keeps_its_lease(shop: Workshop):
    await quarantine(shop, 30)
    sequencer = shop.sequencer(page=PagePolicy(entries=1))
    lease = shop.store().keys.lease("sequencer")
    for _ in range(30):
        facts = await sequencer.run_once()
        assert facts.held
        shop.clock.forward(1_000)
        await shop.client.pexpire(lease, await shop.client.pttl(lease) - 1_000)

    assert await shop.client.pttl(lease) > 5_000


async def test_a_clock_set_back_by_an_hour_costs_neither_the_lease_nor_those_who_wait(
    shop: Workshop,
):
    await quarantine(shop, 1)
    sequencer = shop.sequencer()
    await drain(sequencer)
    shop.clock.forward(-3_600_000)
    lease = shop.store().keys.lease("sequencer")
    await shop.client.pexpire(lease, 500)

    await drain(sequencer)

    assert await shop.client.pttl(lease) > 5_000
    await shop.client.delete(shop.store().keys.log("hurt"), shop.store().keys.head("hurt"))
    shop.clock.forward(-1_000)
    await drain(sequencer)
    assert await shop.store().stream_version("hurt") == 1


async def test_a_lease_won_behind_a_lost_reply_is_told(server, shop: Workshop):
    """Else the fleet looks as if nobody sequenced."""
    async with LossyProxy(server.port) as proxy:
        through = behind(proxy, shop)
        sequencer = through.sequencer()
        proxy.fail("HGET", Fault.DROP)
        with pytest.raises(StoreUnavailable):
            await sequencer.run_once()

        facts = await sequencer.run_once()

        assert (facts.held, facts.lease) == (True, "acquired")
        assert (await sequencer.run_once()).lease == ""
        await through.client.aclose()


async def test_a_ghost_of_a_lost_reply_holds_the_lease_no_longer_than_its_time(
    server, shop: Workshop
):
    await shop.xadd("s", "x")
    async with LossyProxy(server.port) as proxy:
        through = behind(proxy, shop)
        sequencer = through.sequencer(lease_ttl_ms=1_000)
        proxy.fail("SET", Fault.DROP)
        with pytest.raises(StoreUnavailable):
            await sequencer.run_once()
        assert 0 < await shop.client.pttl(shop.store().keys.lease("sequencer")) <= 1_000

        began = time.monotonic()
        while not (await sequencer.run_once()).held:
            assert time.monotonic() - began < 5
            await sequencer.wait(asyncio.Event())
        await drain(sequencer)
        await through.client.aclose()

    assert await shop.store().stream_version("s") == 1
    assert list(await shop.client.hgetall(shop.store().keys.attempts)) == [b"holder"]


async def test_a_producer_whose_client_sends_again_records_each_event_once(server, shop: Workshop):
    """redis-py repeats an XADD whose reply was lost, up to ten times, and tells nobody."""
    keys = shop.store().keys
    async with LossyProxy(server.port) as proxy:
        producer = redis.asyncio.Redis(port=proxy.port)
        for n in range(30):
            if n % 3 == 0:
                proxy.fail("XADD", Fault.DROP, times=2)
            await producer.xadd(keys.inbox, {"stream": f"s{n % 2}", "type": "x", "id": f"e{n}"})
        await producer.aclose()
    sent = await shop.client.xlen(keys.inbox)

    facts = await drain(shop.sequencer())

    assert sent > 30
    assert sum(item.events for item in facts) == 30
    assert sum(item.repeats for item in facts) == sent - 30
    events = [event.id for stream in ("s0", "s1") for event in await shop.store().read(stream)]
    assert sorted(events) == sorted(f"e{n}" for n in range(30))


async def test_a_stream_that_is_refused_once_is_not_overtaken_by_its_own_later_events(
    shop: Workshop,
):
    """Three streams in twenty pages; now and then one loses every race and has to wait."""
    chance = random.Random(3)
    for n in range(60):
        for stream in ("a", "b", "c"):
            await shop.xadd(stream, "x", {"n": n})
    sequencer = shop.sequencer(page=PagePolicy(entries=9))
    committer = sequencer._commits._committer
    commit = committer.commit

    async def refuse_some(appends, *, guard=None):
        refused = {append.stream for append in appends if chance.random() < 0.2}
        willing = [append for append in appends if append.stream not in refused]
        outcomes = iter(await commit(willing, guard=guard) if willing else [])
        return [
            TooMuchContention(append.stream, 1) if append.stream in refused else next(outcomes)
            for append in appends
        ]

    committer.commit = refuse_some
    while await shop.client.xlen(shop.store().keys.inbox):
        await drain(sequencer)
        shop.clock.forward(61_000)

    for stream in ("a", "b", "c"):
        events = await shop.store().read(stream)
        assert [event.payload["n"] for event in events] == list(range(60))


async def test_a_reply_that_is_none_is_a_lost_connection(shop: Workshop):
    """What no parser can read must neither hang a caller nor be taken for an answer."""

    async def talk_nonsense(reader, writer) -> None:
        while await reader.read(1_000):
            writer.write(b"?!\x00 nonsense\r\n")
            await writer.drain()

    async with await asyncio.start_server(talk_nonsense, "127.0.0.1", 0) as babbler:
        port = babbler.sockets[0].getsockname()[1]
        client = open_client(f"redis://127.0.0.1:{port}")
        with pytest.raises(StoreUnavailable):
            await (
                Workshop(client, shop.tenant, shop.directory, shop.stack, shop.clock)
                .sequencer()
                .run_once()
            )
        await client.aclose()
