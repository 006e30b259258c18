"""From feed entries to rows: what they announce waits in line and is fetched a little at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .items import Row, Span, cut
from .position import Position
from .seen import Covered, behind
from .source import Announced, LogReader
from .wanted import Interest

_MOST_EVENTS: Final = 128
_BUDGET_BYTES: Final = 4 * 1024 * 1024
_FIRST_GUESS: Final = 64 * 1024


def spans_of(entries: Iterable[Announced], interest: Interest) -> list[Span]:
    """What has to be read of feed entries."""
    return [
        Span(entry.stream, entry.first, entry.last, entry.at)
        for entry in entries
        if interest.entry(entry.stream, entry.types)
    ]


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
            left = behind(span, ahead.get(span.stream, 0))
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
