"""Reads all there is in the logs, by commit time.

What it has read it keeps in its own state and nothing in a running generator, so whoever is
cancelled while waiting for it goes on later without a loss.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from streams.subscription.items import Row, Span, cut
from streams.subscription.source import LogReader, Source
from streams.subscription.spans import Appetite
from streams.subscription.wanted import Wanted

_HELD_EVENTS: Final = 10_000
_HELD_BYTES: Final = 32 * 1024 * 1024
_STREAMS_AT_ONCE: Final = 64
_MOST_ROWS: Final = 128


@dataclass(slots=True)
class _Cursor:
    """How far one stream is read; `last` is its head when the reading began."""

    stream: str
    next: int
    last: int
    rows: deque[Row] = field(default_factory=deque)

    @property
    def unread(self) -> bool:
        return self.next <= self.last

    def low(self, quota: int) -> bool:
        """Whether it may as well be read on along with others."""
        return self.unread and len(self.rows) <= quota // 4


class History:
    """The events of all wanted streams, by commit time, up to the heads of when it began."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self._source, self._wanted = source, wanted
        self._cursors: list[_Cursor] = []
        self._heap: list[tuple[int, str, int]] = []
        self._dry: list[int] = []
        self._out: list[Row] = []
        self._begun = False
        self._appetite = Appetite(most=_MOST_ROWS * _STREAMS_AT_ONCE)
        self.heads: dict[str, int] = {}

    async def rows(self, limit: int) -> list[Row]:
        """The next rows; none at the end."""
        if not self._begun:
            await self._begin()
        while len(self._out) < limit:
            while self._dry:
                await self._refill()
            if not self._heap:
                break
            _, stream, index = heapq.heappop(self._heap)
            cursor = self._cursors[index]
            self._out.append(cursor.rows.popleft())
            if cursor.rows:
                heapq.heappush(self._heap, (cursor.rows[0].ms, stream, index))
            elif cursor.unread:
                self._dry.append(index)
        rows, self._out = self._out, []
        return rows

    async def _begin(self) -> None:
        since_ms = self._wanted.since_ms
        named = self._wanted.filter.stream_ids
        if named and not any(name.endswith("*") for name in named):
            streams = sorted(set(named))
        else:
            streams = [s for s in await self._source.streams(since_ms) if self._wanted.stream(s)]
        cursors: list[_Cursor] = []
        heads = await self._source.heads(streams)
        for stream, head in zip(streams, heads, strict=True):
            first = 1
            if since_ms is not None:
                first = await self._source.first_since(stream, since_ms)
            cursors.append(_Cursor(stream, first, head))
        self._cursors = cursors
        self._dry = [index for index, cursor in enumerate(cursors) if cursor.unread]
        self.heads = {cursor.stream: cursor.last for cursor in cursors}
        self._begun = True

    async def _refill(self) -> None:
        """Fetch the next rows of streams that have none left, and of some that soon will."""
        room = self._appetite.events
        dry = self._dry[: min(_STREAMS_AT_ONCE, room)]
        quota = max(1, min(_HELD_EVENTS // len(self._cursors), room // len(dry), _MOST_ROWS))
        soon = (index for _, _, index in self._heap[: min(_STREAMS_AT_ONCE, room) - len(dry)])
        chosen = [*dry, *(index for index in soon if self._cursors[index].low(quota))]
        spans = [cut(Span(c.stream, c.next, c.last), quota)[0] for c in self._at(chosen)]
        found = await _read(self._source, spans, self._wanted)
        del self._dry[: len(dry)]
        for index, span, rows in zip(chosen, spans, found, strict=True):
            self._take(index, span, rows)
        self._appetite.fed([row for rows in found for row in rows])

    def _take(self, index: int, span: Span, rows: Sequence[Row]) -> None:
        cursor = self._cursors[index]
        was_dry = not cursor.rows
        kept = _within(rows, _HELD_BYTES // len(self._cursors))
        read_to = span.last if len(kept) == len(rows) else 0
        cursor.next = max([read_to, *(row.version for row in kept[-1:])]) + 1
        cursor.rows.extend(kept)
        if was_dry and cursor.rows:
            heapq.heappush(self._heap, (cursor.rows[0].ms, cursor.stream, index))
        elif was_dry and cursor.unread:
            self._dry.append(index)

    def _at(self, indexes: Sequence[int]) -> list[_Cursor]:
        return [self._cursors[index] for index in indexes]


async def _read(reader: LogReader, spans: Sequence[Span], wanted: Wanted) -> list[Sequence[Row]]:
    found = await reader.fetch(spans, wanted)
    return [
        await reader.resolve(span, wanted) if rows is None else rows
        for span, rows in zip(spans, found, strict=True)
    ]


def _within(rows: Sequence[Row], size: int) -> Sequence[Row]:
    """The first of `rows` that fit into `size` bytes, at least one where there is one."""
    taken = 0
    for index, row in enumerate(rows):
        taken += row.size
        if taken > size and index:
            return rows[:index]
    return rows
