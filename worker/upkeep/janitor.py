"""The slow round through a tenant: finds what no feed entry announced, and tidies up.

One worker a tenant does it at a time. Nothing depends on it for correctness of what is announced;
it is what brings lost announcements, old summaries and dead consumers to an end.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from streams.consumers import retire_consumers
from streams.durable.upkeep import note_losses, tend_groups
from streams.errors import CorruptionError, LeaseLost, StreamCorrupted, TransientError
from streams.feed import ARCHIVERS
from streams.feed_upkeep import settle_lag, trim_feed
from streams.keeping import keep_during
from streams.keys import Keys
from streams.lease import Acquired, Lease
from streams.pausing import pause
from streams.tail import StreamFacts, read_facts
from streams.wire import Reply, Wire, checked
from worker.archiving.facts import Archived
from worker.archiving.stream_archiver import StreamArchiver
from worker.compacting.compactor import Compactor

from .retirement import Retired, Retirement

LEASE: Final = "janitor"

_STREAMS_AT_ONCE: Final = 200
_TRIM_CHUNK: Final = 1_000
_REMEMBERED: Final = 100_000


@dataclass(frozen=True, slots=True)
class JanitorPolicy:
    """Bounds of the janitor; see the settings of the same names.

    A holder that dies is followed after `lease_ttl_ms`; one that hangs, on its volume say, after
    `stall_s` seconds more.
    """

    lease_ttl_ms: int = 30_000
    stall_s: float = 300.0
    owner: str = ""
    feed_keep: int = 10_000
    feed_max: int = 1_000_000
    group_ttl_ms: int = 7 * 86_400_000
    consumer_idle_ms: int = 3_600_000
    max_round_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True)
class Tidied:
    """Facts of one round through the tenant; `groups_dropped` is name → reason.

    `feed_lost` entries were trimmed by somebody else before any archiver had read them; their
    rounds were found by this scan.
    """

    held: bool = True
    streams: int = 0
    archived: Archived = field(default_factory=Archived)
    retired: Retired = field(default_factory=Retired)
    feed_trimmed: int = 0
    feed_lost: int = 0
    consumers_retired: int = 0
    summaries_forgotten: int = 0
    groups_dropped: dict[str, str] = field(default_factory=dict)


class Janitor:
    """Scans one tenant. One `run_once` at a time."""

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        archiver: StreamArchiver,
        compactor: Compactor,
        retirement: Retirement,
        policy: JanitorPolicy,
    ) -> None:
        self._wire, self._keys, self._policy = wire, keys, policy
        self._archiver, self._compactor, self._retirement = archiver, compactor, retirement
        # The lease is renewed while a round is under way, so it has a connection of its own.
        self._lease_wire = wire.sibling()
        self._lease = Lease(
            self._lease_wire, keys, LEASE, ttl_ms=policy.lease_ttl_ms, owner=policy.owner
        )
        self._progress_s = 0.0
        # Streams with an open round only, and their head then: not read again until it moves.
        self._open: OrderedDict[str, int] = OrderedDict()
        self._wary = True

    async def run_once(self) -> Tidied:
        """One round through all streams of the tenant, if no other worker is at it.

        Raises `StoreUnavailable`; the next call begins anew.
        """
        tidied = Tidied()
        if not self._lease.held:
            self._wary = True  # the last holder may have died of a stream it met
            if await self._lease.acquire() is Acquired.NO:
                return Tidied(held=False)
        self._progress_s = time.monotonic()
        try:
            # A round that has lost its lease ends at its next page: its files are being written.
            await keep_during(self._lease, self._round(tidied), keeps=self._gets_on, cancels=False)
        except LeaseLost:
            tidied.held = False
        return tidied

    async def rest(self, stop: asyncio.Event, seconds: float) -> None:
        """Keep the lease for `seconds` or until `stop`; without it, until it may be free."""
        until = time.monotonic() + seconds
        if not self._lease.held:
            until = min(until, time.monotonic() + self._policy.lease_ttl_ms / 1000)
        while not stop.is_set() and (left := until - time.monotonic()) > 0:
            await pause(stop, min(left, self._lease.renewal_s))
            if self._lease.held:
                # Whatever stands in the way, the next round meets and tells it.
                with contextlib.suppress(LeaseLost, TransientError):
                    await self._lease.renew()

    async def release(self) -> None:
        """Let another worker go on."""
        await self._lease.release()

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()
        await self._lease_wire.close()
        await self._archiver.close()
        await self._compactor.close()

    def _gets_on(self) -> bool:
        return time.monotonic() - self._progress_s < self._policy.stall_s

    async def _round(self, tidied: Tidied) -> None:
        async for page in self._pages():
            await self._lease.renew()
            await self._look_at(page, tidied)
        self._wary = False
        tidied.feed_lost = await settle_lag(self._wire, self._keys)
        await self._trim_feed(tidied)
        tidied.consumers_retired = await retire_consumers(
            self._wire, self._keys, group=ARCHIVERS, idle_ms=self._policy.consumer_idle_ms
        )

    async def _trim_feed(self, tidied: Tidied) -> None:
        """Trim what no group needs; a durable one needs it until it is dropped."""
        policy = self._policy
        groups = await tend_groups(
            self._wire, self._keys, group_ttl_ms=policy.group_ttl_ms, feed_max=policy.feed_max
        )
        tidied.groups_dropped = groups.dropped

        async def note(going: Sequence[Reply]) -> None:
            # Before they go: a crash in between notes them again, the reverse would lose them.
            await note_losses(self._wire, self._keys, groups.behind, going)

        keep, floors = policy.feed_keep, groups.floors
        while trimmed := await trim_feed(
            self._wire, self._keys, keep=keep, floors=floors, before=note
        ):
            tidied.feed_trimmed += trimmed
            if trimmed < _TRIM_CHUNK:
                break

    async def _pages(self) -> AsyncIterator[list[str]]:
        """Every stream of the tenant at least once, a page at a time."""
        cursor = b"0"
        while True:
            command = ("ZSCAN", self._keys.streams, cursor, "COUNT", _STREAMS_AT_ONCE)
            (reply,) = await self._wire.exchange([command])
            cursor, found = checked(reply)
            names = [text for name in found[::2] if (text := _text(name)) is not None]
            if names:
                yield names
            if cursor == b"0":
                return

    async def _look_at(self, streams: list[str], tidied: Tidied) -> None:
        self._progress_s = time.monotonic()
        facts = await read_facts(self._wire, self._keys, streams)
        tidied.streams += len(facts)
        for item in facts:
            tidied.archived.unfolded[item.stream] = item.head - item.state.compacted_version
            if item.damage:
                tidied.archived.failures[item.stream] = StreamCorrupted(item.stream, item.damage)
        due = [item.stream for item in facts if self._may_be_due(item)]
        await self._archiver.archive(due, tidied.archived, wary=self._wary)
        for stream in tidied.archived.failures.keys() | tidied.archived.left:
            self._open.pop(stream, None)
        for item in facts:
            self._progress_s = time.monotonic()
            try:
                await self._tidy(item, tidied)
            except CorruptionError as exc:
                tidied.archived.failures[item.stream] = exc

    async def _tidy(self, item: StreamFacts, tidied: Tidied) -> None:
        """What time does to one stream."""
        if item.state.compacted_version > item.state.forgotten_version:
            tidied.summaries_forgotten += await self._compactor.forget_old(item.stream)
        await self._retirement.look_at(item, tidied.archived, tidied.retired)

    def _may_be_due(self, item: StreamFacts) -> bool:
        """Whether a stream may have a finished round; remembers the head it was asked at."""
        if item.head <= item.state.archived_version:
            self._open.pop(item.stream, None)
            return False
        if self._open.get(item.stream) == item.head:
            return item.log_bytes > self._policy.max_round_bytes
        self._open[item.stream] = item.head
        self._open.move_to_end(item.stream)
        if len(self._open) > _REMEMBERED:
            self._open.popitem(last=False)
        return True


def _text(name: bytes) -> str | None:
    """A stream's name; None for what somebody else put among them and no name can be."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None
