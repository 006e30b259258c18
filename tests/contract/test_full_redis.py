"""At `maxmemory`, component by component: what lets events go works, what takes more in waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from redis.exceptions import OutOfMemoryError

from streams.committing.commit import Committer
from streams.errors import StoreFull
from streams.event import Event
from streams.forced import snapshot
from streams.overview import Overview
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.subscribers import handle
from support.verified import verified
from support.waiting import eventually
from support.workshop import Workshop, drain, versions
from worker.sequencing.sequencer import Sequencer, SequencerPolicy
from worker.upkeep.janitor import Janitor

ROOM = 64 << 20


@pytest.fixture(params=[REDIS_7, REDIS_62])
def server(start_server, request: pytest.FixtureRequest) -> RedisServer:
    """A server of the test's own, to fill."""
    return start_server(request.param)


@pytest.fixture
async def shop(
    server: RedisServer, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Workshop]:
    async with AsyncExitStack() as stack:
        client = server.client()
        stack.push_async_callback(client.aclose)
        workshop = Workshop(client, "full", tmp_path / "rounds", stack)
        yield workshop
        await verified(workshop, request)


def fill(server: RedisServer) -> None:
    """From now on Redis refuses whatever takes memory."""
    with server.admin() as admin:
        admin.config_set("maxmemory", max(admin.info("memory")["used_memory"] - 200_000, 1))


def sequencer(shop: Workshop, overdraft: int) -> Sequencer:
    """A sequencer that may exceed the limit by so much."""
    store = shop.store()
    wire = store.wires.dedicated()
    shop.stack.push_async_callback(wire.close)
    policy = replace(store.options.commit, overdraft=overdraft)
    committer = Committer(wire, store.keys, store.clock, policy)
    return Sequencer(wire, committer, store.keys, SequencerPolicy(), shop.clock)


async def test_producers_are_refused(server: RedisServer, shop: Workshop):
    fill(server)

    with pytest.raises(OutOfMemoryError):
        await shop.xadd("s", "llm.call")
    with pytest.raises(StoreFull):
        await shop.store().append("s", [Event("llm.call")])


async def test_an_inbox_is_sequenced_archived_and_freed(server: RedisServer, shop: Workshop):
    for n in range(5):
        await shop.xadd_rounds(f"s{n}", 4, events=10)
    await shop.xadd("s0", "llm.call", "no object")
    fill(server)

    await drain(sequencer(shop, ROOM))
    await drain(shop.archiver())
    relief = shop.relief()
    freed = 0
    while not (facts := await relief.run_once()).ended:
        freed += facts.events
    freed += facts.events

    keys = shop.store().keys
    assert freed == 200
    assert await shop.client.xlen(keys.inbox) == 0
    assert await shop.client.xlen(keys.dead) == 1
    assert [len(shop.rounds(f"s{n}")) for n in range(5)] == [4] * 5


async def test_beyond_the_overdraft_the_inbox_stays_as_it_is(server: RedisServer, shop: Workshop):
    await shop.xadd_rounds("s", 1)
    fill(server)

    with pytest.raises(StoreFull):
        await sequencer(shop, 0).run_once()

    assert await shop.client.xlen(shop.store().keys.inbox) == 3
    assert await shop.store().stream_version("s") == 0


async def test_a_lost_race_at_maxmemory_is_read_again(server: RedisServer, shop: Workshop):
    """Compaction and others go on beside it: each event is in its log once, in order."""
    await shop.xadd_rounds("s", 2)
    await shop.sequence()
    await drain(shop.archiver())
    for n in range(30):
        await shop.xadd("s", "llm.call", {"n": n})
    slow = sequencer(shop, ROOM)
    fill(server)

    assert (await shop.compactor().relieve("s")).events == 6
    await drain(slow)

    assert versions(await shop.store().read("s")) == [6, *range(7, 37)]


async def test_a_sequencer_takes_over_from_a_dead_one(server: RedisServer, shop: Workshop):
    await shop.xadd_rounds("s", 1)
    dead = sequencer(shop, ROOM)
    await dead.run_once()
    await shop.xadd_rounds("s", 1)
    fill(server)
    with server.admin() as admin:
        admin.delete(shop.store().keys.lease("sequencer"))

    await drain(sequencer(shop, ROOM))

    assert await shop.store().stream_version("s") == 6


async def test_the_janitor_makes_its_round_and_retires_what_is_idle(
    server: RedisServer, shop: Workshop
):
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    shop.clock.forward(8 * 86_400_000)
    fill(server)

    tidied = await shop.janitor().run_once()

    assert tidied.retired.retired == 1
    assert not await shop.client.exists(shop.store().keys.log("s"))


async def test_a_group_nobody_takes_part_in_holds_the_feed_no_longer(
    server: RedisServer, shop: Workshop
):
    store = shop.store()
    async with store.subscribe(group="gone", start="beginning"):
        pass
    for n in range(5):
        await shop.xadd_rounds(f"s{n}", 1)
        await shop.sequence()
    await drain(shop.archiver())
    await store.wires.exchange([("ZADD", store.keys.groups, 1, "gone")])
    fill(server)

    tidied = await shop.janitor(feed_keep=0).run_once()

    assert tidied.groups_dropped == {"gone": "unseen"}
    assert await shop.client.xlen(store.keys.feed) == 1
    assert await shop.client.hlen(store.keys.group_losses("gone")) == 4


async def test_a_group_that_keeps_up_lets_the_feed_be_trimmed(server: RedisServer, shop: Workshop):
    store = shop.store()
    async with store.subscribe(group="g", start="beginning") as member:
        for n in range(5):
            await shop.xadd_rounds(f"s{n}", 1)
            await shop.sequence()
        await drain(shop.archiver())
        fill(server)
        await handle(member, 15)

        janitor = shop.janitor(feed_keep=0)
        await eventually(lambda: _trimmed(shop, janitor))


async def _trimmed(shop: Workshop, janitor: Janitor) -> bool:
    """Whether only the entry is left on which readers stand."""
    await janitor.run_once()
    return await shop.client.xlen(shop.store().keys.feed) == 1


async def test_subscribers_read_on_over_what_was_freed(server: RedisServer, shop: Workshop):
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    await drain(shop.archiver())
    await shop.xadd("s", "llm.call")
    await shop.sequence()
    fill(server)
    assert (await shop.compactor().relieve("s")).events == 3

    async with shop.store().subscribe(start="beginning") as subscription:
        seen = [(await anext(subscription)).version for _ in range(2)]

    assert seen == [3, 4]


async def test_looking_and_verifying_need_no_memory(server: RedisServer, shop: Workshop):
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    await drain(shop.archiver())
    fill(server)
    store = shop.store()
    overview = Overview(store.wires, store.keys)

    assert (await overview.tenant()).streams == 1
    assert [look.head async for look in overview.streams()] == [3]
    async with store.wires.borrow() as wire:
        looks = [("XLEN", store.keys.feed), ("LLEN", store.keys.feed)]
        count, wrong = await snapshot(wire, looks) or []
    assert count == 1
    assert isinstance(wrong, Exception)
