"""Feed and logs of a memory store, as subscriptions read them."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from operator import attrgetter

from streams.memory_log import Entry, Folded

from .items import Row, Span, stand_ins
from .position import ORIGIN, Id, Position
from .source import Announced, FeedReader, Page
from .wanted import Interest

Logs = Mapping[str, Sequence[Folded | Entry]]

_at = attrgetter("at")


class MemoryFeed:
    """One entry per append; readers wait for the next one."""

    def __init__(self) -> None:
        self.entries: list[Announced] = []
        self._changed = asyncio.Event()

    def add(self, stream: str, first: int, last: int, types: frozenset[str], ms: int) -> None:
        """Announce a commit and wake who waits for it."""
        newest = self.entries[-1].at if self.entries else ORIGIN
        at = (ms, 0) if ms > newest[0] else (newest[0], newest[1] + 1)
        self.entries.append(Announced(at, stream, first, last, types))
        self._changed.set()
        self._changed = asyncio.Event()

    def after(self, place: Id) -> Sequence[Announced]:
        """Entries after `place`."""
        return self.entries[bisect_right(self.entries, place, key=_at) :]

    def stands(self, place: Id) -> bool:
        """Whether the entry `place` is there."""
        index = bisect_left(self.entries, place, key=_at)
        return index < len(self.entries) and self.entries[index].at == place

    def trim(self, keep: int) -> Sequence[Announced]:
        """Forget all but the newest `keep` entries; return the forgotten."""
        gone = self.entries[: max(len(self.entries) - keep, 0)]
        del self.entries[: len(gone)]
        return gone

    async def changed(self, timeout_s: float) -> None:
        """Until something is announced, or the time is over."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return


class MemorySource:
    """Reads one memory store. Serves as its own waiting reader: there is no connection."""

    def __init__(self, feed: MemoryFeed, logs: Logs) -> None:
        self._feed, self._logs = feed, logs

    async def end(self) -> Id:
        """Id of the newest feed entry; `ORIGIN` where there is none."""
        return self._feed.entries[-1].at if self._feed.entries else ORIGIN

    async def oldest(self) -> Id | None:
        """Id of the oldest feed entry."""
        return self._feed.entries[0].at if self._feed.entries else None

    async def page(self, after: Position, *, count: int) -> Page:
        """Entries after a position of the feed stage; one half done is among them."""
        ms, sequence = after.id
        place = after.id if after.version is None else (ms, sequence - 1)
        return self._page(place, after.id, count)

    async def wait(self, after: Id, *, count: int, block_ms: int) -> Page:
        """Entries after `after`, waiting up to `block_ms` for the first."""
        if not self._feed.after(after):
            await self._feed.changed(block_ms / 1000)
        return self._page(after, after, count)

    def _page(self, place: Id, standing: Id, count: int) -> Page:
        found = self._feed.after(place)
        entries = found[:count]
        continuous = None if standing == ORIGIN and found else self._stands(standing)
        end = entries[-1].at if entries else standing
        return Page(entries, end, continuous, len(found) > len(entries))

    def _stands(self, place: Id) -> bool:
        return place == ORIGIN or self._feed.stands(place)

    async def fetch(
        self, spans: Sequence[Span], interest: Interest
    ) -> Sequence[Sequence[Row] | None]:
        """The wanted rows of each span; None where the log doesn't hold all of its versions."""
        return [self._rows(span, interest) for span in spans]

    async def resolve(self, span: Span, interest: Interest) -> list[Row]:
        """What there is of a span at one moment: summaries, events, and gaps for the rest."""
        log = self._logs.get(span.stream, ())
        summaries = [entry.summary for entry in log if isinstance(entry, Folded)]
        found = {
            entry.version: _row(span, entry, interest)
            for entry in log
            if isinstance(entry, Entry) and span.first <= entry.version <= span.last
        }
        return stand_ins(span, summaries, found, interest.summary)

    def _rows(self, span: Span, interest: Interest) -> list[Row] | None:
        log = self._logs.get(span.stream, ())
        start = bisect_left(log, span.first, key=attrgetter("version"))
        part = log[start : start + span.last - span.first + 1]
        rows: list[Row] = []
        for version, entry in enumerate(part, span.first):
            if not isinstance(entry, Entry) or entry.version != version:
                return None
            if (row := _row(span, entry, interest)) is not None:
                rows.append(row)
        return rows if len(part) == span.last - span.first + 1 else None

    async def streams(self, since_ms: int | None) -> list[str]:
        """Streams committed to at or after `since_ms`, sorted."""
        return sorted(
            stream
            for stream, log in self._logs.items()
            if log and (since_ms is None or log[-1].ms >= since_ms)
        )

    async def heads(self, streams: Sequence[str]) -> list[int]:
        """Newest version of each stream."""
        return [self._head(stream) for stream in streams]

    async def first_since(self, stream: str, since_ms: int) -> int:
        """First version committed at or after `since_ms`; head + 1 when there is none.

        A summary counts as a whole, at the time of its last event.
        """
        log = self._logs.get(stream, ())
        start = bisect_left(log, since_ms, key=attrgetter("ms"))
        if start == len(log):
            return self._head(stream) + 1
        entry = log[start]
        return entry.summary.first_version if isinstance(entry, Folded) else entry.version

    def _head(self, stream: str) -> int:
        log = self._logs.get(stream)
        return log[-1].version if log else 0

    async def backlog(self, after: Id) -> int:
        """Feed entries after `after`."""
        return len(self._feed.after(after))

    def reader(self) -> FeedReader:
        """This one."""
        return self

    async def close(self) -> None:
        """Nothing to close."""


def _row(span: Span, entry: Entry, interest: Interest) -> Row | None:
    event = entry.event
    if not interest.event(event.type, event.module, entry.ms):
        return None
    final = span.final and entry.version == span.last
    return Row(entry.decode(), span.stream, entry.version, entry.ms, event.size, span.at, final)
