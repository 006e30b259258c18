"""An event store in this process's memory, for users' own tests: nothing survives it.

It keeps the contract of `RedisEventStore`, limits included: one suite runs on both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Self

from .clock import Clock, system_clock
from .codec import Limits, check_stream
from .durable.memory_group import MemoryGroup, MemoryGroupState
from .errors import StreamNotFound, VersionConflict
from .event import DEFAULT_TENANT_ID, Event
from .keys import check_tenant
from .memory_log import Entry, Folded
from .plan import Head, encode_append, plan_stream
from .store import ANY, Direction, ExpectedVersion, check_count
from .subscribing import Subscribing
from .subscription.memory_source import MemoryFeed, MemorySource
from .subscription.options import SubscriptionOptions
from .subscription.wanted import first_ms
from .subscriptions import Subscriptions
from .summary import rule_based_text, summarize


class MemoryEventStore(Subscribing):
    """One tenant's logs in memory. Not shared between processes, nor between instances."""

    def __init__(
        self,
        tenant: str = DEFAULT_TENANT_ID,
        *,
        limits: Limits | None = None,
        max_append_events: int = 10_000,
        subscriptions: SubscriptionOptions | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self.tenant = check_tenant(tenant)
        self._limits = limits or Limits()
        self._max_append_events = max_append_events
        self._clock = clock
        self._logs: dict[str, list[Folded | Entry]] = {}
        self._feed = MemoryFeed()
        self._groups: dict[str, MemoryGroupState] = {}
        source = MemorySource(self._feed, self._logs)
        options = subscriptions or SubscriptionOptions()
        super().__init__(Subscriptions(source, options, clock, self._group))

    async def append(
        self, stream: str, events: Sequence[Event], expected_version: ExpectedVersion = ANY
    ) -> int:
        """Append all of `events` or none; return the version of the last.

        Raises `VersionConflict`, `InvalidEvent`; an empty `events` is a `UsageError`. Nothing is
        awaited between check and write, so tasks can't come between them.
        """
        append = encode_append(
            stream,
            events,
            expected_version,
            limits=self._limits,
            max_events=self._max_append_events,
        )
        log = self._logs.get(stream, [])
        head = Head(log[-1].version, log[-1].ms) if log else Head()
        plan = plan_stream([append], head, self._clock())
        if write := plan.write:
            self._logs.setdefault(stream, []).extend(
                Entry(stream, version, write.ms, event)
                for version, event in enumerate(write.events, write.first)
            )
            types = frozenset(event.type for event in write.events)
            self._feed.add(stream, write.first, write.last, types, write.ms)
        [outcome] = plan.outcomes
        if isinstance(outcome, VersionConflict):
            raise outcome
        return outcome

    async def read(
        self,
        stream: str,
        from_version: int = 1,
        to_version: int | None = None,
        limit: int | None = None,
        direction: Direction = Direction.FORWARD,
        since: datetime | None = None,
    ) -> list[Event]:
        """Events of versions `from_version`..`to_version` committed at or after `since`."""
        check_stream(stream, self._limits)
        check_count("limit", limit)
        since_ms = first_ms(since) or 0
        rows = [
            row
            for row in self._logs.get(stream, ())
            if from_version <= row.version
            and (to_version is None or row.version <= to_version)
            and row.ms >= since_ms
        ]
        if direction is Direction.BACKWARD:
            rows.reverse()
        return [row.decode() for row in rows[:limit]]

    async def read_all(
        self, since: datetime | None = None, limit: int | None = None
    ) -> AsyncIterator[Event]:
        """Events of every stream, as they are now, by commit time, then stream."""
        check_count("limit", limit)
        since_ms = first_ms(since) or 0
        logs = [[row for row in log if row.ms >= since_ms] for log in self._logs.values()]
        for row in islice(merge(*logs, key=attrgetter("ms", "stream", "version")), limit):
            yield row.decode()

    async def stream_version(self, stream: str) -> int:
        """Newest version of `stream`; 0 when it has no event."""
        log = self._logs.get(check_stream(stream, self._limits))
        return log[-1].version if log else 0

    async def list_streams(self) -> list[str]:
        """Names of the streams that have events, sorted."""
        return sorted(self._logs)

    async def close(self) -> None:
        """End the subscriptions."""
        await self._subscriptions.close()

    def trim_feed(self, keep: int) -> None:
        """Forget all but the newest `keep` announcements, as a worker does in time."""
        gone = self._feed.trim(keep)
        for group in self._groups.values():
            group.passed(gone)

    async def compact(self, stream: str, through: int) -> None:
        """Fold the events up to version `through` into one summary, as a worker would.

        Raises `StreamNotFound`. Does nothing where no event is left to fold.
        """
        if stream not in self._logs:
            raise StreamNotFound(stream)
        log = self._logs[stream]
        old = [row for row in log if isinstance(row, Entry) and row.version <= through]
        if old:
            events = [row.decode() for row in old]
            summary = summarize(events, old[-1].ms, rule_based_text(events))
            at = log.index(old[0])
            log[at : at + len(old)] = [Folded(stream, old[-1].version, old[-1].ms, summary)]

    def _group(self, name: str, member: str) -> MemoryGroup:
        state = self._groups.setdefault(name, MemoryGroupState())
        ttl_ms = self._subscriptions.options.lease_ttl_ms
        return MemoryGroup(state, member=member, ttl_ms=ttl_ms)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
