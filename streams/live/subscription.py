"""A live subscription: from where it starts it catches up, then follows, without a seam.

It reads by itself, at its consumer's pace, until it has reached the end of the feed; from there
on the store's hub reads for it. When the hub has moved on further than a slow consumer can
follow, it reads by itself again. There is one position all along, so nothing falls between the
two and nothing comes twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal, Self

from streams.errors import StoreAccessDenied, TransientError, UsageError
from streams.event import Event
from streams.subscription.items import Gap, Item, Reset, Row
from streams.subscription.position import ORIGIN, Position, Stage
from streams.subscription.source import (
    FEED_PAGE,
    Appetite,
    Covered,
    SpanQueue,
    Versions,
    spans_of,
)
from streams.subscription.wanted import Wanted

from .drop_queue import DropQueue
from .history import History, LogWalk
from .hub import RECONNECT, Hub, Outlet, pause

if TYPE_CHECKING:
    from streams.subscriptions import Subscriptions

_log = logging.getLogger("ares.subscription")

Overflow = Literal["drop", "block"]
"""What happens when the consumer is too slow: events are dropped and counted, or wait in the logs
for it. Neither ever holds up the store or other subscriptions."""

CLOCK_SLACK_MS: Final = 60_000
"""How far clocks and commits under way may be apart where only times tell what was missed."""

_MOST_VERSIONS: Final = 1_000


class Subscription:
    """An async iterator of `Event`, `Gap` and `Reset`; an async context manager.

    For one consumer at a time. A read that is cancelled loses nothing: iterate on. Redis being
    away is waited out; `StoreAccessDenied` and corruption are raised.
    """

    def __init__(
        self,
        owner: Subscriptions,
        wanted: Wanted,
        *,
        name: str,
        buffer: int,
        on_overflow: Overflow,
        start: str,
    ) -> None:
        self.name = name
        self.delivered = 0
        self._owner, self._source, self._wanted = owner, owner.source, wanted
        self._buffer, self._drops, self._start = buffer, on_overflow == "drop", start
        self._place = Position()
        self._handed: Position | None = None
        self._rows: deque[Row] = deque()
        self._covered, self._versions = Covered(), Versions(_MOST_VERSIONS)
        self._spans = SpanQueue(wanted, self._covered, Appetite(most=buffer))
        self._page_end, self._near = Position(), False
        self._history: History | None = None
        self._ahead: Mapping[str, int] = {}
        self._ahead_until = ORIGIN
        self._walk: LogWalk | None = None
        self._since_ms = 0
        self._hub: Hub | None = None
        self._hub_versions: Versions | None = None
        self._joined_at, self._batch = Position(), 0
        self._outlet: Outlet | None = None
        self._told = self._failures = 0
        self._stop = asyncio.Event()
        self._stage: Callable[[], Awaitable[None]] = self._read_feed

    @property
    def dropped(self) -> int:
        """Matching events that were not handed over: what all gaps count, told or not yet."""
        return self._told + (self._outlet.queue.dropped if self._outlet else 0)

    @property
    def position(self) -> str | None:
        """Where to `start` another subscription that goes on behind the last item handed over.

        None while history, or what was missed, is being read: that has no place in the feed.
        """
        if self._stage in (self._read_history, self._read_missed):
            return None
        if self._rows or (self._outlet and len(self._outlet.queue)):
            return str(self._handed) if self._handed else None
        if self._outlet and self._hub and not self._place.beyond(self._hub.position):
            return str(self._hub.position)
        return str(self._place)

    async def lag(self) -> int:
        """About how many feed entries lie between the consumer and the end of the feed."""
        if self._stop.is_set():
            return 0
        if self._outlet:
            return len(self._outlet.queue)
        if self._hub and self._stage == self._read_window:
            return len(self._rows) + self._hub.rows_from(self._batch)
        return await self._source.backlog(self._place.id)

    async def close(self) -> None:
        """End the iteration; safe to repeat."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._outlet:
            self._outlet.filled.set()
        if self._hub:
            self._hub.wake()
        self._told = self.dropped
        self._leave_hub()
        self._rows.clear()
        await self._owner.closed(self)

    async def __aenter__(self) -> Self:
        await self._owner.opened(self)
        try:
            await self._begin()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._stop.is_set():
            row = self._take()
            if row is not None:
                return row.item
            await self._advance()
        raise StopAsyncIteration

    def _take(self) -> Row | None:
        """The next row at hand."""
        if self._rows:
            row: Row | None = self._rows.popleft()
            if row is not None and isinstance(row.item, Gap):
                self._told += row.item.count
        else:
            row = self._outlet.queue.take() if self._outlet else None
            while row is not None and self._covered.upto and self._covered.repeats(row):
                row = self._outlet.queue.take() if self._outlet else None
        if row is not None and isinstance(row.item, Event):
            self.delivered += 1
            if row.at != ORIGIN:
                self._handed = Position(row.at, None if row.final else row.version)
        return row

    async def _advance(self) -> None:
        """Get something at hand, or wait for it; after a failure try again a little later."""
        try:
            await self._stage()
            self._failures = 0
        except TransientError as exc:
            if isinstance(exc, StoreAccessDenied):
                raise
            if not self._failures:
                _log.warning("subscription %s: %s; trying again", self.name, exc)
            await pause(self._stop, RECONNECT.delay_s(self._failures))
            self._failures += 1

    async def _begin(self) -> None:
        self._owner.check_hub()
        self._since_ms = self._owner.clock() - CLOCK_SLACK_MS
        if self._start == "now":
            await self._go_live()
        elif self._start == "beginning":
            self._place = Position(await self._source.end())
            self._history = History(self._source, self._wanted)
            self._stage = self._read_history
        else:
            self._place = self._handed = Position.parse(self._start)
            if self._place.stage is not Stage.FEED:
                raise UsageError(f"{self._start!r} is a position of a durable subscription")

    async def _go_live(self) -> None:
        """Follow from now on: what is committed from here on is read by the hub for us."""
        self._hub = hub = await self._owner.hub()
        hub.join(self._wanted)
        self._batch, self._stage = hub.next_batch, self._read_window
        self._place = self._handed = Position(await self._source.end())
        if self._drops:
            # Asleep from the start, it must not hold on to the window: fill its own buffer.
            missed = [hub.batch(number) for number in range(self._batch, hub.next_batch)]
            if None in missed:
                self._leave_hub()
                return
            outlet = self._push(hub)
            for batch in missed:
                outlet.offer(self._wanted.rows(batch.rows if batch else []))

    def _push(self, hub: Hub) -> Outlet:
        """At the end of the window: let the hub fill an own buffer from here on."""
        queue = DropQueue(self._buffer, self._owner.options.buffer_bytes, self._wanted.count)
        self._outlet = outlet = Outlet(queue, self._place)
        hub.push_to(self._wanted, outlet)
        self._stage = self._read_outlet
        return outlet

    async def _read_history(self) -> None:
        assert self._history is not None  # noqa: S101 - made when this stage began
        rows = await self._history.rows(self._buffer)
        if rows:
            self._see(rows)
            return
        # Up to here the feed repeats what history had already: from its end then to the heads.
        self._ahead_until = await self._source.end()
        self._ahead, self._history = self._history.heads, None
        self._covered.upto.update(self._ahead)
        self._handed, self._stage = self._place, self._read_feed

    async def _read_feed(self) -> None:
        """Read on alone; near the end, see to it that the hub reads what follows."""
        if self._spans:
            rows, self._place = await self._spans.fetch(self._source)
            self._see(rows)
            if not self._spans:
                self._place = self._page_end
            return
        if self._hub is None and self._near:
            self._hub = await self._owner.hub()
            self._joined_at = self._hub.join(self._wanted)
            self._batch = self._hub.next_batch
        if self._hub is not None and not self._joined_at.beyond(self._place):
            self._stage = self._read_window
            return
        page = await self._source.page(self._place, count=FEED_PAGE)
        unsure = page.continuous is None and self._start in ("now", "beginning")
        if page.continuous is False or unsure:
            await self._lose_place(told=not unsure)
            return
        for entry in page.entries[:1]:
            if entry.at == self._place.id and self._place.version is not None:
                done = self._covered.upto.get(entry.stream, 0)
                self._covered.upto[entry.stream] = max(done, self._place.version)
        self._spans.extend(spans_of(page.entries, self._wanted))
        self._page_end, self._near = Position(page.end), not page.full
        if not self._spans:
            self._place = self._page_end

    async def _read_window(self) -> None:
        hub = self._hub
        assert hub is not None  # noqa: S101 - joined before
        if self._ahead and self._place.id >= self._ahead_until:
            self._covered.forget(self._ahead)
            self._ahead = {}
        if self._batch < hub.next_batch:
            batch = hub.batch(self._batch)
            if batch is None:
                self._leave_hub()
                return
            self._batch += 1
            new = (r for r in batch.rows if not self._place.has(r.at, r.version))
            rows = [r for r in self._wanted.rows(list(new)) if not self._covered.repeats(r)]
            self._see(rows)
            self._place = self._place.later(batch.end)
        elif hub.over:
            self._place = self._place.later(hub.position)
            self._leave_hub()
        elif self._drops:
            self._push(hub)
        else:
            self._place = self._place.later(hub.position)
            await hub.changed()

    async def _read_outlet(self) -> None:
        hub, outlet = self._hub, self._outlet
        assert hub is not None  # noqa: S101 - joined before
        assert outlet is not None  # noqa: S101 - made when this stage began
        outlet.filled.clear()
        if len(outlet.queue):
            return
        if hub.over:
            self._told = self.dropped
            self._place = self._place.later(hub.position)
            self._hub_versions = hub.versions
            self._leave_hub()
        else:
            await outlet.filled.wait()

    def _leave_hub(self) -> None:
        """Go on alone from the own place."""
        hub, self._hub = self._hub, None
        if hub is not None:
            hub.leave(self._wanted, self._outlet)
        self._outlet, self._near = None, False
        self._stage = self._read_feed
        if hub is not None and hub.failure is not None and not self._stop.is_set():
            raise hub.failure

    def _see(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._rows.append(row)
            self._versions.saw(row.stream, row.version)

    async def _lose_place(self, *, told: bool) -> None:
        """The place in the feed is gone: go on at the oldest entry, with what lies before it."""
        oldest = await self._source.oldest()
        place = Position() if oldest is None else Position(oldest, 0)
        if self._place.id != ORIGIN:
            self._since_ms = max(self._place.id[0] - CLOCK_SLACK_MS, 0)
        trimmed = not told or (oldest is not None and self._place.id < oldest)
        # A feed that was set back may announce again what any stream had long ago.
        streams = await self._source.streams(self._since_ms if trimmed else None)
        walk = LogWalk(
            self._source,
            self._wanted,
            place,
            self._base,
            rewound=not trimmed,
            had=self._covered.upto,
            most=self._buffer,
        )
        await walk.begin([stream for stream in streams if self._wanted.stream(stream)])
        if told:
            _log.warning("subscription %s: its place in the feed is gone", self.name)
            self._rows.append(Row(Reset("trimmed" if trimmed else "reset"), "", 0, 0, 0))
        self._walk, self._page_end, self._stage = walk, place, self._read_missed

    async def _base(self, stream: str) -> int:
        """Up to which version of a stream everything has been handed over."""
        known = [self._versions.get(stream), self._covered.upto.get(stream)]
        if self._hub_versions is not None:
            known.append(self._hub_versions.get(stream))
        versions = [version for version in known if version is not None]
        if versions:
            return max(versions)
        return await self._source.first_since(stream, self._since_ms) - 1

    async def _read_missed(self) -> None:
        assert self._walk is not None  # noqa: S101 - made when this stage began
        rows = await self._walk.rows(self._source)
        if rows is not None:
            self._see(rows)
            return
        for stream, version in self._walk.ahead.items():
            self._covered.upto[stream] = max(version, self._covered.upto.get(stream, 0))
        self._place, self._stage = self._page_end, self._read_feed
