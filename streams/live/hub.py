"""One reader of the feed for all live subscriptions of a store: each event is read once.

A subscription that drops gets a queue filled here. One that blocks reads from a window of the
rows read last; when its consumer is so slow that the window has moved on, it reads on by itself.
So nobody's pace is anybody else's.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field

from streams.errors import TransientError
from streams.filter import EventFilter
from streams.subscription.items import Row
from streams.subscription.patience import Patience
from streams.subscription.position import Position
from streams.subscription.seen import Covered, Versions
from streams.subscription.source import FEED_PAGE, Page, Source, announces_all
from streams.subscription.spans import Appetite, SpanQueue, spans_of
from streams.subscription.wanted import AnyOf, Wanted

from .drop_queue import DropQueue

_log = logging.getLogger("ares.subscription")


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows in the order of the feed, up to `end`; `newest` is stream → last version among them."""

    rows: list[Row]
    end: Position
    size: int
    newest: dict[str, int]


class Outlet:
    """Where the hub puts rows for one subscription that drops: those behind `behind`."""

    def __init__(self, queue: DropQueue, behind: Position) -> None:
        self.queue, self._behind = queue, behind
        self._all_new = False
        self.filled = asyncio.Event()

    def offer(self, rows: list[Row]) -> None:
        """Rows that passed the subscription's filter."""
        if not self._all_new:
            rows = [row for row in rows if not self._behind.has(row.at, row.version)]
            self._all_new = bool(rows)
        if rows:
            self.queue.offer(rows)
            self.filled.set()


@dataclass(slots=True)
class _Audience:
    """Subscriptions with the same filter; it is asked once for all of them."""

    wanted: Wanted
    readers: int = 0
    outlets: list[Outlet] = field(default_factory=list)


class Hub:
    """Follows the feed from `start` on while anybody listens. One run: it never starts again.

    `over` is set when it ended: nobody listens, it was closed, its place in the feed was gone, or
    it failed. Everything up to `position` has then been handed on.
    """

    def __init__(
        self,
        source: Source,
        start: Position,
        *,
        window_events: int,
        window_bytes: int,
        block_ms: int,
    ) -> None:
        self.position = start
        self.read_to = start
        self.failure: Exception | None = None
        self.over = False
        self.versions = Versions()
        self.next_batch = 0
        self._source, self._reader, self._block_ms = source, source.reader(), block_ms
        self._window_events, self._window_bytes = window_events, window_bytes
        self._window: deque[Batch] = deque()
        self._rows = self._bytes = 0
        self._audiences: dict[EventFilter, _Audience] = {}
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._covered, self._appetite = Covered(), Appetite()
        self._spans = SpanQueue(AnyOf(()), self._covered, self._appetite)
        self.task = asyncio.create_task(self._run(), name="ares-subscription-hub")

    def join(self, wanted: Wanted) -> Position:
        """Register an interest; from the position returned on, all that it wants is read."""
        audience = self._audiences.setdefault(wanted.filter, _Audience(wanted))
        audience.readers += 1
        return self.read_to

    def leave(self, wanted: Wanted, outlet: Outlet | None) -> None:
        """Take an interest back; the last to go ends the hub."""
        audience = self._audiences[wanted.filter]
        audience.readers -= 1
        if outlet is not None and outlet in audience.outlets:
            audience.outlets.remove(outlet)
        if not audience.readers:
            del self._audiences[wanted.filter]
        if not self._audiences:
            self.stop()

    def push_to(self, wanted: Wanted, outlet: Outlet) -> None:
        """Fill `outlet` with every row read from now on."""
        self._audiences[wanted.filter].outlets.append(outlet)

    def batch(self, number: int) -> Batch | None:
        """A batch of the window; None when the window has moved past it."""
        index = number - (self.next_batch - len(self._window))
        return self._window[index] if index >= 0 else None

    def rows_from(self, number: int) -> int:
        """Rows of the window in batches from `number` on."""
        count = self.next_batch - max(number, self.next_batch - len(self._window))
        return sum(len(self._window[-index].rows) for index in range(1, count + 1))

    async def changed(self) -> None:
        """Until something was read, or the hub is over."""
        if not self.over:
            await self._changed.wait()

    def stop(self) -> None:
        """End soon: a read under way is waited for."""
        self._stopping.set()
        self._end()

    def _end(self) -> None:
        self.over = True
        self._changed.set()
        for audience in self._audiences.values():
            for outlet in audience.outlets:
                outlet.filled.set()

    async def _run(self) -> None:
        patience = Patience("the feed", self._stopping)
        try:
            while not self.over:
                try:
                    await self._step()
                    patience.renew()
                except TransientError as exc:
                    await patience.wait_out(exc)
        except Exception as exc:  # told to every subscription by its next read
            self.failure = exc
        finally:
            self._end()
            await self._reader.close()

    async def _step(self) -> None:
        """Read what comes next and hand it on; after a failure it goes on where it stopped."""
        if not self._spans:
            after = self.position.id
            page = await self._reader.wait(after, count=FEED_PAGE, block_ms=self._block_ms)
            if self.over:
                return
            continuous = page.continuous
            if continuous is None:
                continuous = await announces_all(self._source)
            if not continuous:
                # Each subscription finds out by itself what it missed, at its own pace.
                _log.info("the feed was trimmed or reset behind its reader")
                self._end()
                return
            self._take_on(page)
        while self._spans and not self.over:
            self._publish(*await self._spans.fetch(self._reader))
        if not self.over:
            self.position = self.read_to
            self.wake()
            await asyncio.sleep(0)  # a source in memory never waits: let the consumers go on

    def _take_on(self, page: Page) -> None:
        interest = AnyOf([audience.wanted for audience in self._audiences.values()])
        self._spans = SpanQueue(interest, self._covered, self._appetite)
        self._spans.extend(spans_of(page.entries, interest))
        self.read_to = Position(page.end)

    def _publish(self, rows: list[Row], end: Position) -> None:
        self.position = end
        if not rows:
            return
        newest = {row.stream: row.version for row in rows}
        batch = Batch(rows, end, sum(row.size for row in rows), newest)
        self.versions.saw_all(newest)
        for audience in self._audiences.values():
            if audience.outlets:
                chosen = audience.wanted.rows(rows)
                for outlet in audience.outlets:
                    outlet.offer(chosen)
        self._window.append(batch)
        self._rows += len(batch.rows)
        self._bytes += batch.size
        self.next_batch += 1
        self._shrink()
        self.wake()

    def _shrink(self) -> None:
        """Forget old batches; all of them where nobody reads the window."""
        read = any(len(a.outlets) < a.readers for a in self._audiences.values())
        most, most_bytes = (self._window_events, self._window_bytes) if read else (0, 0)
        while self._window and (self._rows > most or self._bytes > most_bytes):
            oldest = self._window.popleft()
            self._rows -= len(oldest.rows)
            self._bytes -= oldest.size

    def wake(self) -> None:
        """Let everybody look."""
        self._changed.set()
        self._changed = asyncio.Event()
