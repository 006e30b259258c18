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
from ops.metrics_shared import (
    SharedFacts,
    SharedGauges,
    SubscriberFacts,
    TenantFacts,
    VolumeFacts,
)
from streams.clock import Clock
from streams.failures import error_code
from streams.feed import ARCHIVERS
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from streams.subscription.reports import SubscriberReport, read_subscriber_facts
from streams.wire import Reply, Wire, as_map, checked

from .compacting.lag import FIRST_ID, CompactionLag
from .compacting.plan import CompactionPolicy
from .settings.model import Settings

VERIFY_FIELDS: Final = ("succeeded_ms", "findings")
"""Fields of `ares:{T}:verify`: when verify last ended without findings, and its last count."""

_MOST_COUNTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Tenant:
    name: str
    keys: Keys
    wire: Wire
    compaction: CompactionLag


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
        self._clock = clock
        self._tenants: list[_Tenant] = []
        for store in stores:
            wire = store.wires.dedicated()
            lag = CompactionLag(wire, store.keys, policy, clock, monotonic=monotonic)
            self._tenants.append(_Tenant(store.tenant, store.keys, wire, lag))

    async def read(self) -> SharedFacts:
        """The facts now. Raises `StoreUnavailable`."""
        tenants: dict[str, TenantFacts] = {}
        subscribers: dict[str, SubscriberFacts] = {}
        for item in self._tenants:
            reports = await read_subscriber_facts(item.wire, item.keys, self._clock())
            facts = await self._tenant(item)
            tenants[item.name] = replace(facts, subscribers=len(reports))
            for name, report in reports.items():
                subscribers[name] = _with_report(subscribers.get(name), report)
        return SharedFacts(tenants=tenants, subscribers=subscribers)

    async def close(self) -> None:
        """Close the connections."""
        for item in self._tenants:
            await item.wire.close()

    async def _tenant(self, item: _Tenant) -> TenantFacts:
        keys, now_ms = item.keys, self._clock()
        replies = await item.wire.exchange(
            [
                ("XLEN", keys.inbox),
                ("EVAL", FIRST_ID, 1, keys.inbox, "-"),
                ("XLEN", keys.feed),
                ("XINFO", "GROUPS", keys.feed),
                ("XPENDING", keys.feed, ARCHIVERS),
                ("XLEN", keys.dead),
                ("HMGET", keys.verify, *VERIFY_FIELDS),
            ]
        )
        inbox, oldest, feed, groups, pending, dead, verify = replies
        succeeded, findings = _numbers(verify)
        facts = replace(
            await item.compaction.read(),
            inbox_events=checked(inbox),
            inbox_oldest_seconds=_age(oldest, now_ms),
            dead_letter_events=checked(dead),
            verify_last_success_timestamp=(succeeded or 0) / 1000,
            verify_findings=findings or 0,
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


def _with_report(known: SubscriberFacts | None, report: SubscriberReport) -> SubscriberFacts:
    """A subscriber's facts; one of the same name in another tenant is the same to a dashboard."""
    delivered, dropped, lag = report.delivered_events, report.dropped_events, report.lag_entries
    if known is not None:
        delivered += known.delivered_events or 0
        dropped += known.dropped_events or 0
        lag = max(lag, known.lag_entries or 0)
    return SubscriberFacts(delivered_events=delivered, dropped_events=dropped, lag_entries=lag)


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
        group = as_map(raw)
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
