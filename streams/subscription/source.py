"""Where subscriptions read: the port that both stores offer, and what is built on it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from .items import Row, Span, cut
from .position import Id, Position
from .wanted import Interest

FEED_PAGE: Final = 256
"""Feed entries read at once."""

_MOST_EVENTS: Final = 128
_BUDGET_BYTES: Final = 4 * 1024 * 1024
_FIRST_GUESS: Final = 64 * 1024
_REMEMBERED: Final = 100_000


class Announced(NamedTuple):
    """A feed entry: versions `first`..`last` of `stream` were committed."""

    at: Id
    stream: str
    first: int
    last: int
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Page:
    """Feed entries after a position, read up to `end`.

    `continuous` says that no entry between the position and the first of them is missing; it
    is None where that can't be told: nothing had been in the feed.
    """

    entries: Sequence[Announced]
    end: Id
    continuous: bool | None
    full: bool = False


class LogReader(Protocol):
    """Reads events of logs."""

    async def fetch(
        self, spans: Sequence[Span], interest: Interest
    ) -> Sequence[Sequence[Row] | None]:
        """The wanted rows of each span; None where the log doesn't hold all of its versions."""
        ...

    async def resolve(self, span: Span, interest: Interest) -> list[Row]:
        """What there is of a span at one moment: summaries, events, and gaps for the rest."""
        ...


class FeedReader(LogReader, Protocol):
    """A reader with a connection of its own, which may wait at the end of the feed."""

    async def wait(self, after: Id, *, count: int, block_ms: int) -> Page:
        """Entries after `after`, waiting up to `block_ms` for the first."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class Source(LogReader, Protocol):
    """Feed and logs of one tenant. Every method may raise `StoreUnavailable`."""

    async def end(self) -> Id:
        """Id of the newest feed entry; `ORIGIN` where there is none."""
        ...

    async def oldest(self) -> Id | None:
        """Id of the oldest feed entry."""
        ...

    async def page(self, after: Position, *, count: int) -> Page:
        """Entries after a position of the feed stage; one half done is among them."""
        ...

    async def streams(self, since_ms: int | None) -> list[str]:
        """Streams committed to at or after `since_ms`, sorted."""
        ...

    async def heads(self, streams: Sequence[str]) -> list[int]:
        """Newest version of each stream."""
        ...

    async def first_since(self, stream: str, since_ms: int) -> int:
        """First version committed at or after `since_ms`; head + 1 when there is none.

        A summary counts as a whole, at the time of its last event.
        """
        ...

    async def backlog(self, after: Id) -> int:
        """Feed entries after `after`; an estimate where they are many."""
        ...

    def reader(self) -> FeedReader:
        """A reader with a connection of its own."""
        ...


@dataclass(slots=True)
class Appetite:
    """How many events to fetch at once, so that they stay within a few megabytes.

    Big events make it careful at once, small ones bold step by step.
    """

    most: int = _MOST_EVENTS
    event_bytes: int = _FIRST_GUESS

    @property
    def events(self) -> int:
        """Versions to fetch now."""
        return max(1, min(self.most, _BUDGET_BYTES // self.event_bytes))

    def fed(self, rows: Sequence[Row]) -> None:
        """Learn from what came."""
        largest = max((row.size for row in rows), default=0)
        self.event_bytes = max(largest, self.event_bytes // 2, 1)


@dataclass(slots=True)
class Covered:
    """Versions already handed over ahead of the feed: by a summary, or from the logs."""

    upto: dict[str, int] = field(default_factory=dict)

    def left_of(self, span: Span) -> Span | None:
        """The part of `span` still to be read."""
        return _behind(span, self.upto.get(span.stream, 0))

    def repeats(self, row: Row) -> bool:
        """Whether `row`, read by somebody else, brings nothing new."""
        upto = self.upto.get(row.stream)
        if upto is None:
            return False
        if row.version <= upto:
            return True
        del self.upto[row.stream]
        return False

    def forget(self, heads: Mapping[str, int]) -> None:
        """The feed has passed these versions."""
        self.upto = {s: upto for s, upto in self.upto.items() if upto > heads.get(s, 0)}

    def passed(self, spans: Iterable[Span], ahead: Mapping[str, int]) -> None:
        """Spans are read, and of some streams more than they said: drop what is of no more use."""
        self.upto.update(ahead)
        for span in spans:
            if span.final and span.last >= self.upto.get(span.stream, span.last + 1):
                del self.upto[span.stream]


def _behind(span: Span, upto: int) -> Span | None:
    """What is left of a span when versions up to `upto` are done."""
    if upto < span.first:
        return span
    return span._replace(first=upto + 1) if upto < span.last else None


class Versions:
    """Newest version seen of each of the streams met last; bounded."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._seen: dict[str, int] = {}

    def saw(self, stream: str, version: int) -> None:
        """Remember `version`; forget the stream met longest ago where there are too many."""
        self._seen.pop(stream, None)
        self._seen[stream] = version
        if len(self._seen) > self._most:
            del self._seen[next(iter(self._seen))]

    def saw_all(self, newest: Mapping[str, int]) -> None:
        """Remember several."""
        for stream, version in newest.items():
            self.saw(stream, version)

    def forget(self, lost: Callable[[str], bool]) -> None:
        """Forget the streams of which `lost` is true."""
        for stream in [stream for stream in self._seen if lost(stream)]:
            del self._seen[stream]

    def get(self, stream: str) -> int | None:
        """The newest version seen of `stream`, where it is remembered."""
        return self._seen.get(stream)


