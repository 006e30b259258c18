"""Merges all streams of a tenant by commit time without ever holding all of them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from .event import Event
from .keys import Keys
from .plan import Head
from .reading import Row, StreamReader, Window
from .store import Direction
from .wire import Wires

_HEADS_PER_PACKET = 500


@dataclass(slots=True)
class _Cursor:
    """How far one stream is read; `last` is its head when the merge began."""

    stream: str
    last: int
    rows: deque[Row] = field(default_factory=deque)
    next_version: int = 1


class TenantReader:
    """Reads all streams in the order of commit time, ties by stream.

    At most about `buffer` events are held, shared among the streams.
    """

    def __init__(
        self, wires: Wires, keys: Keys, reader: StreamReader, *, buffer: int = 10_000
    ) -> None:
        self._wires, self._keys, self._reader, self._buffer = wires, keys, reader, buffer

    async def read_all(self, since_ms: int | None) -> AsyncIterator[Event]:
        """Every event up to the heads of now, committed at or after `since_ms`."""
        cursors = await self._cursors(since_ms)
        page = max(1, min(500, self._buffer // max(len(cursors), 1)))
        heap: list[tuple[int, str, int]] = []
        for index, cursor in enumerate(cursors):
            await self._push(heap, index, cursor, since_ms, page)
        while heap:
            _, _, index = heapq.heappop(heap)
            cursor = cursors[index]
            yield cursor.rows.popleft().event
            await self._push(heap, index, cursor, since_ms, page)

    async def _push(
        self,
        heap: list[tuple[int, str, int]],
        index: int,
        cursor: _Cursor,
        since_ms: int | None,
        page: int,
    ) -> None:
        """Put a stream's next row, fetched if need be, in its place among the others."""
        if not cursor.rows and cursor.next_version <= cursor.last:
            window = Window(cursor.next_version, cursor.last, since_ms)
            rows = await self._reader.read(
                cursor.stream, window, limit=page, direction=Direction.FORWARD
            )
            cursor.rows.extend(rows)
            cursor.next_version = rows[-1].event.version + 1 if rows else cursor.last + 1
        if cursor.rows:
            heapq.heappush(heap, (cursor.rows[0].ms, cursor.stream, index))

    async def _cursors(self, since_ms: int | None) -> list[_Cursor]:
        """A cursor per stream that has been committed to since, up to its head of now."""
        low = "-inf" if since_ms is None else since_ms
        (names,) = await self._wires.exchange([("ZRANGEBYSCORE", self._keys.streams, low, "+inf")])
        streams = sorted(name.decode() for name in names)
        return [
            _Cursor(stream, head.version)
            for stream, head in zip(streams, await self._heads(streams), strict=True)
        ]

    async def _heads(self, streams: Sequence[str]) -> list[Head]:
        heads: list[Head] = []
        for start in range(0, len(streams), _HEADS_PER_PACKET):
            part = streams[start : start + _HEADS_PER_PACKET]
            (values,) = await self._wires.exchange([("MGET", *map(self._keys.head, part))])
            heads += map(Head.parse, values)
        return heads
