"""Any packet to Redis lost on its way there or back: tried again, everything comes out the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from streams.errors import StoreUnavailable
from streams.summary import unpack
from streams.wire import Command, Reply, Wire
from support.workshop import Workshop
from worker.archiving.archiver import Archiver
from worker.compacting.compactor import Compactor
from worker.sequencing.sequencer import Sequencer
from worker.upkeep.janitor import Janitor

MOST_PACKETS = 300


class Losses:
    """Loses the packet numbered `at`, before the server has it or after: then it has run."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.at, self.after = at, after
        self.count = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Count every exchange of every wire from now on."""
        exchange = Wire.exchange

        async def lossy(
            wire: Wire, commands: Sequence[Command], *, timeout_s: float | None = None
        ) -> list[Reply]:
            self.count += 1
            lost = self.count == self.at
            replies: list[Reply] = []
            if self.after or not lost:
                replies = await exchange(wire, commands, timeout_s=timeout_s)
            if lost:
                await wire.close()
                raise StoreUnavailable("lost")
            return replies

        monkeypatch.setattr(Wire, "exchange", lossy)


class Crew:
    """One of each component; whatever fails is called again, as the runner would."""

    def __init__(self, shop: Workshop) -> None:
        self.sequencer: Sequencer = shop.sequencer()
        self.archiver: Archiver = shop.archiver(claim_idle_ms=0)
        policy = {"threshold": 6, "keep_recent": 2, "max_window": 5, "max_summaries": 2}
        self.compactor: Compactor = shop.compactor(**policy)
        self.janitor: Janitor = shop.janitor()
        self._shop = shop

    async def work(self) -> None:
        """Everything there is to do."""
        await self._until_done(self._sequence)
        await self._until_done(self._archive)
        await self._until_done(self._compact)
        await self._until_done(self.janitor.run_once)

    async def _until_done(self, step) -> None:
        for _ in range(5):
            try:
                await step()
            except StoreUnavailable:
                # The time passes after which a lease nobody knows of is gone.
                await self._shop.client.delete(self._shop.store().keys.lease("janitor"))
                continue
            return
        raise AssertionError("one lost packet makes more than one failure")

    async def _sequence(self) -> None:
        while True:
            facts = await self.sequencer.run_once()
            if not facts.held:
                await self._shop.client.delete(self._shop.store().keys.lease("sequencer"))
            elif not facts.more:
                return

    async def _archive(self) -> None:
        await self.archiver.start()
        while (await self.archiver.run_once()).more:
            pass

    async def _compact(self) -> None:
        for stream in ("a", "b"):
            while (await self.compactor.compact(stream)).more:
                pass


async def prepare(shop: Workshop) -> None:
    for n in range(12):
        for stream in ("a", "b"):
            type_ = "task.completed" if n % 4 == 3 else "llm.call"
            await shop.xadd(stream, type_, {"n": n}, id=f"{stream}{n}", timestamp="1700000000000")
    await shop.xadd("a", "x", "no object")
    await shop.xadd("a", "llm.call", {"n": 0}, id="a0", timestamp="1700000000000")


async def result(shop: Workshop) -> dict[str, object]:
    """All that must not depend on what was lost."""
    keys, client = shop.store().keys, shop.client
    found: dict[str, object] = {
        "files": {name.partition("/")[2]: text for name, text in shop.files().items()},
        "waiting": await client.xlen(keys.inbox),
        "pending": (await client.xpending(keys.feed, "archivers"))["pending"],
        "dead": [fields[b"f:payload"] for _, fields in await client.xrange(keys.dead)],
    }
    for stream in ("a", "b"):
        log = await shop.raw_log(stream)
        summaries = map(unpack, await client.lrange(keys.summaries(stream), 0, -1))
        found[stream] = (
            [(name.partition(b"-")[0], fields[b"id"]) for name, fields in log],
            sum(item.event_count for item in summaries),
            await client.hgetall(keys.state(stream)),
        )
    return found


@asynccontextmanager
async def fresh(shop: Workshop, number: int) -> AsyncIterator[Workshop]:
    """A tenant and an archive of its own for each try."""
    async with shop.stack.__class__() as stack:
        folder = shop.directory / str(number)
        yield Workshop(shop.client, f"{shop.tenant}-{number}", folder, stack)


def same(name: object, tenant: str, *, other: str) -> object:
    """Records name their tenant."""
    return str(name).replace(tenant, other)


async def sweep(shop: Workshop, monkeypatch, *, after: bool, stride: int) -> None:
    """Lose one packet a try, every `stride`th in turn; the first try loses none."""
    expected: str | None = None
    for at in range(0, MOST_PACKETS, stride):
        async with fresh(shop, at) as own:
            await prepare(own)
            losses = Losses(at, after=after)
            with monkeypatch.context() as patch:
                losses.install(patch)
                await Crew(own).work()
            seen = same(await result(own), own.tenant, other="tenant")
        expected = expected or seen
        assert seen == expected, f"packet {at} was lost"
        if at > losses.count:
            break
    else:
        pytest.fail("there are more packets than were tried")
    assert losses.count > 30


WAYS = pytest.mark.parametrize("after", [False, True], ids=["never sent", "reply lost"])


@WAYS
async def test_some_packet_may_be_lost(shop: Workshop, monkeypatch, after: bool):
    await sweep(shop, monkeypatch, after=after, stride=9)


@pytest.mark.chaos
@WAYS
async def test_every_packet_in_turn_may_be_lost(shop: Workshop, monkeypatch, after: bool):
    await sweep(shop, monkeypatch, after=after, stride=1)
