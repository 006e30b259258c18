"""Leases of the compactor and the janitor: short, renewed while work lasts, and binding."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable, Sequence

import pytest

from archive.publishing.published import Result
from archive.publishing.writer import FileArchiveWriter
from archive.record import RoundRecord
from streams.event import Event
from support.waiting import eventually
from support.workshop import Workshop, drain, versions
from worker.compacting.compactor import Compactor
from worker.upkeep.janitor import Janitor

TTL_MS = 200
DUE = {"threshold": 20, "keep_recent": 5}


@pytest.fixture
async def archived(workshop: Workshop) -> Workshop:
    """One stream of 60 events in 6 archived rounds."""
    await workshop.xadd_rounds("s", 6, events=10)
    await workshop.sequence()
    await drain(workshop.archiver())
    return workshop


class Thinking:
    """A summarizer that answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.was_cancelled = False

    async def __call__(self, events: Sequence[Event]) -> str:
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return "in short"


def thoughtful(shop: Workshop, thinking: Thinking) -> Compactor:
    """A compactor whose summarizer may take a minute, and whose lease is much shorter."""
    return shop.compactor(thinking, timeout_s=60, lease_ttl_ms=TTL_MS, **DUE)


class SlowWriter(FileArchiveWriter):
    """A volume that answers when it is told to."""

    def __init__(self, shop: Workshop) -> None:
        super().__init__(shop.directory, tenant=shop.tenant)
        self.writing, self.may_write = threading.Event(), threading.Event()

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        self.writing.set()
        assert self.may_write.wait(30)
        return super().record_many(records)


async def _life(shop: Workshop, key: bytes) -> int:
    """Milliseconds a lease has left; 0 where there is none."""
    return max(await shop.client.pttl(key), 0)


async def _held(janitor: Janitor) -> bool:
    return (await janitor.run_once()).held


async def lifetimes(count: float) -> None:
    """Until a lease that nobody renews would have lapsed `count` times."""
    until = time.monotonic() + count * TTL_MS / 1000
    await eventually(lambda: time.monotonic() > until)


async def test_a_stream_is_not_summarized_twice_however_long_it_takes(archived: Workshop):
    first, second = Thinking(), Thinking()
    compacting = asyncio.create_task(thoughtful(archived, first).compact("s"))
    await first.asked.wait()
    await lifetimes(3)

    beside = await thoughtful(archived, second).compact("s")
    first.may_answer.set()

    assert (beside.result, second.asked.is_set()) == ("conflict", False)
    assert (await compacting).events == 55


async def test_the_lease_of_a_compactor_that_vanishes_lapses_soon(archived: Workshop):
    """As after SIGKILL: nothing is released, nothing renewed."""
    compactor = archived.compactor(Thinking(), timeout_s=3600, **DUE)
    key = archived.store().keys.lease("compact:s")
    compacting = asyncio.create_task(compactor.compact("s"))

    left_ms = await eventually(lambda: _life(archived, key))
    compacting.cancel()

    assert left_ms <= 30_000


async def test_who_loses_its_lease_stops_asking_and_leaves_the_log_alone(archived: Workshop):
    thinking = Thinking()
    compacting = asyncio.create_task(thoughtful(archived, thinking).compact("s"))
    await thinking.asked.wait()

    await archived.client.set(archived.store().keys.lease("compact:s"), "another")
    done = await compacting

    assert (done.result, thinking.was_cancelled) == ("conflict", True)
    assert versions(await archived.store().read("s")) == list(range(1, 61))


async def test_a_lease_lost_with_the_last_word_of_a_summary_commits_nothing(archived: Workshop):
    key = archived.store().keys.lease("compact:s")

    async def too_late(events: Sequence[Event]) -> str:
        await archived.client.set(key, "another")
        return "in short"

    done = await archived.compactor(too_late, timeout_s=60, **DUE).compact("s")

    assert done.result == "conflict"
    assert versions(await archived.store().read("s")) == list(range(1, 61))
    assert await archived.client.get(key) == b"another"


async def test_the_janitor_keeps_its_lease_between_two_rounds(workshop: Workshop):
    janitor, other = workshop.janitor(lease_ttl_ms=TTL_MS), workshop.janitor()
    await janitor.run_once()
    stop = asyncio.Event()
    resting = asyncio.create_task(janitor.rest(stop, 60))
    await lifetimes(3)

    beside = await other.run_once()
    stop.set()
    await resting

    assert not beside.held


async def test_the_janitor_keeps_its_lease_during_a_long_round(workshop: Workshop):
    writer = SlowWriter(workshop)
    janitor = workshop.janitor(writer=writer, lease_ttl_ms=TTL_MS)
    await workshop.store().append("s", [Event("task.created"), Event("task.completed")])
    round_ = asyncio.create_task(janitor.run_once())
    await eventually(writer.writing.is_set)
    await lifetimes(3)

    beside = await workshop.janitor().run_once()
    writer.may_write.set()

    assert not beside.held
    assert (await round_).held


async def test_a_janitor_whose_volume_hangs_is_followed_by_another(workshop: Workshop):
    writer = SlowWriter(workshop)
    janitor = workshop.janitor(writer=writer, lease_ttl_ms=TTL_MS, stall_s=0.0)
    await workshop.store().append("s", [Event("task.created"), Event("task.completed")])
    hanging = asyncio.create_task(janitor.run_once())
    await eventually(writer.writing.is_set)

    other = workshop.janitor()

    assert await eventually(lambda: _held(other))
    writer.may_write.set()
    await hanging
    assert workshop.rounds("s") == [1]


async def test_who_waits_for_the_janitors_lease_looks_again_when_it_may_have_lapsed(
    workshop: Workshop,
):
    janitor = workshop.janitor(lease_ttl_ms=TTL_MS)

    async with asyncio.timeout(10):
        await janitor.rest(asyncio.Event(), 3600)
