"""A live subscription: from where it starts it catches up, then follows, without a seam.

It reads alone, at its consumer's pace, until it is near the end of the feed; from there on the
store's hub reads for it. When the hub has moved on further than a slow consumer can follow, it
reads alone again.
"""

from __future__ import annotations

import asyncio
from collections import deque

from streams.clock import Clock
from streams.errors import TransientError
from streams.event import Event
from streams.subscription.items import Gap, Item, Row
from streams.subscription.lifecycle import Lifecycle
from streams.subscription.options import Overflow, SubscriptionOptions
from streams.subscription.patience import Patience
from streams.subscription.position import ORIGIN, Position
from streams.subscription.roster import Roster
from streams.subscription.source import Source
from streams.subscription.wanted import Wanted

from .catch_up import NOW, CatchUp
from .drop_queue import DropQueue
from .shared_hub import SharedHub
from .standing import Standing
from .stay import Stay


class Subscription(Lifecycle):
    """An async iterator of `Event`, `Gap` and `Reset`; an async context manager.

    For one consumer at a time. It begins when its `async with` is entered, or else with the first
    item asked for; then it ends with `close()` or with its store. A read that is cancelled loses
    nothing: iterate on. Redis being away is waited out once it has begun; `StoreAccessDenied`
    and corruption are raised.
    """

    def __init__(
        self,
        source: Source,
        wanted: Wanted,
        roster: Roster,
        hubs: SharedHub,
        *,
        name: str,
        buffer: int,
        on_overflow: Overflow,
        start: str,
        options: SubscriptionOptions,
        clock: Clock,
    ) -> None:
        super().__init__(name, roster, asyncio.Event())
        self._source, self._wanted, self._hubs = source, wanted, hubs
        self._buffer, self._buffer_bytes = buffer, options.buffer_bytes
        self._drops, self._start, self._clock = on_overflow == "drop", start, clock
        self._standing = Standing()
        self._alone = CatchUp(source, wanted, self._standing, who=name, buffer=buffer)
        self._stay: Stay | None = None
        self._following = False
        self._rows: deque[Row] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._handed: Position | None = None
        self._delivered = self._told = 0
        self._patience = Patience(f"subscription {name}", self._stop)

    @property
    def delivered(self) -> int:
        """Events handed over."""
        return self._delivered

    @property
    def dropped(self) -> int:
        """Matching events that were not handed over: what all gaps count, told or not yet."""
        return self._told + (self._stay.dropped if self._stay else 0)

    @property
    def position(self) -> str | None:
        """Where to `start` another subscription that goes on behind the last item handed over.

        None before it begins, and while history, or what was missed, is being read: neither has
        a place in the feed.
        """
        if not self._begun or self._alone.in_logs:
            return None
        stay = self._stay if self._following else None
        if self._rows or (stay and stay.buffered):
            return str(self._handed) if self._handed else None
        return str(stay.position if stay else self._standing.place)

    async def lag(self) -> int:
        """About how many feed entries lie between the consumer and the end of the feed."""
        if self._stop.is_set():
            return 0
        if self._stay and self._following:
            return len(self._rows) + self._stay.behind
        return await self._source.backlog(self._standing.place.id)

    async def __anext__(self) -> Item:
        while not self._stop.is_set():
            if not self._begun:
                await self._begin()
            row = self._take()
            if row is not None:
                return row.item
            try:
                await self._read_on_undisturbed()
                self._patience.renew()
            except TransientError as exc:
                await self._patience.wait_out(exc)
        raise StopAsyncIteration

    async def _read_on_undisturbed(self) -> None:
        """A consumer that gives up waiting finds the reading under way when it comes again.

        To break it off would cost its connection: who waits for a moment at a time would never
        see an event.
        """
        reading = self._reading or asyncio.create_task(self._read_on())
        self._reading = reading
        await asyncio.wait([reading])
        self._reading = None
        if not reading.cancelled():  # by `close`
            reading.result()

    async def _enter(self) -> None:
        self._hubs.check()
        await self._alone.begin(self._start, self._clock())
        if self._start == NOW:
            await self._follow_at_once()
        if not self._alone.in_logs:
            self._handed = self._standing.place

    async def _leave(self) -> None:
        if self._stay:
            self._stay.wake()
        await self._stop_reading()
        self._leave_hub()
        self._rows.clear()

    async def _stop_reading(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])
            if not reading.cancelled():
                reading.exception()  # nobody is there any more to be told

    async def _follow_at_once(self) -> None:
        """What is committed from here on is read by the hub for us."""
        self._stay = stay = await self._join()
        self._standing.place = Position(await self._source.end())
        self._following = stay.fill_at_once() if self._drops else True
        if not self._following:
            self._leave_hub()

    async def _join(self) -> Stay:
        queue = DropQueue(self._buffer, self._buffer_bytes, self._wanted.count)
        hub = await self._hubs.get()
        return Stay(hub, self._wanted, self._standing, queue if self._drops else None)

    def _take(self) -> Row | None:
        """The next row at hand."""
        row: Row | None = None
        if self._rows:
            row = self._rows.popleft()
            if isinstance(row.item, Gap):
                self._told += row.item.count
        elif self._stay:
            row = self._stay.take()
        if row is not None and isinstance(row.item, Event):
            self._delivered += 1
            if row.at != ORIGIN:
                self._handed = Position(row.at, None if row.final else row.version)
        return row

    async def _read_on(self) -> None:
        """Get something at hand, or wait for it."""
        if self._following and self._stay:
            await self._follow(self._stay)
        elif self._alone.between_pages and await self._may_follow():
            self._following = True
        else:
            in_logs = self._alone.in_logs
            self._rows.extend(await self._alone.rows())
            if in_logs and not self._alone.in_logs:
                self._handed = self._standing.place

    async def _may_follow(self) -> bool:
        """Whether the hub reads what comes next; near the end of the feed see to it."""
        if self._stay is None and self._alone.near_end:
            self._stay = await self._join()
        return self._stay is not None and self._stay.reached

    async def _follow(self, stay: Stay) -> None:
        rows = await stay.rows()
        if rows is not None:
            self._rows.extend(rows)
            return
        self._leave_hub()
        if stay.failure is not None and not self._stop.is_set():
            raise stay.failure

    def _leave_hub(self) -> None:
        """Go on alone from where we stand."""
        stay, self._stay = self._stay, None
        if stay is not None:
            self._told += stay.dropped
            stay.leave()
        self._following = self._alone.near_end = False
