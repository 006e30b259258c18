"""`verify` beside a busy fleet: what is true is found in every pass, and nothing that isn't."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from archive.erase import Eraser
from archive.failures import RoundNotFound
from archive.publishing.writer import FileArchiveWriter
from archive.storage.volume import Volume
from archive.survey import Survey
from streams.keys import Keys
from streams.tail import read_facts
from support.waiting import eventually
from support.workshop import Workshop, drain
from worker.compacting.compactor import Compactor
from worker.upkeep.retirement import RetirementPolicy
from worker.verifying.verifier import Verifier

PASSES = 10
KEPT = 12
STREAMS = [f"s{number}" for number in range(6)]
EVERYTHING = {"compacted", "retired", "forgotten", "summaries dropped", "erased"}
IDLE = RetirementPolicy(stream_ttl_ms=4_000, forget_after_ms=9_000)


class Fleet:
    """Two workers and a producer: rounds rotate away, streams fall idle, are forgotten and wake."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        self.done: set[str] = set()
        self._chance = random.Random(7)
        self._stop = asyncio.Event()
        self._wire = shop.store().wires.dedicated()

    async def __aenter__(self) -> Fleet:
        sequencer = self.shop.sequencer()
        janitor = self.shop.janitor(writer=self._writer(), idle=IDLE)
        works: list[Callable[[], Awaitable[object]]] = [
            self._produce(), sequencer.run_once, self._tidy(janitor), self._erase(),
        ]  # fmt: skip
        for name in ("one", "two"):
            works.append(self.shop.archiver(name, writer=self._writer()).run_once)
            compactor = self.shop.compactor(
                threshold=4, keep_recent=1, max_summaries=2, summary_ttl_ms=2_000
            )
            works.append(self._compact(compactor))
        self._group = await asyncio.TaskGroup().__aenter__()  # one that fails ends the test
        for work in works:
            self._group.create_task(self._loop(work))
        return self

    async def __aexit__(self, *failure: Any) -> None:
        self._stop.set()
        await self._group.__aexit__(*failure)
        await self._wire.close()

    def _writer(self) -> FileArchiveWriter:
        return FileArchiveWriter(self.shop.directory, KEPT, tenant=self.shop.tenant)

    async def _loop(self, work: Callable[[], Awaitable[object]]) -> None:
        while not self._stop.is_set():
            await work()
            await asyncio.sleep(0)

    def _produce(self) -> Callable[[], Awaitable[None]]:
        turns = itertools.count()

        async def produce() -> None:
            """Two streams at a time, the others idle: each for long enough to be forgotten."""
            first = next(turns) // 5
            for number in (first, first + 1):
                stream = STREAMS[number % len(STREAMS)]
                await eventually(lambda stream=stream: self._is_archived(stream))
                await self.shop.xadd_rounds(stream, 4)
            self.shop.clock.forward(800)

        return produce

    async def _is_archived(self, stream: str) -> bool:
        """Nearly: what waits is less than what rotation keeps. Meanwhile time goes on."""
        self.shop.clock.forward(100)
        keys = Keys(self.shop.tenant)
        (facts,) = await read_facts(self._wire, keys, [stream])
        waiting = await self.shop.client.xlen(keys.inbox)
        nearly = waiting < 10 and facts.head - facts.state.archived_version < 10
        return nearly or self._stop.is_set()

    def _tidy(self, janitor) -> Callable[[], Awaitable[None]]:
        async def tidy() -> None:
            tidied = await janitor.run_once()
            self.done |= {"retired"} if tidied.retired.retired else set()
            self.done |= {"forgotten"} if tidied.retired.forgotten else set()

        return tidy

    def _compact(self, compactor: Compactor) -> Callable[[], Awaitable[None]]:
        async def compact() -> None:
            stream = self._chance.choice(STREAMS)
            self.done.add((await compactor.compact(stream)).result)
            self.done |= {"summaries dropped"} if await compactor.forget_old(stream) else set()

        return compact

    def _erase(self) -> Callable[[], Awaitable[None]]:
        eraser = Eraser(self.shop.directory)

        async def erase() -> None:
            stream = self._chance.choice(STREAMS)
            numbers = self.shop.rounds(stream)
            if len(numbers) > 2 and self._chance.random() < 0.1:
                with suppress(RoundNotFound):  # it rotated away meanwhile
                    await asyncio.to_thread(eraser.round, self.shop.tenant, stream, numbers[-2])
                    self.done.add("erased")
            await asyncio.sleep(0.01)

        return erase


@pytest.mark.damage("one file is damaged, which every pass must name")
async def test_every_pass_beside_busy_workers_finds_the_damage_and_nothing_else(shop: Workshop):
    await shop.xadd_rounds("hurt", 3)
    await shop.sequence()
    await drain(shop.archiver())
    (shop.directory / shop.tenant / "hurt" / "round_2.json").write_bytes(b"")
    survey, store = Survey(Volume(shop.directory), [shop.tenant]), shop.store()
    passes = []

    async with asyncio.timeout(60), Fleet(shop) as fleet:
        while len(passes) < PASSES or not fleet.done >= EVERYTHING:
            verifier = Verifier(store, survey, pause_s=0.05)
            passes.append([f async for f in verifier.verify() if not f.is_note])

    for found in passes:
        assert [(finding.stream, finding.kind) for finding in found] == [
            ("hurt", "damaged"),
            ("hurt", "gap"),
        ]