class SpanQueue:
    """Spans on their way to be fetched; nothing leaves it before its rows are there.

    So a reader that is cancelled in the middle of a fetch goes on where it was.
    """

    def __init__(self, interest: Interest, covered: Covered, appetite: Appetite) -> None:
        self._interest, self._covered, self._appetite = interest, covered, appetite
        self._spans: list[Span] = []
        self._next = 0

    def __bool__(self) -> bool:
        return self._next < len(self._spans)

    @property
    def behind(self) -> int:
        """How many spans wait."""
        return len(self._spans) - self._next

    def extend(self, spans: Iterable[Span]) -> None:
        """Put spans in line."""
        self._spans = [*self._spans[self._next :], *spans]
        self._next = 0

    async def fetch(self, reader: LogReader) -> tuple[list[Row], Position]:
        """Rows of the next spans, and where their feed entries leave the reader."""
        chosen, taken, rest = self._choose()
        found = await reader.fetch(chosen, self._interest) if chosen else ()
        rows: list[Row] = []
        ahead: dict[str, int] = {}
        for span, complete in zip(chosen, found, strict=True):
            left = _behind(span, ahead.get(span.stream, 0))
            if left is None:
                continue
            whole = complete is not None and left is span
            part = complete if whole else await reader.resolve(left, self._interest)
            for row in part or ():
                if row.version > span.last:
                    ahead[row.stream] = row.version
                rows.append(row)
        self._appetite.fed(rows)
        self._covered.passed(self._spans[self._next : taken - (rest is not None)], ahead)
        return rows, self._move_to(taken, rest)

    def _move_to(self, taken: int, rest: Span | None) -> Position:
        """Take what was read out of the line."""
        last = self._spans[taken - 1]
        if rest is not None:
            taken -= 1
            self._spans[taken] = rest
            last = rest._replace(last=rest.first - 1, final=False)
        self._next = taken
        return Position(last.at, None if last.final else last.last)

    def _choose(self) -> tuple[list[Span], int, Span | None]:
        """Spans to fetch now, how many of the line they use up, and what is left of the last."""
        chosen: list[Span] = []
        room = self._appetite.events
        index, rest = self._next, None
        while room > 0 and index < len(self._spans):
            span = self._covered.left_of(self._spans[index])
            index += 1
            if span is None:
                continue
            part, rest = cut(span, room)
            chosen.append(part)
            room -= part.last - part.first + 1
        return chosen, index, rest


def spans_of(entries: Iterable[Announced], interest: Interest) -> list[Span]:
    """What has to be read of feed entries."""
    return [
        Span(entry.stream, entry.first, entry.last, entry.at)
        for entry in entries
        if interest.entry(entry.stream, entry.types)
    ]


async def announces_all(source: Source) -> bool:
    """Whether the feed announces every event there is, so that none can have been missed."""
    streams = await source.streams(None)
    heads = await source.heads(streams)
    firsts = await first_versions(source, Position())
    return all(
        firsts.get(stream, head + 1) == 1 for stream, head in zip(streams, heads, strict=True)
    )


async def first_versions(source: Source, place: Position) -> dict[str, int]:
    """Stream → first version that the feed announces from `place` on, up to its end of now."""
    firsts: dict[str, int] = {}
    while True:
        page = await source.page(place, count=1_000)
        for entry in page.entries:
            firsts.setdefault(entry.stream, entry.first)
        if not page.full:
            return firsts
        place = Position(page.end)
