"""What somebody else takes out of the inbox unread is noticed and counted, and nothing else is."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from streams.connection import open_client
from streams.erasure import erase_waiting
from streams.lease import Lease
from support.lossy_proxy import Fault, LossyProxy
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker.sequencing.losses import Level, Loss, find_loss
from worker.sequencing.sequencer import LEASE, Sequencer

LOOK_MS = 11_000


async def lost(sequencer: Sequencer) -> Counter[str]:
    """What a sequencer that drains the inbox finds missing."""
    found: Counter[str] = Counter()
    for facts in await drain(sequencer):
        found += facts.lost
    return found


async def trim(shop: Workshop, keep: int) -> None:
    await shop.client.xtrim(shop.store().keys.inbox, maxlen=keep, approximate=False)


async def send(shop: Workshop, count: int, stream: str = "s") -> None:
    for _ in range(count):
        await shop.xadd(stream, "x")


@pytest.mark.parametrize(
    ("before", "taken", "now", "loss"),
    [
        (Level(0, 0), 0, Level(0, 0), None),
        (Level(10, 4), 4, Level(12, 2), None),
        (Level(10, 4), 1, Level(12, 2), Loss("trimmed_unread", 3)),
        (Level(0, 0), 0, Level(20, 5), Loss("trimmed_unread", 15)),
        (Level(10, 4), 1, Level(2, 2), Loss("foreign_delete", 3)),
        (Level(10, 0), 0, Level(2, 2), None),
    ],
)
def test_what_is_missing_is_what_neither_stayed_nor_was_taken(before, taken, now, loss):
    assert find_loss(before, now, taken=taken) == loss


async def test_a_trim_before_the_first_worker_ever_is_noticed(shop: Workshop):
    await send(shop, 20)
    await trim(shop, 5)

    assert await lost(shop.sequencer()) == {"trimmed_unread": 15}
    assert await shop.store().stream_version("s") == 5


async def test_a_trim_while_no_worker_runs_is_noticed_by_the_next(shop: Workshop):
    first = shop.sequencer()
    await send(shop, 3)
    await drain(first)
    await first.release()
    await send(shop, 20)
    await trim(shop, 5)

    assert await lost(shop.sequencer()) == {"trimmed_unread": 15}


async def test_a_trim_under_a_running_worker_is_noticed(shop: Workshop):
    sequencer = shop.sequencer()
    await send(shop, 3)
    assert await lost(sequencer) == {}
    await send(shop, 9)
    await trim(shop, 2)

    shop.clock.forward(LOOK_MS)
    assert await lost(sequencer) == {"trimmed_unread": 7}
    shop.clock.forward(LOOK_MS)
    assert await lost(sequencer) == {}


async def test_a_deleted_inbox_is_noticed(shop: Workshop):
    """How much was in it is known for what had been seen there."""
    keys = shop.store().keys
    await shop.client.xadd(keys.log("hurt"), {"by": "hand"})
    await send(shop, 4, "hurt")
    await send(shop, 2)
    sequencer = shop.sequencer()
    assert await lost(sequencer) == {}
    shop.clock.forward(LOOK_MS)
    assert await lost(sequencer) == {}
    await shop.client.delete(keys.inbox)
    await send(shop, 1)

    shop.clock.forward(LOOK_MS)
    assert await lost(sequencer) == {"foreign_delete": 4}


async def test_a_worker_that_died_raises_no_false_alarm(shop: Workshop):
    dying = shop.sequencer()
    await send(shop, 3)
    await drain(dying)
    await send(shop, 5)
    await shop.client.delete(shop.store().keys.lease("sequencer"))

    assert await lost(shop.sequencer()) == {}


async def test_a_commit_cut_short_by_the_end_of_the_worker_is_no_loss(server, shop: Workshop):
    """Nobody waits for its answer any more: whether it took entries out isn't known."""
    await send(shop, 3)
    async with LossyProxy(server.port) as proxy:
        client = open_client(proxy.url)
        here = Workshop(client, shop.tenant, shop.directory, shop.stack, shop.clock)
        ending = here.sequencer()
        await drain(ending)
        await send(shop, 5)
        proxy.fail("ZADD", Fault.DELAY, delay_s=0.2)
        working = asyncio.create_task(ending.run_once())
        await eventually(lambda: proxy.hits)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await ending.release()
        await client.aclose()
    await eventually(lambda: shop.client.xlen(shop.store().keys.log("s")))

    assert await lost(shop.sequencer()) == {}
    assert await shop.store().stream_version("s") == 8


