"""Pure. The buffer of a subscription that drops what its consumer is too slow for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from streams.subscription.items import Gap, Row

_MOST_NAMED: Final = 10_000
_FURTHER: Final = ""


class _OpenGap:
    """A gap nobody has been told of yet: it grows while its stream has nothing behind it."""

    __slots__ = ("count", "first", "last", "row", "stream")

    def __init__(self, stream: str, row: Row) -> None:
        self.stream, self.count = stream, 0
        self.first, self.last, self.row = 0, 0, row

    def take_in(self, row: Row, count: int) -> None:
        self.count += count
        if self.stream:
            begins = row.first or row.version
            self.first, self.last, self.row = self.first or begins, row.version, row

    def close(self) -> Row:
        gap = Gap(self.stream, self.first, self.last, self.count)
        return self.row._replace(item=gap, stream=self.stream, version=self.last)


class DropQueue:
    """Up to `most` events and `max_bytes`; what doesn't fit becomes a gap in its place.

    There is at most one open gap a stream, and beyond some ten thousand streams one for all the
    others together, so it is bounded whatever is dropped. `count` says how many events a row
    stands for; `dropped` is what the gaps count.
    """

    def __init__(self, most: int, max_bytes: int, count: Callable[[Row], int]) -> None:
        self._most, self._max_bytes, self._count = most, max_bytes, count
        self._rows: deque[Row | _OpenGap] = deque()
        self._open: dict[str, _OpenGap] = {}
        self._events = self._bytes = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._rows)

    def offer(self, rows: Sequence[Row]) -> None:
        """Take `rows`, or note that they were dropped."""
        size = sum(row.size for row in rows)
        if self._events + len(rows) <= self._most and self._bytes + size <= self._max_bytes:
            self._events += len(rows)
            self._bytes += size
            self._rows.extend(rows)
            if self._open:
                self._close_gaps(row.stream for row in rows)
            return
        for row in rows:
            self._offer_one(row)

    def take(self) -> Row | None:
        """The oldest item, None when there is none."""
        if not self._rows:
            return None
        oldest = self._rows.popleft()
        if isinstance(oldest, _OpenGap):
            if self._open.get(oldest.stream) is oldest:
                del self._open[oldest.stream]
            return oldest.close()
        self._events -= 1
        self._bytes -= oldest.size
        if isinstance(oldest.item, Gap):
            self.dropped += oldest.item.count
        return oldest

    def _offer_one(self, row: Row) -> None:
        fits = self._events < self._most and self._bytes + row.size <= self._max_bytes
        if fits or not self._events:  # an event larger than the buffer travels alone
            self._events += 1
            self._bytes += row.size
            self._rows.append(row)
            self._close_gaps((row.stream,))
        else:
            self._drop(row)

    def _close_gaps(self, streams: Iterable[str]) -> None:
        for stream in streams:
            self._open.pop(stream, None)

    def _drop(self, row: Row) -> None:
        gap = self._open.get(row.stream)
        if gap is None:
            name = row.stream if len(self._open) < _MOST_NAMED else _FURTHER
            gap = self._open.get(name)
            if gap is None:
                gap = self._open[name] = _OpenGap(name, row)
                self._rows.append(gap)
        count = self._count(row)
        gap.take_in(row, count)
        self.dropped += count
