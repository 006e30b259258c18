"""All parts of one tenant, and draining them once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streams.errors import AresError, StoreFull
from streams.redis_store import RedisEventStore

from .parts import ArchiverPart, CompactionPart, JanitorPart, ReliefPart, SequencerPart
from .runner import Part

_TRIES_FULL: Final = 3


@dataclass(frozen=True, slots=True)
class TenantPipeline:
    """What a worker does for one tenant."""

    store: RedisEventStore
    sequencer: SequencerPart
    archiver: ArchiverPart
    compactor: CompactionPart
    relief: ReliefPart
    janitor: JanitorPart

    def parts(self) -> Iterator[Part]:
        """The parts, in the order in which they are best stopped."""
        yield self.sequencer
        yield self.archiver
        yield self.compactor
        yield self.relief
        yield self.janitor

    @property
    def in_hand(self) -> int:
        """Events being sequenced or archived."""
        return self.sequencer.in_hand + self.archiver.in_hand

    async def drain_once(self, stop: asyncio.Event) -> None:
        """Sequence what is in the inbox, archive what is finished, compact what is due.

        Waits for a sequencer that lives elsewhere, until the inbox is empty or `stop` is set.
        Raises what stood in the way of one stream only after the others are done.
        """
        while not stop.is_set():
            if await self._sequence(stop):
                continue
            if self.sequencer.held or await self._inbox_is_empty():
                break
            await self.sequencer.rest(stop)
        # Archiving may take longer than the lease lasts: another worker shall not have to wait.
        await self.sequencer.close()
        failures: dict[str, AresError] = {}
        for part in (self.archiver, self.janitor, self.compactor, self.relief):
            more = True
            while more and not stop.is_set():
                more = await part.work()
                failures |= part.failures
        for failure in failures.values():
            raise failure

    async def _sequence(self, stop: asyncio.Event) -> bool:
        """One page of the inbox; where Redis is full, what can be freed goes first."""
        for _ in range(_TRIES_FULL):
            try:
                return await self.sequencer.work()
            except StoreFull:
                self.relief.refused()
                for part in (self.archiver, self.relief):
                    while not stop.is_set() and await part.work():
                        pass
        return await self.sequencer.work()

    async def _inbox_is_empty(self) -> bool:
        (length,) = await self.store.wires.exchange([("XLEN", self.store.keys.inbox)])
        return int(length) == 0
