"""An archiver far behind, on slow disks, beside others, without its group: each round once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

import pytest

from archive.published import Result
from archive.record import RoundRecord
from archive.writer import FileArchiveWriter
from streams.consumers import retire_consumers
from streams.errors import StoreUnavailable
from streams.event import Event
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker import archiving
from worker.archiver import ArchiverFacts
from worker.deadly_streams import DeadlyStream
from worker.rounds import RoundLimits

FAR_BEHIND = 6_000


async def fall_behind(shop: Workshop) -> None:
    """One stream with many times more than is read at once, all of it to be cut."""
    await shop.store().append("s", [Event("llm.call") for _ in range(FAR_BEHIND)])


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


class SlowWriter:
    """A volume on which everything takes `seconds`; notes what it was asked to publish."""

    def __init__(self, shop: Workshop, seconds: float) -> None:
        self._writer = FileArchiveWriter(shop.directory, tenant=shop.tenant)
        self._seconds = seconds
        self.asked: list[tuple[str, int]] = []
        self.working = threading.Event()

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        waiting = list(records)
        self.asked += [(record.stream_id, record.round) for record in waiting]
        self.working.set()
        threading.Event().wait(self._seconds)
        return self._writer.record_many(waiting)


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
                await asyncio.sleep(0.05)
        return claimed

    tasks = [asyncio.create_task(work(n)) for n in range(3)]
    await eventually(lambda: len(shop.files()) == 20, 20)
    done.set()
    claimed = await asyncio.gather(*tasks)

    assert sorted(writer.asked) == sorted((f"s{n}", 1) for n in range(20))
    assert sum(claimed) == 0


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
    await asyncio.sleep(0.01)
    wire = store.wires.dedicated()

    assert await retire_consumers(wire, store.keys, group="archivers", idle_ms=0) == 30
    assert await names(shop) == {b"dead"}
    await drain(shop.archiver("alive", claim_idle_ms=0))
    await asyncio.sleep(0.01)
    assert await retire_consumers(wire, store.keys, group="archivers", idle_ms=0) == 2
    assert shop.rounds("s") == [1, 2, 3, 4]
    await wire.close()


async def names(shop: Workshop) -> set[bytes]:
    """Consumers of the archivers' group."""
    found = await shop.client.xinfo_consumers(shop.store().keys.feed, "archivers")
    return {item["name"] for item in found}


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


class Died(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def deadly(monkeypatch):
    """Building a record of the stream `deadly` ends the worker."""
    build = archiving.build_round_record

    def build_or_die(**facts):
        if facts["events"][0].stream_id == "deadly":
            raise Died
        return build(**facts)

    monkeypatch.setattr(archiving, "build_round_record", build_or_die)


async def die_until_done(work) -> int:
    """A new worker after each death; how many died."""
    for deaths in range(20):
        try:
            await work(deaths)
        except Died:
            continue
        return deaths
    raise AssertionError("workers die without end")


@pytest.mark.parametrize("by", ["feed", "scan"])
async def test_a_stream_that_kills_archivers_is_set_aside_and_holds_up_no_other(
    every_shop: Workshop, deadly, by: str
):
    shop = every_shop
    for stream in ("a", "deadly", "z"):
        await shop.xadd_rounds(stream, 1)
    await shop.sequence()

    async def take_over(n: int) -> None:
        if by == "feed":
            await drain(shop.archiver(f"worker-{n}", claim_idle_ms=0))
        else:
            await shop.client.delete(shop.store().keys.lease("janitor"))
            await shop.janitor().run_once()

    assert await die_until_done(take_over) <= 6

    assert shop.rounds("a") == shop.rounds("z") == [1]
    tidied = await shop.janitor().run_once()
    await shop.client.delete(shop.store().keys.lease("janitor"))
    tidied = await shop.janitor().run_once()
    assert isinstance(tidied.archived.failures["deadly"], DeadlyStream)


async def test_a_failing_network_makes_no_stream_deadly(every_shop: Workshop):
    shop = every_shop
    await shop.xadd_rounds("s", 1)
    await shop.sequence()
    archiver = shop.stream_archiver()
    attempt = archiver._attempt

    async def fail(*args):
        raise StoreUnavailable("away")

    archiver._attempt = fail
    for _ in range(10):
        with pytest.raises(StoreUnavailable):
            await archiver.archive(["s"], archiving.Archived(), wary=True)
    archiver._attempt = attempt
    archived = archiving.Archived()
    await archiver.archive(["s"], archived, wary=True)

    assert archived.failures == {}
    assert shop.rounds("s") == [1]
    assert await shop.client.hgetall(shop.store().keys.deadly) == {}
