"""Feed → round files: every finished round published once, whatever dies in between.

The durable order, nowhere else and never otherwise: file fsynced and published → state advanced →
feed acknowledged. Repeating any step is harmless.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from streams.errors import AresError, CorruptionError
from streams.event import TERMINAL_TYPES
from streams.feed import Delivery, FeedEntry, FeedGroup

from .facts import Archived
from .stream_archiver import StreamArchiver

APPEAR_S: Final = 5.0
"""How often a worker shows that it is alive, at least; see `FeedGroup.appear`."""

_LIMIT_CHECK_EVENTS: Final = 1024


@dataclass(frozen=True, slots=True)
class ArchiverPolicy:
    """Bounds of the archiver; see the settings of the same names."""

    batch: int = 500
    claim_idle_ms: int = 60_000
    block_ms: int = 1_000


@dataclass(slots=True)
class ArchiverFacts:
    """Facts of one `run_once`.

    `blocked` is why the batch could not be finished: it is held and tried again by the next call.
    `vanished` feed entries were trimmed, or are unreadable; the scan finds their rounds. `trimmed`
    is how many of them somebody took away.
    `direct_events` were appended by producers themselves, as the feed announces for the first time.
    """

    archived: Archived = field(default_factory=Archived)
    entries: int = 0
    claimed: int = 0
    vanished: int = 0
    trimmed: int = 0
    direct_events: int = 0
    recreated: bool = False
    blocked: AresError | None = None

    @property
    def more(self) -> bool:
        """Whether there may be more to do at once."""
        return self.entries > 0 and self.blocked is None


class Archiver:
    """One consumer of the group `archivers`. One `run_once` at a time."""

    def __init__(self, group: FeedGroup, streams: StreamArchiver, policy: ArchiverPolicy) -> None:
        self._group, self._streams, self._policy = group, streams, policy
        self._held: Delivery | None = None
        self._reads_to_claim = 0

    @property
    def in_hand(self) -> int:
        """Events announced to this worker and not yet acknowledged."""
        held = self._held
        return sum(entry.events for entry in held.entries) if held else 0

    async def start(self) -> None:
        """Make sure the group exists."""
        await self._group.ensure()

    async def run_once(self, *, block: bool = False) -> ArchiverFacts:
        """Archive what one batch of feed entries announces; with `block` wait for the first.

        Raises `StoreUnavailable`; the batch is held then, too.
        """
        facts = ArchiverFacts()
        delivery = self._held or await self._receive(facts, block=block)
        self._held = delivery
        facts.entries, facts.vanished = len(delivery.ids), len(delivery.void)
        facts.trimmed = delivery.trimmed
        if not delivery.ids:
            self._held = None
            return facts
        async with self._renewing(delivery):
            await self._streams.archive(
                _announced(delivery.entries), facts.archived, wary=delivery.inherited
            )
        facts.blocked = _blocking(facts.archived.failures.values())
        if facts.blocked is None:
            await self._group.ack(delivery.ids)
            self._held = None
        return facts

    async def appear(self) -> None:
        """Show that this worker is alive, though it may have nothing to do."""
        await self._group.appear()

    async def close(self) -> None:
        """Leave the group, unless something is still in hand, and close the connection."""
        try:
            await self._group.leave()
        finally:
            await self._group.close()

    async def _receive(self, facts: ArchiverFacts, *, block: bool) -> Delivery:
        """New entries; every now and then, and before waiting, those a dead worker left."""
        delivery = Delivery()
        if self._reads_to_claim <= 0:
            self._reads_to_claim = _READS_PER_CLAIM
            delivery = await self._group.claim(
                idle_ms=self._policy.claim_idle_ms, count=self._policy.batch
            )
            facts.claimed = len(delivery.entries)
        if not delivery.ids:
            self._reads_to_claim -= 1
            recreated = delivery.recreated
            # A longer wait would make a living worker look dead.
            block_ms = min(self._policy.block_ms, int(APPEAR_S * 1000)) if block else None
            delivery = await self._group.read(count=self._policy.batch, block_ms=block_ms)
            facts.recreated = recreated or delivery.recreated
            facts.direct_events = sum(entry.events for entry in delivery.entries if entry.direct)
        return delivery

    @asynccontextmanager
    async def _renewing(self, delivery: Delivery) -> AsyncIterator[None]:
        """Keep the entries from being claimed by others while they are worked on."""
        done = asyncio.Event()
        task = asyncio.create_task(self._renew_until(done, delivery.ids))
        try:
            yield
        finally:
            done.set()
            await task

    async def _renew_until(self, done: asyncio.Event, ids: list[bytes]) -> None:
        every_s = min(self._policy.claim_idle_ms / 3000, APPEAR_S)
        while not done.is_set():
            try:
                async with asyncio.timeout(every_s):
                    await done.wait()
            except TimeoutError:
                # Losing the entries to another worker costs work done twice, nothing else.
                with contextlib.suppress(AresError):
                    await self._group.renew(ids)


_READS_PER_CLAIM: Final = 20


def _announced(entries: Iterable[FeedEntry]) -> list[str]:
    """Streams with something to archive: a round ended, or an open one may be over its limit."""
    streams: dict[str, None] = {}
    for entry in entries:
        crossed = entry.last // _LIMIT_CHECK_EVENTS > (entry.first - 1) // _LIMIT_CHECK_EVENTS
        if crossed or not entry.types.isdisjoint(TERMINAL_TYPES):
            streams[entry.stream] = None
    return list(streams)


def _blocking(failures: Iterable[AresError]) -> AresError | None:
    """A failure that holds up the batch: a damaged stream doesn't, a refusing volume does."""
    return next((exc for exc in failures if not isinstance(exc, CorruptionError)), None)
