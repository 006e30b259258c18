"""Reads ranges of the logs, stream by stream, up to where the feed takes over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from .items import Row, Span
from .position import Position
from .seen import Covered
from .source import LogReader, Source, first_versions
from .spans import Appetite, SpanQueue
from .wanted import Wanted

CLOCK_SLACK_MS: Final = 60_000
"""How far clocks and commits under way may be apart where only times tell what was missed."""

_MOST_ROWS: Final = 128
_SPANS_AT_ONCE: Final = 500

Base = Callable[[str], Awaitable[int]]
"""Version of a stream up to which a reader has had everything."""


class LogWalk:
    """Ranges of streams in the order of their names: behind `base`, before the feed takes over.

    The feed takes over at `place`: where it announces a stream, the range ends before that,
    elsewhere at the head. `after` is where an earlier walk got to: a stream and its last version
    done. `rewound` says that the feed was set back, so that it announces again what was had;
    of the streams in `had` it does so anyway, up to the versions there.
    """

    def __init__(
        self,
        source: Source,
        wanted: Wanted,
        place: Position,
        base: Base,
        *,
        after: tuple[str, int] = ("", 0),
        rewound: bool = False,
        had: Mapping[str, int] | None = None,
        most: int = _MOST_ROWS,
    ) -> None:
        self._source, self._place, self._base, self._after = source, place, base, after
        self._rewound, self._had = rewound, had or {}
        self._ends: list[tuple[str, int, int]] = []
        self._next = 0
        self._spans = SpanQueue(wanted, Covered(), Appetite(most=most))
        self.ahead: dict[str, int] = {}
        """Streams of which the feed will repeat versions up to this one."""

    async def begin(self, streams: Sequence[str]) -> None:
        """Fix the ends of the ranges of `streams`, which are sorted."""
        left = [stream for stream in streams if stream >= self._after[0]]
        # Heads first: a stream the feed still doesn't announce after that had this head all along.
        heads = await self._source.heads(left)
        firsts = await first_versions(self._source, self._place)
        self._ends = [
            (stream, min(head, firsts.get(stream, head + 1) - 1), head)
            for stream, head in zip(left, heads, strict=True)
        ]

    async def rows(self, reader: LogReader) -> list[Row] | None:
        """The next rows, maybe none; None at the end."""
        if self._spans:
            rows, _ = await self._spans.fetch(reader)
            return rows
        spans = await self.spans()
        self._spans.extend(spans or ())
        return None if spans is None else []

    async def spans(self) -> list[Span] | None:
        """The next ranges; None at the end."""
        part = self._ends[self._next : self._next + _SPANS_AT_ONCE]
        spans = [
            Span(stream, await self._first(stream, last, head), last) for stream, last, head in part
        ]
        self._next += len(part)
        return [span for span in spans if span.first <= span.last] if part else None

    async def _first(self, stream: str, last: int, head: int) -> int:
        done, version = self._after
        if stream == done:
            return version + 1
        base = await self._base(stream)
        if base <= last:
            return base + 1
        if self._rewound or self._had.get(stream) == base:
            self.ahead[stream] = min(base, head)
            return last + 1
        return 1  # what was known of it is of an earlier life
