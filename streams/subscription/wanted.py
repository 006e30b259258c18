"""Pure. A subscription's filter, asked at every stage: feed entry, stored event, row."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from streams.codec import to_microseconds
from streams.event import SUMMARY_TYPE, Event
from streams.filter import EventFilter

from .items import Gap, Row


class Interest(Protocol):
    """What somebody wants of a feed and of the logs behind it."""

    def stream(self, stream: str) -> bool:
        """Whether events of `stream` can be wanted."""
        ...

    def entry(self, stream: str, types: Iterable[str]) -> bool:
        """Whether a feed entry can announce wanted events."""
        ...

    def event(self, type: str, module: str, ms: int) -> bool:
        """Whether an event of a wanted stream, committed at `ms`, is wanted."""
        ...

    def summary(self, event: Event, ms: int) -> bool:
        """Whether a summary stands for events that may be wanted."""
        ...


class Wanted:
    """The events that one `EventFilter` lets through; `since` means the time of the commit.

    A summary is wanted when it stands for a wanted type; it doesn't tell modules apart.
    """

    def __init__(self, filter: EventFilter) -> None:
        self.filter = filter
        self.since_ms = first_ms(filter.since)
        self._types, self._modules = filter.types, frozenset(filter.modules)
        # The feed separates types by spaces: a type that has one can't be told from two.
        self._spaced = any(" " in pattern for pattern in filter.types)
        self.plain = not (filter.types or filter.modules or filter.since)
        self.everything = self.plain and not filter.stream_ids

    def stream(self, stream: str) -> bool:
        """Whether events of `stream` can be wanted."""
        return self.filter.wants_stream(stream)

    def entry(self, stream: str, types: Iterable[str]) -> bool:
        """Whether a feed entry can announce wanted events."""
        if not self.filter.wants_stream(stream):
            return False
        return not self._types or self._spaced or any(map(self.filter.wants_type, types))

    def event(self, type: str, module: str, ms: int) -> bool:
        """Whether an event of a wanted stream, committed at `ms`, is wanted."""
        if self._modules and module not in self._modules:
            return False
        if self.since_ms is not None and ms < self.since_ms:
            return False
        return not self._types or self.filter.wants_type(type)

    def summary(self, event: Event, ms: int) -> bool:
        """Whether a summary stands for events that may be wanted."""
        if self.since_ms is not None and ms < self.since_ms:
            return False
        return not self._types or any(map(self.filter.wants_type, _stood_for(event)))

    def row(self, row: Row) -> bool:
        """Whether a row that somebody wanted is wanted here too."""
        if self.everything:
            return True
        if not self.filter.wants_stream(row.stream):
            return False
        item = row.item
        if not isinstance(item, Event):
            return True
        if item.type == SUMMARY_TYPE:
            return self.summary(item, row.ms)
        return self.event(item.type, item.module_name, row.ms)

    def count(self, row: Row) -> int:
        """How many wanted events a wanted row stands for."""
        item = row.item
        if isinstance(item, Gap):
            return item.count
        if not row.first or not isinstance(item, Event):
            return 1
        kinds: dict[str, int] = item.payload.get("types", {})
        wants = self.filter.wants_type
        matching = sum(n for kind, n in kinds.items() if not self._types or wants(kind))
        return min(matching, row.version - row.first + 1)

    def rows(self, rows: list[Row]) -> list[Row]:
        """Those of `rows` that are wanted here."""
        return rows if self.everything else [row for row in rows if self.row(row)]


class AnyOf:
    """What at least one of several subscriptions wants."""

    def __init__(self, parts: Iterable[Wanted]) -> None:
        self._parts = tuple(parts)

    def stream(self, stream: str) -> bool:
        """Whether somebody can want events of `stream`."""
        return any(part.stream(stream) for part in self._parts)

    def entry(self, stream: str, types: Iterable[str]) -> bool:
        """Whether a feed entry can announce events somebody wants."""
        return any(part.everything or part.entry(stream, types) for part in self._parts)

    def event(self, type: str, module: str, ms: int) -> bool:
        """Whether somebody can want the event."""
        return any(part.everything or part.event(type, module, ms) for part in self._parts)

    def summary(self, event: Event, ms: int) -> bool:
        """Whether somebody can want the summary."""
        return any(part.summary(event, ms) for part in self._parts)


def first_ms(since: datetime | None) -> int | None:
    """The first whole millisecond at or after `since`."""
    return None if since is None else -(-to_microseconds(since) // 1000)


def _stood_for(event: Event) -> tuple[str, ...]:
    return (SUMMARY_TYPE, *event.payload.get("types", ()))
