"""An archiver far behind, on a slow disk, or coming back: each round once, bounded in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from archive import FileArchiveWriter, RoundRecord
from archive.publishing.published import Result
from streams.errors import StoreUnavailable
from streams.event import Event
from streams.subscription.patience import pause
from support.slow_writer import SlowWriter
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker.archiving import stream_archiver as archiving
from worker.archiving.rounds import RoundLimits

FAR_BEHIND = 6_000


async def fall_behind(shop: Workshop) -> None:
    """One stream with many times more than is read at once, all of it to be cut."""
    await shop.store().append("s", [Event("llm.call") for _ in range(FAR_BEHIND)])


class Killed(Exception):
    """The worker is gone."""


class DyingWriter(FileArchiveWriter):
    """Its worker is killed when the rounds are published and the state doesn't know it yet."""

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        super().record_many(records)
        raise Killed


async def test_a_kill_before_the_state_moved_doubles_no_round_that_is_too_old_by_then(
    shop: Workshop,
):
    """Of six rounds at once two may stay: four that went too early would come back as others."""
    await shop.xadd_rounds("s", 6)
    await shop.sequence()
    with pytest.raises(Killed):
        await drain(shop.archiver(writer=DyingWriter(shop.directory, 2, tenant=shop.tenant)))

    writer = FileArchiveWriter(shop.directory, 2, tenant=shop.tenant)
    await drain(shop.archiver("two", writer=writer, claim_idle_ms=0))

    found = [(r.round, r.epoch, r.last_version) for r in shop.records("s")]
    assert found == [(5, 0, 15), (6, 0, 18)]


async def test_a_stream_far_behind_is_archived_to_its_end(shop: Workshop):
    await fall_behind(shop)

    await drain(shop.archiver(limits=RoundLimits(max_events=100)))

    assert len(shop.rounds("s")) == FAR_BEHIND // 100


async def test_the_scan_archives_a_stream_far_behind_to_its_end(shop: Workshop):
    await fall_behind(shop)
    await shop.client.delete(shop.store().keys.feed)
    janitor = shop.janitor()
    janitor._archiver = shop.stream_archiver(limits=RoundLimits(max_events=100))

    await janitor.run_once()

    assert len(shop.rounds("s")) == FAR_BEHIND // 100


async def test_many_large_rounds_are_never_in_memory_all_at_once(shop: Workshop, monkeypatch):
    """A batch of 64 streams may hold gigabytes."""
    for n in range(14):
        text = "x" * (3 << 20)
        events = [Event("llm.call", {"text": text}), Event("task.completed")]
        await shop.store().append(f"s{n}", events)
    at_once: list[int] = []
    read = archiving.read_tails

    async def noting(wire, keys, spans, limits):
        tails, failures = await read(wire, keys, spans, limits)
        at_once.append(sum(sum(tail.sizes) for tail in tails))
        return tails, failures

    monkeypatch.setattr(archiving, "read_tails", noting)
    await drain(shop.archiver())

    assert len(shop.files()) == 14
    assert max(at_once) < 20 << 20


async def test_a_disk_slower_than_the_claim_time_makes_no_worker_do_anothers_work(shop: Workshop):
    for n in range(20):
        await shop.xadd_rounds(f"s{n}", 1)
    await shop.sequence()
    writer = SlowWriter(shop, 1.0)
    workers = [
        shop.archiver(name, writer=writer, claim_idle_ms=300, batch=7)
        for name in ("one", "two", "three")
    ]
    done = asyncio.Event()

    async def work(name: int) -> int:
        claimed = 0
        while not done.is_set():
            facts = await workers[name].run_once()
            claimed += facts.claimed
            if not facts.more:
                await pause(done, 0.05)
        return claimed

    tasks = [asyncio.create_task(work(n)) for n in range(3)]
    await eventually(lambda: len(shop.files()) == 20, 20)
    done.set()
    claimed = await asyncio.gather(*tasks)

    assert sorted(writer.asked) == sorted((f"s{n}", 1) for n in range(20))
    assert sum(claimed) == 0


async def test_one_worker_takes_on_no_more_than_a_batch(shop: Workshop):
    """The rest of a backlog is there for others at once, whatever becomes of the first."""
    for n in range(200):
        await shop.xadd_rounds(f"s{n}", 1)
    await shop.sequence()
    keys = shop.store().keys
    writer = SlowWriter(shop, 0.5)
    archiver = shop.archiver(writer=writer, batch=20)
    await archiver.start()
    working = asyncio.create_task(archiver.run_once())
    await eventually(writer.working.is_set)

    assert (await shop.client.xpending(keys.feed, "archivers"))["pending"] == 20
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await drain(shop.archiver("two", batch=500, claim_idle_ms=0))
    assert len(shop.files()) == 200


async def test_entries_whose_delivery_was_lost_come_at_the_next_read(every_shop: Workshop):
    """They are pending with this consumer: nobody else would get them for a minute."""
    shop = every_shop
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    archiver = shop.archiver()
    await archiver.start()
    exchange = archiver._group._wire.exchange

    async def lose_once(commands, **options):
        replies = await exchange(commands, **options)
        if commands[0][-1] == ">":
            archiver._group._wire.exchange = exchange
            raise StoreUnavailable("lost")
        return replies

    archiver._group._wire.exchange = lose_once
    with pytest.raises(StoreUnavailable):
        await archiver.run_once()
    await drain(archiver)

    assert shop.rounds("s") == [1]


async def test_a_worker_that_comes_back_under_its_name_takes_up_what_it_held(every_shop: Workshop):
    shop = every_shop
    keys = shop.store().keys
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    await shop.client.xgroup_create(keys.feed, "archivers", "0")
    await shop.client.xreadgroup("archivers", "worker-0", {keys.feed: ">"})

    await drain(shop.archiver("worker-0", claim_idle_ms=3_600_000))

    assert shop.rounds("s") == [1]
    assert (await shop.client.xpending(keys.feed, "archivers"))["pending"] == 0


async def test_acknowledgements_that_were_undone_change_no_file(every_shop: Workshop):
    """As after a failover that lost them."""
    shop = every_shop
    keys = shop.store().keys
    for n in range(10):
        await shop.xadd_rounds(f"s{n}", 2)
    await shop.sequence()
    await drain(shop.archiver())
    before, state = shop.files(), await shop.client.hgetall(keys.state("s1"))

    await shop.client.xgroup_setid(keys.feed, "archivers", "0")
    facts = await drain(shop.archiver())

    assert shop.files() == before
    assert await shop.client.hgetall(keys.state("s1")) == state
    assert sum(item.entries for item in facts) == 10
    assert sum(len(item.archived.rounds) for item in facts) == 0
