"""All parts of one tenant, and draining them once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from streams.redis_store import RedisEventStore

from .parts import ArchiverPart, CompactionPart, JanitorPart, SequencerPart
from .runner import Part


@dataclass(frozen=True, slots=True)
class TenantPipeline:
    """What a worker does for one tenant."""

    store: RedisEventStore
    sequencer: SequencerPart
    archiver: ArchiverPart
    compactor: CompactionPart
    janitor: JanitorPart

    def parts(self) -> Iterator[Part]:
        """The parts, in the order in which they are best stopped."""
        yield self.sequencer
        yield self.archiver
        yield self.compactor
        yield self.janitor

    async def drain_once(self, stop: asyncio.Event) -> None:
        """Sequence what is in the inbox, archive what is finished, compact what is due.

        Waits for a sequencer that lives elsewhere, until the inbox is empty or `stop` is set.
        """
        while not stop.is_set():
            if await self.sequencer.work():
                continue
            if self.sequencer.held or await self._inbox_is_empty():
                break
            await self.sequencer.rest(stop)
        for part in (self.archiver, self.janitor, self.compactor):
            while not stop.is_set() and await part.work():
                pass

    async def _inbox_is_empty(self) -> bool:
        (length,) = await self.store.wires.exchange([("XLEN", self.store.keys.inbox)])
        return int(length) == 0
