"""The janitor on every kind of Redis: finds what nobody announced, takes away nothing needed."""

from __future__ import annotations

import pytest

from streams.event import Event
from support.workshop import Workshop, drain, versions
from worker.upkeep.retirement import RetirementPolicy

DAY_MS = 86_400_000
IDLE = RetirementPolicy(stream_ttl_ms=7 * DAY_MS, forget_after_ms=90 * DAY_MS)


async def test_a_round_nobody_announced_is_archived(workshop: Workshop):
    await workshop.store().append("s", [Event("task.created"), Event("task.completed")])
    await workshop.client.delete(workshop.store().keys.feed)

    await workshop.janitor().run_once()

    assert workshop.rounds("s") == [1]


async def test_only_one_worker_tidies_at_a_time(workshop: Workshop):
    first, second = workshop.janitor(), workshop.janitor()
    await first.run_once()

    assert not (await second.run_once()).held
    await first.release()
    assert (await second.run_once()).held


async def test_the_feed_keeps_what_the_slowest_group_has_not_finished(workshop: Workshop):
    store = workshop.store()
    for number in range(20):
        await store.append("s", [Event("llm.call", {"n": number})])
    keys = store.keys
    await workshop.client.xgroup_create(keys.feed, "archivers", "0")
    await workshop.client.xgroup_create(keys.feed, "slow", "0")
    await workshop.client.xreadgroup("archivers", "one", {keys.feed: ">"}, noack=True)
    await workshop.client.xreadgroup("slow", "one", {keys.feed: ">"}, count=5, noack=True)

    tidied = await workshop.janitor(feed_keep=2).run_once()

    assert tidied.feed_trimmed == 5
    assert await workshop.client.xlen(keys.feed) == 15


async def test_pending_entries_are_never_trimmed(workshop: Workshop):
    store = workshop.store()
    for number in range(10):
        await store.append("s", [Event("llm.call", {"n": number})])
    keys = store.keys
    await workshop.client.xgroup_create(keys.feed, "archivers", "0")
    await workshop.client.xreadgroup("archivers", "one", {keys.feed: ">"})

    tidied = await workshop.janitor(feed_keep=0).run_once()

    assert tidied.feed_trimmed == 0


async def test_a_feed_that_everybody_has_read_keeps_its_newest_entries(workshop: Workshop):
    store = workshop.store()
    for number in range(10):
        await store.append("s", [Event("llm.call", {"n": number})])
    await drain(workshop.archiver())

    await workshop.janitor(feed_keep=4).run_once()

    assert await workshop.client.xlen(store.keys.feed) == 4


async def test_an_idle_stream_is_retired_and_goes_on_where_it_was(workshop: Workshop):
    store = workshop.store()
    await store.append("s", [Event("task.created"), Event("task.completed"), Event("llm.call")])

    workshop.clock.forward(8 * DAY_MS)
    tidied = await workshop.janitor(idle=IDLE).run_once()

    assert tidied.retired.retired == 1
    assert [record.outcome for record in workshop.records("s")] == ["completed", "unfinished"]
    assert not await workshop.client.exists(store.keys.log("s"))
    assert versions(await store.read("s")) == [3]
    assert await store.append("s", [Event("task.created")], expected_version=3) == 4
    assert versions(await store.read("s")) == [3, 4]


async def test_a_busy_stream_is_left_alone(workshop: Workshop):
    store = workshop.store()
    await store.append("s", [Event("llm.call")])
    workshop.clock.forward(6 * DAY_MS)

    tidied = await workshop.janitor(idle=IDLE).run_once()

    assert (tidied.retired.retired, workshop.rounds("s")) == (0, [])


async def test_a_stream_idle_for_very_long_is_forgotten_and_its_rounds_stay(workshop: Workshop):
    store = workshop.store()
    await store.append("s", [Event("task.created"), Event("task.completed")])
    workshop.clock.forward(8 * DAY_MS)
    janitor = workshop.janitor(idle=IDLE)
    await janitor.run_once()
    workshop.clock.forward(90 * DAY_MS)

    tidied = await janitor.run_once()

    assert tidied.retired.forgotten == 1
    assert await store.list_streams() == []
    assert await store.stream_version("s") == 0
    left = await workshop.client.keys(f"ares:{{{workshop.tenant}}}:*:s")
    assert left == []
    assert workshop.rounds("s") == [1]


async def test_a_forgotten_stream_that_wakes_opens_a_new_epoch(workshop: Workshop):
    store = workshop.store()
    await store.append("s", [Event("task.created"), Event("task.completed")])
    workshop.clock.forward(100 * DAY_MS)
    janitor = workshop.janitor(idle=IDLE)
    await janitor.run_once()
    await janitor.run_once()

    await store.append("s", [Event("task.created"), Event("task.completed")])
    await drain(workshop.archiver())

    records = workshop.records("s")
    assert [(r.round, r.epoch, r.first_version) for r in records] == [(1, 0, 1), (2, 1, 1)]


@pytest.mark.parametrize("never", ["stream_ttl_ms", "forget_after_ms"])
async def test_zero_means_never(workshop: Workshop, never: str):
    store = workshop.store()
    await store.append("s", [Event("task.created"), Event("task.completed")])
    workshop.clock.forward(1_000 * DAY_MS)
    policy = {"stream_ttl_ms": DAY_MS, "forget_after_ms": DAY_MS, never: 0}
    janitor = workshop.janitor(idle=RetirementPolicy(**policy))
    await janitor.run_once()

    tidied = await janitor.run_once()

    assert tidied.retired.forgotten == 0
    assert await store.stream_version("s") == 2