async def test_what_is_erased_is_not_lost(shop: Workshop):
    first, keys = shop.sequencer(), shop.store().keys
    await send(shop, 3)
    await drain(first)
    await first.release()
    await send(shop, 4, "private")
    wire = shop.store().wires.dedicated()
    lease = Lease(wire, keys, LEASE, ttl_ms=10_000, marks=keys.attempts)
    await lease.acquire()

    assert await erase_waiting(lease, wire, keys, lambda _: True) == 4
    await lease.release()

    assert await lost(shop.sequencer()) == {}
    await wire.close()


async def test_nothing_that_workers_do_is_taken_for_a_loss(every_shop: Workshop):
    """Repeats, bad entries, quarantined streams, hand-overs, deaths, in any order."""
    shop, chance = every_shop, random.Random(5)
    keys = shop.store().keys
    await shop.client.xadd(keys.log("hurt"), {"by": "hand"})
    found: Counter[str] = Counter()
    sequencer = shop.sequencer()
    for n in range(120):
        action = chance.choice(["send", "repeat", "bad", "hurt", "pass", "release", "die", "wait"])
        if action == "send":
            await shop.xadd(f"s{n % 3}", "x")
        elif action == "repeat":
            await shop.xadd("s", "x", id=f"id-{n // 9}")
        elif action == "bad":
            await shop.xadd("s", "x", "no object")
        elif action == "hurt":
            await shop.xadd("hurt", "x", id=f"id-{n // 9}")
        elif action == "release":
            await sequencer.release()
        elif action == "die":
            await shop.client.delete(keys.lease("sequencer"))
            sequencer = shop.sequencer()
        elif action == "wait":
            shop.clock.forward(LOOK_MS)
        found += await lost(sequencer)

    assert found == {}
    assert await shop.client.xlen(keys.inbox) > 0


async def test_a_trim_of_the_feed_before_the_archivers_read_it_is_noticed_once(shop: Workshop):
    """The scan finds the rounds; the group's lag is true again."""
    keys = shop.store().keys
    archiver = shop.archiver()
    for n in range(20):
        await shop.xadd_rounds(f"s{n}", 1)
        if n == 2:
            await shop.sequence()
            await drain(archiver)
    await shop.sequence()
    await shop.client.xtrim(keys.feed, maxlen=5, approximate=False)
    await drain(archiver)
    janitor = shop.janitor()

    assert [(await janitor.run_once()).feed_lost for _ in range(2)] == [12, 0]

    [group] = await shop.client.xinfo_groups(keys.feed)
    assert group["lag"] == 0
    assert len(shop.files()) == 20


async def test_trimming_of_ones_own_is_no_loss(every_shop: Workshop):
    shop = every_shop
    archiver, janitor = shop.archiver(), shop.janitor(feed_keep=3)
    for n in range(30):
        await shop.xadd_rounds(f"s{n % 7}", 1)
        await shop.sequence()
        await drain(archiver)
        if n % 5 == 0:
            tidied = await janitor.run_once()
            assert tidied.feed_lost == 0
            assert n < 5 or tidied.feed_trimmed > 0


async def test_a_scan_beside_archivers_that_lag_takes_nothing_for_lost(shop: Workshop):
    janitor = shop.janitor(feed_keep=0)
    archiver = shop.archiver(batch=2)
    for n in range(12):
        await shop.xadd_rounds(f"s{n}", 1)
        await shop.sequence()
        await archiver.run_once()
        assert (await janitor.run_once()).feed_lost == 0
