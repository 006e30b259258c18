"""Where subscriptions read: the port that both stores offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from .items import Row, Span
from .position import Id, Position
from .wanted import Interest

FEED_PAGE: Final = 256
"""Feed entries read at once."""


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
