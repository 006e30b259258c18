"""Compaction by several workers at once, on a full disk, and beside forgetting: nothing is lost."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterable, Sequence

import pytest

from archive.failures import ArchiveFailure
from archive.record import RoundRecord
from streams.errors import AresError
from streams.event import SUMMARY_TYPE, Event
from streams.integrity import verify_stream_integrity
from streams.summary import unpack
from support.workshop import Workshop, drain, versions
from worker.compacting.compactor import Compactor
from worker.upkeep.retirement import RetirementPolicy


async def archived(shop: Workshop, stream: str, rounds: int) -> None:
    """Finished rounds of ten events, archived."""
    await shop.xadd_rounds(stream, rounds, events=10)
    await shop.sequence()
    await drain(shop.archiver())


async def spans(shop: Workshop, stream: str) -> list[tuple[int, int]]:
    """First and last version of each summary."""
    packed = await shop.client.lrange(shop.store().keys.summaries(stream), 0, -1)
    return [(item.first_version, item.last_version) for item in map(unpack, packed)]


async def compact_all(compactor: Compactor, stream: str) -> None:
    while (await compactor.compact(stream)).more:
        pass


async def test_an_event_appended_while_a_summary_is_written_is_still_there(shop: Workshop):
    """Three workers, a slow summarizer, one busy stream: one summary a span, before the tail."""
    asked: list[tuple[int, int]] = []

    async def summarize(events: Sequence[Event]) -> str:
        asked.append((events[0].version, events[-1].version))
        await asyncio.sleep(0.05)
        return "in short"

    policy = {"threshold": 20, "keep_recent": 5, "max_window": 30}
    compactors = [shop.compactor(summarize, **policy) for _ in range(3)]
    for _ in range(5):
        await archived(shop, "s", 3)
        await asyncio.gather(*(compact_all(each, "s") for each in compactors))
    await shop.store().append("s", [Event("llm.call")])

    events = await shop.store().read("s")
    verify_stream_integrity(events)
    assert events[-1].version == 151
    kinds = [event.type == SUMMARY_TYPE for event in events]
    assert kinds == sorted(kinds, reverse=True)
    assert len(asked) == len(set(asked)), "a span was summarized more than once"
    assert [(first, last) for first, last in asked] == await spans(shop, "s")


class Killed(BaseException):
    """What no handler of errors sees."""


async def test_a_worker_that_died_while_it_summarized_is_followed_by_another(shop: Workshop):
    await archived(shop, "s", 6)

    async def die(events: Sequence[Event]) -> str:
        raise Killed

    async def summarize(events: Sequence[Event]) -> str:
        return "in short"

    with pytest.raises(Killed):
        await shop.compactor(die, threshold=20, keep_recent=5).compact("s")
    await compact_all(shop.compactor(summarize, threshold=20, keep_recent=5), "s")

    assert await spans(shop, "s") == [(1, 55)]


class MeddlingWire:
    """A connection of a compactor that lets another one work after its first exchange."""

    def __init__(self, wire, meddle) -> None:
        self._wire, self._meddle = wire, meddle

    async def exchange(self, commands):
        replies = await self._wire.exchange(commands)
        meddle, self._meddle = self._meddle, None
        if meddle is not None:
            await meddle()
        return replies

    async def close(self) -> None:
        await self._wire.close()


async def test_summaries_merged_while_the_oldest_is_forgotten_leave_no_gap(shop: Workshop):
    await archived(shop, "s", 6)
    policy = {"threshold": 5, "keep_recent": 0, "max_window": 10, "summary_ttl_ms": 1_000}
    one, two = shop.compactor(**policy), shop.compactor(**policy, max_summaries=2)
    for _ in range(4):
        await one.compact("s")
    shop.clock.forward(10_000)

    async def fold_and_merge() -> None:
        await two.compact("s")

    one._wire = MeddlingWire(one._wire, fold_and_merge)
    await one.forget_old("s")

    state = await shop.client.hgetall(shop.store().keys.state("s"))
    left = await spans(shop, "s")
    due = int(state[b"forgotten_version"]) + 1
    for first, last in left:
        assert first == due
        due = last + 1
    assert due == int(state[b"compacted_version"]) + 1


class FullDisk:
    """A volume that takes nothing more."""

    def record_many(self, records: Iterable[RoundRecord]) -> list[AresError]:
        """As `FileArchiveWriter.record_many`."""
        full = OSError(errno.ENOSPC, "No space left on device")
        return [ArchiveFailure("write", "round", full) for _ in records]


async def test_on_a_full_disk_nothing_leaves_redis(shop: Workshop):
    await shop.xadd_rounds("s", 9, events=10)
    await shop.sequence()
    facts = await shop.archiver(writer=FullDisk()).run_once()

    for force in (False, True):
        await shop.compactor(threshold=5, keep_recent=0).compact("s", force=force)

    assert facts.blocked is not None
    assert versions(await shop.store().read("s")) == list(range(1, 91))
    assert len(await shop.raw_log("s")) == 90


@pytest.mark.damage("one log has a foreign entry, another lacks one of ours")
async def test_an_idle_stream_that_is_damaged_does_not_end_the_janitors_round(shop: Workshop):
    for stream in ("a", "b", "c", "d"):
        await archived(shop, stream, 1)
    keys = shop.store().keys
    await shop.client.xadd(keys.log("b"), {"by": "hand"})
    await shop.client.xdel(keys.log("c"), (await shop.raw_log("c"))[4][0])
    shop.clock.forward(10_000)

    tidied = await shop.janitor(idle=RetirementPolicy(stream_ttl_ms=1_000)).run_once()

    assert list(tidied.archived.failures) == ["c"]
    assert tidied.retired.retired == 2
    assert await shop.client.exists(keys.log("a"), keys.log("d")) == 0
    assert [fields for _, fields in await shop.raw_log("b")] == [{b"by": b"hand"}]
    assert await shop.client.xlen(keys.log("c")) == 9
