"""The archivers' group under foreign hands and with dead members: nothing stops or is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.consumers import retire_consumers
from support.slow_writer import SlowWriter
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker.archiving.archiver import ArchiverFacts


@pytest.mark.parametrize("meddling", ["acked by hand", "group destroyed", "feed deleted"])
async def test_somebody_elses_hands_in_the_group_stop_nothing(every_shop: Workshop, meddling: str):
    shop = every_shop
    keys = shop.store().keys
    await shop.xadd_rounds("s", 2)
    await shop.sequence()
    writer = SlowWriter(shop, 0.5)
    archiver = shop.archiver(writer=writer, claim_idle_ms=300)
    await archiver.start()
    working = asyncio.create_task(archiver.run_once())
    await eventually(writer.working.is_set)
    if meddling == "acked by hand":
        pending = await shop.client.xpending_range(keys.feed, "archivers", "-", "+", 10)
        await shop.client.xack(keys.feed, "archivers", *(item["message_id"] for item in pending))
    elif meddling == "group destroyed":
        await shop.client.xgroup_destroy(keys.feed, "archivers")
    else:
        await shop.client.delete(keys.feed)

    facts = await working
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    await drain(archiver)
    await drain(archiver)

    assert facts.blocked is None
    assert shop.rounds("s") == [1, 2, 3]
    assert (await shop.client.xpending(keys.feed, "archivers"))["pending"] == 0


async def test_a_dead_consumer_goes_once_others_have_what_it_held(every_shop: Workshop):
    """Deleting a consumer deletes what it holds: it must hold nothing."""
    shop = every_shop
    store = shop.store()
    await shop.xadd_rounds("s", 4)
    await shop.sequence()
    group = (store.keys.feed, "archivers")
    await shop.client.xgroup_create(*group, "0")
    for n in range(30):  # pods that came and went without a word
        await shop.client.xgroup_createconsumer(*group, f"pod-{n}")
    await shop.client.xreadgroup("archivers", "dead", {store.keys.feed: ">"})
    await eventually(lambda: all_idle(shop))
    wire = store.wires.dedicated()

    assert await retire_consumers(wire, store.keys, group="archivers", idle_ms=0) == 30
    assert await names(shop) == {b"dead"}
    await drain(shop.archiver("alive", claim_idle_ms=0))
    await eventually(lambda: all_idle(shop))
    assert await retire_consumers(wire, store.keys, group="archivers", idle_ms=0) == 2
    assert shop.rounds("s") == [1, 2, 3, 4]
    await wire.close()


async def consumers(shop: Workshop) -> list[dict[str, Any]]:
    """Consumers of the archivers' group."""
    found: list[dict[str, Any]] = await shop.client.xinfo_consumers(
        shop.store().keys.feed, "archivers"
    )
    return found


async def names(shop: Workshop) -> set[bytes]:
    """Their names."""
    return {item["name"] for item in await consumers(shop)}


async def all_idle(shop: Workshop) -> bool:
    """Whether the last word of each is a millisecond old at least."""
    return all(item["idle"] > 0 for item in await consumers(shop))


@pytest.mark.parametrize("same_name", [True, False])
async def test_entries_trimmed_while_a_worker_held_them_are_acknowledged_and_counted(
    every_shop: Workshop, same_name: bool
):
    shop = every_shop
    keys = shop.store().keys
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    await shop.client.xgroup_create(keys.feed, "archivers", "0")
    await shop.client.xreadgroup("archivers", "one", {keys.feed: ">"})
    await shop.client.xtrim(keys.feed, maxlen=0, approximate=False)

    facts: list[ArchiverFacts] = await drain(
        shop.archiver("one" if same_name else "two", claim_idle_ms=0)
    )

    assert sum(item.vanished for item in facts) == 1
    assert (await shop.client.xpending(keys.feed, "archivers"))["pending"] == 0
    await shop.janitor().run_once()
    assert shop.rounds("s") == [1]
