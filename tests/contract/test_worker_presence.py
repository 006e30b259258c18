"""The feed's list of consumers shows who lives, whatever there is to do; a dead one fades."""

from __future__ import annotations

import asyncio

import pytest

from streams.feed import ARCHIVERS, FeedGroup
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker.archiving import archiver

pytestmark = pytest.mark.parametrize("workshop", ["redis-7", "redis-6.2", "cluster"], indirect=True)


async def idle_ms(shop: Workshop) -> dict[str, int]:
    """Consumer → milliseconds since it was last heard of."""
    found = await shop.client.xinfo_consumers(shop.store().keys.feed, ARCHIVERS)
    return {item["name"].decode(): item["idle"] for item in found}


async def pending(shop: Workshop) -> list[tuple[int, int]]:
    """Of each entry in somebody's hands: since when, ms, and how often it was handed over."""
    keys = shop.store().keys
    found = await shop.client.xpending_range(keys.feed, ARCHIVERS, "-", "+", 100)
    return [(item["time_since_delivered"], item["times_delivered"]) for item in found]


async def test_a_worker_without_work_is_listed_as_alive(workshop: Workshop):
    living, dead = workshop.archiver("living"), workshop.archiver("dead")
    await living.start()
    await living.appear()
    await dead.appear()

    await eventually(lambda: _all_idle(workshop, 50))
    await living.appear()

    idle = await idle_ms(workshop)
    assert idle["living"] < 50 <= idle["dead"]


async def _all_idle(shop: Workshop, ms: int) -> bool:
    return min((await idle_ms(shop)).values()) >= ms


async def test_showing_up_touches_nothing_that_is_in_hand(workshop: Workshop):
    """Else the entries of a worker that hangs would never go to another."""
    await workshop.xadd_rounds("s", 3)
    await workshop.sequence()
    store = workshop.store()
    group = FeedGroup(store.wires.dedicated(), store.keys, ARCHIVERS, "one")
    await group.ensure()
    taken = await group.read(count=10)
    await eventually(lambda: _all_idle(workshop, 50))

    await group.appear()

    assert [since >= 50 for since, _ in await pending(workshop)] == [True] * len(taken.entries)
    assert {times for _, times in await pending(workshop)} == {1}
    await group.close()


async def test_no_wait_for_the_feed_is_so_long_that_a_living_worker_looks_dead(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archiver, "APPEAR_S", 0.05)
    waiting = workshop.archiver(block_ms=60_000)
    await waiting.start()

    async with asyncio.timeout(10):
        facts = await waiting.run_once(block=True)

    assert facts.entries == 0


async def test_where_the_group_is_gone_nothing_is_shown_and_nothing_fails(workshop: Workshop):
    await workshop.archiver().appear()

    assert not await workshop.client.exists(workshop.store().keys.feed)


async def test_who_ends_in_order_leaves_the_list(workshop: Workshop):
    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()
    one, two = workshop.archiver("one"), workshop.archiver("two")
    await drain(one)
    await two.appear()

    await one.close()

    assert set(await idle_ms(workshop)) == {"two"}


async def test_who_ends_with_something_in_hand_stays_until_others_have_it(workshop: Workshop):
    await workshop.xadd_rounds("s", 1)
    await workshop.sequence()
    store = workshop.store()
    group = FeedGroup(store.wires.dedicated(), store.keys, ARCHIVERS, "one")
    await group.ensure()
    await group.read(count=10)

    await group.leave()

    assert set(await idle_ms(workshop)) == {"one"}
    await drain(workshop.archiver("two", claim_idle_ms=0))
    assert workshop.rounds("s") == [1]
    await group.close()
