"""A durable subscription: many members share the streams of a tenant, and none is forgotten.

Streams are dealt out to 16 partitions. A member holds the leases of some, hands their events to
its consumer in order, and moves their positions as the consumer acknowledges. When a member dies
its leases lapse, and others go on where it had acknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from streams.errors import TransientError
from streams.pausing import pause
from streams.subscription.items import Gap, Reset
from streams.subscription.lifecycle import Lifecycle
from streams.subscription.options import SubscriptionOptions
from streams.subscription.patience import Patience
from streams.subscription.roster import Roster
from streams.subscription.source import Source
from streams.subscription.wanted import Wanted

from .group import GroupState
from .membership import Membership
from .partition import Delivery, Notice
from .reader import DurableReader
from .shelf import DurableShelf

READERS: Final = 2
"""Connections of a member: one waits at the feed, one keeps its leases and positions."""

_BEATS_PER_LEASE: Final = 4
_LONGEST_BEAT_S: Final = 1.0


class DurableSubscription(Lifecycle):
    """One member of a group: an async iterator of `Delivery`, `Gap` and `Reset`.

    For one iterating consumer, which may hand deliveries on to tasks of its own: up to `buffer`
    of them unacknowledged, then iterating waits. An async context manager; leaving it gives the
    partitions to other members at once, and they are handed again what was not acknowledged.
    Without `async with` it joins the group with the first item asked for, and leaves with
    `close()` or with its store. Redis being away is waited out once it has begun;
    `StoreAccessDenied` and corruption are raised.
    """

    def __init__(
        self,
        source: Source,
        wanted: Wanted,
        roster: Roster,
        group: GroupState,
        *,
        name: str,
        buffer: int,
        start: str,
        options: SubscriptionOptions,
    ) -> None:
        self._source, self._group, self._start = source, group, start
        self._shelf = DurableShelf(
            group,
            most=buffer,
            max_bytes=options.buffer_bytes,
            max_attempts=options.max_attempts,
            on_lost=self._forget,
        )
        super().__init__(name, roster, self._shelf.stop, readers=READERS)
        self._membership = Membership(group, self._shelf, source, who=name)
        self._feed = source.reader()
        self._reader = DurableReader(
            self._shelf,
            source,
            self._feed,
            wanted,
            group.losses,
            buffer=buffer,
            block_ms=options.block_ms,
        )
        self._beat_s = min(options.lease_ttl_ms / 1000 / _BEATS_PER_LEASE, _LONGEST_BEAT_S)
        self._failure: Exception | None = None
        self._notice: Notice | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def delivered(self) -> int:
        """Events acknowledged to this member."""
        return self._shelf.acknowledged

    @property
    def dropped(self) -> int:
        """Events this member was told of by gaps: trimmed before they were read, or given up."""
        return self._shelf.dropped

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions this member works on at the moment."""
        return tuple(sorted(self._shelf.partitions))

    async def lag(self) -> int:
        """About how many feed entries the group has not done with."""
        return await self._source.backlog(await self._group.floor())

    async def __anext__(self) -> Delivery | Gap | Reset:
        if self._notice is not None:
            self._shelf.settle(self._notice)
            self._notice = None
        while not self._stop.is_set():
            if not self._begun:
                await self._begin()
            if self._failure is not None:
                raise self._failure
            self._shelf.changed.clear()
            item = await self._shelf.take()
            if isinstance(item, Notice):
                self._notice = item
                return item.item
            if item is not None:
                return item
            await self._shelf.changed.wait()
        raise StopAsyncIteration

    async def _enter(self) -> None:
        await self._membership.begin(self._start)
        await self._membership.tend()
        tending = self._keep(self._membership.tend, self._beat_s)
        self._tasks = [
            asyncio.create_task(tending, name="ares-group-member"),
            asyncio.create_task(self._keep(self._read), name="ares-group-reader"),
        ]

    async def _leave(self) -> None:
        self._shelf.changed.set()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._membership.hand_back()

    async def _let_go(self) -> None:
        await self._feed.close()
        await self._group.close()

    def _forget(self, number: int) -> None:
        self._reader.forget(number)

    async def _read(self) -> None:
        """Read a little more, unless there is enough at hand."""
        self._shelf.changed.clear()
        if self._shelf.full or not await self._reader.step():
            await self._shelf.changed.wait()
        await asyncio.sleep(0)  # a source in memory never waits

    async def _keep(self, step: Callable[[], Awaitable[None]], rest_s: float = 0.0) -> None:
        """Take steps until the subscription is closed; only trouble that can't pass ends it."""
        patience = Patience(f"subscription {self.name}", self._stop)
        while not self._stop.is_set():
            try:
                try:
                    await step()
                    patience.renew()
                except TransientError as exc:
                    await patience.wait_out(exc)
                    continue
                if rest_s:
                    await pause(self._stop, rest_s)
            except Exception as exc:
                self._failure = exc
                self._shelf.changed.set()
                return
