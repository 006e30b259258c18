"""All subscriptions of one store: their limits, the hub they share, their counts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, get_args

from .clock import Clock
from .codec import check_name
from .durable.group import GroupState, check_group
from .durable.member import DurableSubscription
from .errors import AresError, UsageError
from .filter import EventFilter
from .live.hub import Hub, pause
from .live.subscription import Overflow, Subscription
from .subscription.position import Position
from .subscription.source import Source
from .subscription.wanted import Wanted

_MOST_BUFFERED: Final = 100_000
_LONGEST_NAME: Final = 128


class SubscriptionLimit(UsageError):
    """This store may have no more subscriptions, or no more connections that wait.

    `limit` is how many it may have.
    """

    def __init__(self, reason: str, limit: int) -> None:
        super().__init__(reason)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class SubscriptionOptions:
    """Bounds of a store's subscriptions; times in milliseconds unless they say otherwise.

    `window_*` bound the rows that all blocking subscriptions share, `buffer_bytes` the buffer of
    each one. A read waits at most `block_ms`, which is also how long closing may take. A member
    of a group that is silent for `lease_ttl_ms` loses its partitions. An event delivered
    `max_attempts` times without being acknowledged is dead-lettered.
    """

    max_subscriptions: int = 1_000
    max_readers: int = 16
    buffer_bytes: int = 16 * 1024 * 1024
    window_events: int = 8_192
    window_bytes: int = 32 * 1024 * 1024
    block_ms: int = 300
    lease_ttl_ms: int = 10_000
    max_attempts: int = 5
    report_s: float = 5.0


class Counted(Protocol):
    """A subscription as its counts are reported."""

    name: str

    @property
    def delivered(self) -> int:
        """Events handed over, or acknowledged where that is asked for."""
        ...

    @property
    def dropped(self) -> int:
        """Matching events that were not handed over."""
        ...

    async def lag(self) -> int:
        """Feed entries behind."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class Reports(Protocol):
    """Where counts are reported."""

    async def report(self, subscription: Counted) -> None:
        """Add what was counted since the last report."""
        ...


Groups = Callable[[str, str], GroupState]
"""The state of a group, by its name, for a member of the given id."""


class Subscriptions:
    """Makes subscriptions and keeps them within the limits.

    `connections` is how many the client may have beside the store's own; None where nothing
    waits on a connection.
    """

    def __init__(
        self,
        source: Source,
        options: SubscriptionOptions,
        clock: Clock,
        groups: Groups,
        *,
        reports: Reports | None = None,
        connections: int | None = None,
    ) -> None:
        self.source, self.options, self.clock = source, options, clock
        self._groups, self._reports = groups, reports
        self._max_readers = options.max_readers
        if connections is not None:
            self._max_readers = max(min(self._max_readers, connections), 0)
        self._open: list[Counted] = []
        self._readers = 0
        self._hub: Hub | None = None
        self._hubs: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()
        self._reporter: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def live(
        self,
        filter: EventFilter | None,
        *,
        name: str | None,
        buffer: int,
        on_overflow: Overflow,
        start: str,
    ) -> Subscription:
        """A live subscription, not begun yet; raises `UsageError` for a bad argument."""
        check_buffer(buffer)
        if on_overflow not in get_args(Overflow):
            raise UsageError(f"on_overflow is 'drop' or 'block', not {on_overflow!r}")
        if start not in ("now", "beginning"):
            Position.parse(start)
        return Subscription(
            self,
            Wanted(filter or EventFilter()),
            name=name_of(name),
            buffer=buffer,
            on_overflow=on_overflow,
            start=start,
        )

    def durable(
        self, group: str, filter: EventFilter | None, *, name: str | None, buffer: int, start: str
    ) -> DurableSubscription:
        """A member of a group, not begun yet; raises `UsageError` for a bad argument."""
        check_group(group)
        check_buffer(buffer)
        if start not in ("now", "beginning"):
            Position.parse(start)
        return DurableSubscription(
            self,
            self._groups(group, uuid.uuid4().hex),
            Wanted(filter or EventFilter()),
            name=group if name is None else name_of(name),
            buffer=buffer,
            start=start,
        )

    async def opened(self, subscription: Counted, *, readers: int = 0) -> None:
        """Count a subscription that begins; raises `SubscriptionLimit`.

        `readers` are the connections it needs for itself.
        """
        most = self.options.max_subscriptions
        if len(self._open) >= most:
            raise SubscriptionLimit(f"a store has at most {most} subscriptions", most)
        self._check_readers(readers)
        self._readers += readers
        self._open.append(subscription)
        if self._reports is not None:
            await self._report(subscription)
            if self._reporter is None:
                self._reporter = asyncio.create_task(self._report_regularly())

    async def closed(self, subscription: Counted, *, readers: int = 0) -> None:
        """Forget a subscription; safe for one that was never counted."""
        if subscription not in self._open:
            return
        self._open.remove(subscription)
        self._readers -= readers
        await self._report(subscription)

    async def hub(self) -> Hub:
        """The hub that runs, or a new one that begins at the end of the feed."""
        async with self._lock:
            if self._hub is None or self._hub.over:
                self.check_hub()
                options = self.options
                self._hub = hub = Hub(
                    self.source,
                    Position(await self.source.end()),
                    window_events=options.window_events,
                    window_bytes=options.window_bytes,
                    block_ms=options.block_ms,
                )
                self._hubs.add(hub.task)
                hub.task.add_done_callback(self._hubs.discard)
            return self._hub

    def check_hub(self) -> None:
        """Raise `SubscriptionLimit` when no live subscription could follow the feed."""
        if self._hub is None or self._hub.over:
            self._check_readers(1)

    async def close(self) -> None:
        """End all subscriptions and wait for what they left running."""
        self._stop.set()
        for subscription in tuple(self._open):
            await subscription.close()
        if self._hub is not None:
            self._hub.stop()
        running = {*self._hubs, *([self._reporter] if self._reporter else [])}
        if running:
            await asyncio.wait(running)

    def _check_readers(self, more: int) -> None:
        hubs = int(self._hub is not None and not self._hub.over)
        if more and self._readers + hubs + more > self._max_readers:
            reason = (
                f"at most {self._max_readers} connections of this store may wait for events; "
                "share one subscription, or allow the client more connections"
            )
            raise SubscriptionLimit(reason, self._max_readers)

    async def _report_regularly(self) -> None:
        while not self._stop.is_set():
            await pause(self._stop, self.options.report_s)
            for subscription in tuple(self._open):
                await self._report(subscription)

    async def _report(self, subscription: Counted) -> None:
        """Counts are for looking at: failing to report them disturbs nobody."""
        if self._reports is not None:
            with contextlib.suppress(AresError):
                await self._reports.report(subscription)


def check_buffer(buffer: int) -> None:
    """Raise `UsageError` unless `buffer` is a number of events a subscription may hold."""
    if isinstance(buffer, bool) or not isinstance(buffer, int) or not 0 < buffer <= _MOST_BUFFERED:
        raise UsageError(f"buffer must be 1 to {_MOST_BUFFERED:,} events, not {buffer!r}")


def name_of(name: str | None) -> str:
    """The name under which a subscription is counted: this process's, unless it has one."""
    if name is None:
        return f"{socket.gethostname()}:{os.getpid()}"
    return check_name(name, "name", _LONGEST_NAME)
