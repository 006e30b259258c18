"""Reads a stream: summaries of what was compacted away, then the events still in its log.

Summaries, head and the first log page are of one moment. Versions are dense, so it is known
from that moment which entries the later pages must bring; a page without the one that is due
means that a compaction overtook the read, which then starts over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .codec import decode_entry, entry_ms, entry_version
from .errors import StreamCorrupted, TooMuchContention
from .event import Event
from .keys import Keys
from .plan import COMPACTED, Head
from .store import Direction
from .summary import EventSummary, unpack
from .wire import Command, Reply, Wires

Entry = tuple[bytes, list[bytes]]

_ATTEMPTS: Final = 20
_PROBES: Final = 15


@dataclass(frozen=True, slots=True)
class Window:
    """Which versions a read wants, and of these only those committed at or after `since_ms`."""

    first: int = 1
    last: int | None = None
    since_ms: int | None = None

    def has(self, summary: EventSummary) -> bool:
        """Whether a summary, standing at its last version, lies in the window."""
        below = self.last is None or summary.last_version <= self.last
        recent = self.since_ms is None or summary.committed_ms >= self.since_ms
        return summary.last_version >= self.first and below and recent


@dataclass(frozen=True, slots=True)
class Row:
    """An event and when it was committed, milliseconds since the epoch."""

    ms: int
    event: Event


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """One moment of a stream; `page` starts at the near end of `first`..`last` of its log."""

    compacted: int
    head: int
    summaries: Sequence[EventSummary]
    page: Sequence[Entry]


class StreamReader:
    """Reads streams of one tenant in pages of at most `page` entries."""

    def __init__(self, wires: Wires, keys: Keys, *, page: int = 500) -> None:
        self._wires, self._keys, self._page = wires, keys, page

    async def read(
        self, stream: str, window: Window, *, limit: int | None, direction: Direction
    ) -> list[Row]:
        """Up to `limit` rows of `window` in the given order; summaries count as older."""
        first = window.first
        if window.since_ms is not None:
            first = max(first, await self.first_since(stream, window.since_ms))
        for _ in range(_ATTEMPTS):
            rows = await self._attempt(stream, window, first, limit, direction)
            if rows is not None:
                return rows
        raise StreamCorrupted(stream, "its log lacks entries that its head and state promise")

    async def _attempt(
        self, stream: str, window: Window, first: int, limit: int | None, direction: Direction
    ) -> list[Row] | None:
        """One read; None when a compaction overtook it."""
        span = _Span(self._keys.log(stream), first, window.last, direction)
        snapshot = await self._snapshot(stream, window, span, limit)
        summaries = [
            Row(summary.committed_ms, summary.to_event(stream))
            for summary in snapshot.summaries
            if window.has(summary)
        ]
        start = max(first, snapshot.compacted + 1)
        end = snapshot.head if window.last is None else min(window.last, snapshot.head)
        needed = max(end - start + 1, 0)
        if limit is not None:
            before = len(summaries) if direction is Direction.FORWARD else 0
            needed = min(needed, max(limit - before, 0))
        entries = await self._entries(span, snapshot.page, start=start, end=end, needed=needed)
        if entries is None:
            return None
        rows = [Row(entry_ms(name), decode_entry(stream, name, raw)) for name, raw in entries]
        if direction is Direction.FORWARD:
            return [*summaries, *rows][:limit]
        return [*rows, *reversed(summaries)][:limit]

    async def _entries(
        self, span: _Span, page: Sequence[Entry], *, start: int, end: int, needed: int
    ) -> list[Entry] | None:
        """The `needed` entries from `page` on; None when one that is due is missing."""
        forward = span.direction is Direction.FORWARD
        entries: list[Entry] = []
        while len(entries) < needed:
            due = start + len(entries) if forward else end - len(entries)
            if entries:
                count = min(self._page, needed - len(entries))
                (page,) = await self._wires.exchange([span.page(due, count)])
            if not page or entry_version(page[0][0]) != due:
                return None
            entries += page
        return entries[:needed]

    async def _snapshot(
        self, stream: str, window: Window, span: _Span, limit: int | None
    ) -> _Snapshot:
        """One consistent look; summaries are fetched only where the window reaches them."""
        keys = self._keys
        count = self._page if limit is None else max(min(self._page, limit), 1)
        base: list[Command] = [
            ("GET", keys.head(stream)),
            span.page(None, count),
        ]
        if window.first > 1:
            compacted, (head, page) = await self._unmoved(stream, base)
            if window.first > compacted:
                return _Snapshot(compacted, Head.parse(head).version, (), page)
        summaries: Command = ("LRANGE", keys.summaries(stream), 0, -1)
        compacted, (head, page, packed) = await self._unmoved(stream, [*base, summaries])
        parsed = [unpack(item) for item in packed]
        return _Snapshot(compacted, Head.parse(head).version, parsed, page)

    async def _unmoved(self, stream: str, commands: Sequence[Command]) -> tuple[int, list[Reply]]:
        """The compacted version and replies that no compaction came between.

        Not by MULTI: at `maxmemory` Redis refuses even reads inside it. The version only grows,
        so when it is the same before and after, nothing was compacted meanwhile.
        """
        compacted: Command = ("HGET", self._keys.state(stream), COMPACTED)
        for _ in range(_ATTEMPTS):
            packet = [compacted, *commands, compacted]
            before, *replies, after = await self._wires.exchange(packet)
            if before == after:
                return int(before or 0), replies
        raise TooMuchContention(stream, _ATTEMPTS)

    async def first_since(self, stream: str, since_ms: int) -> int:
        """First retained version committed at or after `since_ms`; head + 1 when there is none.

        Commit times never fall within a log, so this is a search among dense versions.
        """
        keys = self._keys
        compacted, (head,) = await self._unmoved(stream, [("GET", keys.head(stream))])
        low, high = compacted + 1, Head.parse(head).version + 1
        while low < high:
            step = max((high - low) // (_PROBES + 1), 1)
            probes = range(low + step - 1, high, step)[: _PROBES + 1]
            replies = await self._wires.exchange(
                [("XRANGE", keys.log(stream), version, version) for version in probes]
            )
            low, high = _narrow(low, high, since_ms, list(zip(probes, replies, strict=True)))
        return low


def _narrow(
    low: int, high: int, since_ms: int, probed: Sequence[tuple[int, Reply]]
) -> tuple[int, int]:
    """The part of `low`..`high` that can hold the first version at or after `since_ms`."""
    for version, entries in probed:
        # One that is missing was compacted meanwhile: its summary answers for it.
        if not entries or entry_ms(entries[0][0]) < since_ms:
            low = version + 1
        else:
            return low, version
    return low, high


@dataclass(frozen=True, slots=True)
class _Span:
    """A range of a log, walked from one end."""

    log: bytes
    first: int
    last: int | None
    direction: Direction

    def page(self, due: int | None, count: int) -> Command:
        """The command for the page that starts at version `due`, None for the first page."""
        first, last = self.first, "+" if self.last is None else self.last
        if self.direction is Direction.FORWARD:
            return ("XRANGE", self.log, first if due is None else due, last, "COUNT", count)
        return ("XREVRANGE", self.log, last if due is None else due, first, "COUNT", count)
