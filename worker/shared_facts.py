"""What every worker says alike on `/metrics`: read from Redis and the volume for a scrape.

Cheap however much waits: counts and entry ids, never an entry's payload, and of the streams
only the newest, now and then.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ops.facts import FactsCache, in_thread, on_loop
from ops.metrics_shared import SharedFacts, SharedGauges, TenantFacts, VolumeFacts
from streams.clock import Clock
from streams.errors import AresError
from streams.failures import error_code
from streams.feed import ARCHIVERS
from streams.keys import Keys
from streams.plan import Head
from streams.redis_store import RedisEventStore
from streams.state import StreamState, read_command
from streams.wire import Command, Reply, Wire, checked

from .compaction_plan import CompactionPolicy
from .settings.model import Settings

VERIFY_FIELDS: Final = ("succeeded_ms", "findings")
"""Fields of `ares:{T}:verify`: when verify last ended without findings, and its last count."""

_MOST_COUNTED: Final = 10_000
_STREAMS_LOOKED_AT: Final = 2_000
_LAGGING_DATED: Final = 50
_COMPACTION_EVERY_S: Final = 30.0

# The id alone: an entry of the inbox or a log may be megabytes.
_FIRST_ID: Final = """
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 1)[1]
return entry and entry[1]
"""


@dataclass(slots=True)
class _Tenant:
    name: str
    keys: Keys
    wire: Wire
    compaction: TenantFacts
    compaction_at: float


class SharedFactsReader:
    """Reads the facts of all tenants; one reading at a time, on connections of its own."""

    def __init__(
        self,
        stores: Sequence[RedisEventStore],
        policy: CompactionPolicy,
        clock: Clock,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy, self._clock, self._monotonic = policy, clock, monotonic
        self._tenants = [
            _Tenant(store.tenant, store.keys, store.wires.dedicated(), TenantFacts(), float("-inf"))
            for store in stores
        ]

    async def read(self) -> SharedFacts:
        """The facts now. Raises `StoreUnavailable`."""
        return SharedFacts(tenants={item.name: await self._tenant(item) for item in self._tenants})

    async def close(self) -> None:
        """Close the connections."""
        for item in self._tenants:
            await item.wire.close()

    async def _tenant(self, item: _Tenant) -> TenantFacts:
        keys, now_ms = item.keys, self._clock()
        replies = await item.wire.exchange(
            [
                ("XLEN", keys.inbox),
                ("EVAL", _FIRST_ID, 1, keys.inbox, "-"),
                ("XLEN", keys.feed),
                ("XINFO", "GROUPS", keys.feed),
                ("XPENDING", keys.feed, ARCHIVERS),
                ("XLEN", keys.dead),
                ("HMGET", keys.verify, *VERIFY_FIELDS),
                ("HLEN", keys.subscribers),
            ]
        )
        inbox, oldest, feed, groups, pending, dead, verify, subscribers = replies
        succeeded, findings = _numbers(verify)
        facts = replace(
            await self._compaction(item),
            inbox_events=checked(inbox),
            inbox_oldest_seconds=_age(oldest, now_ms),
            dead_letter_events=checked(dead),
            verify_last_success_timestamp=None if succeeded is None else succeeded / 1000,
            verify_findings=findings,
            subscribers=checked(subscribers),
        )
        return replace(facts, **await self._feed(item, checked(feed), groups, pending, now_ms))

    async def _feed(
        self, item: _Tenant, length: int, groups: Reply, pending: Reply, now_ms: int
    ) -> dict[str, Any]:
        group = archivers_group(groups)
        after = group[b"last-delivered-id"] if group else b"0-0"
        lag = group.get(b"lag") if group else length
        count = 1 if isinstance(lag, int) else _MOST_COUNTED
        # Feed entries are small; where Redis doesn't know the lag they are counted, up to a limit.
        (unread,) = await item.wire.exchange(
            [("XRANGE", item.keys.feed, b"(" + after, "+", "COUNT", count)]
        )
        entries = checked(unread)
        summary = [0, None] if error_code(pending) == "NOGROUP" else checked(pending)
        return {
            "feed_lag_entries": lag if isinstance(lag, int) else len(entries),
            "feed_lag_seconds": _age(entries[0][0] if entries else None, now_ms),
            "feed_pending_entries": summary[0],
            "feed_oldest_pending_seconds": _age(summary[1], now_ms),
            "feed_consumers": group[b"consumers"] if group else 0,
        }

    async def _compaction(self, item: _Tenant) -> TenantFacts:
        """How far compaction is behind, of the streams written last; looked at now and then."""
        if self._monotonic() - item.compaction_at < _COMPACTION_EVERY_S:
            return item.compaction
        (names,) = await item.wire.exchange(
            [("ZRANGE", item.keys.streams, 0, _STREAMS_LOOKED_AT - 1, "REV")]
        )
        streams = [name.decode() for name in checked(names)]
        packet: list[Command] = []
        for stream in streams:
            packet += [read_command(item.keys, stream), ("GET", item.keys.head(stream))]
        replies = await item.wire.exchange(packet) if packet else []
        lagging: dict[str, tuple[int, int]] = {}
        for stream, values, head in zip(streams, replies[::2], replies[1::2], strict=True):
            lag = _compaction_lag(head, values, self._policy)
            if lag is not None:
                lagging[stream] = lag
        item.compaction = TenantFacts(
            compaction_lag_events=sum(events for events, _ in lagging.values()),
            compaction_lag_seconds=await self._waiting(item, lagging),
            compaction_lagging_streams=len(lagging),
        )
        item.compaction_at = self._monotonic()
        return item.compaction

    async def _waiting(self, item: _Tenant, lagging: dict[str, tuple[int, int]]) -> float:
        """Age of the oldest event that put a stream over the threshold."""
        dated = list(lagging.items())[:_LAGGING_DATED]
        if not dated:
            return 0.0
        replies = await item.wire.exchange(
            [
                ("EVAL", _FIRST_ID, 1, item.keys.log(stream), f"{version}-0")
                for stream, (_, version) in dated
            ]
        )
        committed = [int(reply.partition(b"-")[2]) for reply in replies if isinstance(reply, bytes)]
        return (self._clock() - min(committed)) / 1000 if committed else 0.0


def _compaction_lag(
    raw_head: Reply, values: Reply, policy: CompactionPolicy
) -> tuple[int, int] | None:
    """Events that a run would take, and the version that made one due; None when none is.

    A stream that somebody else wrote over is quarantined elsewhere; here it is none.
    """
    try:
        head, state = Head.parse(checked(raw_head)).version, StreamState.parse(checked(values))
    except (AresError, ValueError):
        return None
    events = min(state.archived_version, head - policy.keep_recent) - state.compacted_version
    if head - state.compacted_version <= policy.threshold or events <= 0:
        return None
    return events, state.compacted_version + policy.threshold + 1


def volume_facts(directory: Path) -> VolumeFacts:
    """Space of the archive's volume; nothing known where the folder isn't there yet."""
    try:
        volume = os.statvfs(directory)
    except FileNotFoundError:
        return VolumeFacts()
    return VolumeFacts(
        free_bytes=volume.f_bavail * volume.f_frsize, size_bytes=volume.f_blocks * volume.f_frsize
    )


def shared_gauges(
    loop: asyncio.AbstractEventLoop, reader: SharedFactsReader, settings: Settings
) -> SharedGauges:
    """The collector for `Metrics.share`; reads Redis on `loop`, the volume in a thread."""
    ttl = settings.metrics.facts_ttl.total_seconds()
    timeout = settings.metrics.facts_timeout.total_seconds()
    directory = settings.archive.dir
    return SharedGauges(
        FactsCache(on_loop(loop, reader.read), ttl=ttl, timeout=timeout),
        FactsCache(in_thread(lambda: volume_facts(directory)), ttl=ttl, timeout=timeout),
    )


def archivers_group(reply: Reply) -> dict[bytes, Any] | None:
    """The archivers' entry of `XINFO GROUPS`; None without a feed or group."""
    for raw in reply if isinstance(reply, list) else []:
        group = dict(zip(raw[::2], raw[1::2], strict=True))
        if group[b"name"] == ARCHIVERS.encode():
            return group
    return None


def _numbers(reply: Reply) -> list[int | None]:
    values = checked(reply)
    return [int(value) if value is not None and value.isdigit() else None for value in values]


def _age(entry_id: Reply, now_ms: int) -> float | None:
    """Seconds since an entry was added, by its id: 0 where there is none, None where unknown."""
    if isinstance(entry_id, Exception):
        return None
    return 0.0 if entry_id is None else (now_ms - int(entry_id.partition(b"-")[0])) / 1000
