"""Reads for one live subscription alone, at its consumer's pace: history, then the feed.

Where the place in the feed is gone it reads from the logs what was missed, and goes on in the
feed behind that.
"""

from __future__ import annotations

import logging
from typing import Final

from streams.subscription.items import Reset, Row
from streams.subscription.log_walk import CLOCK_SLACK_MS, LogWalk
from streams.subscription.position import ORIGIN, Position
from streams.subscription.source import FEED_PAGE, Source
from streams.subscription.spans import Appetite, SpanQueue, spans_of
from streams.subscription.wanted import Wanted

from .history import History
from .standing import Standing

_log = logging.getLogger("ares.subscription")

NOW: Final = "now"
BEGINNING: Final = "beginning"


class CatchUp:
    """Each call of `rows` reads a little more. `near_end` says that the feed is nearly read."""

    def __init__(
        self, source: Source, wanted: Wanted, standing: Standing, *, who: str, buffer: int
    ) -> None:
        self._source, self._wanted, self._standing = source, wanted, standing
        self._who, self._buffer = who, buffer
        self._spans = SpanQueue(wanted, standing.covered, Appetite(most=buffer))
        self._page_end = Position()
        self._history: History | None = None
        self._walk: LogWalk | None = None
        self._since_ms = 0
        self._chosen_place = False
        self.near_end = False

    @property
    def in_logs(self) -> bool:
        """Whether it reads the logs by themselves, which has no place in the feed."""
        return self._history is not None or self._walk is not None

    @property
    def between_pages(self) -> bool:
        """Whether all that was announced so far has been read."""
        return not (self.in_logs or self._spans)

    async def begin(self, start: str, now_ms: int) -> None:
        """Go to where the reading starts."""
        self._since_ms = now_ms - CLOCK_SLACK_MS
        self._chosen_place = start not in (NOW, BEGINNING)
        if start == BEGINNING:
            self._standing.place = Position(await self._source.end())
            self._history = History(self._source, self._wanted)
        elif start != NOW:
            self._standing.place = Position.parse(start)

    async def rows(self) -> list[Row]:
        """The next rows, maybe none."""
        if self._history is not None:
            return await self._read_history(self._history)
        if self._walk is not None:
            return await self._read_missed(self._walk)
        if self._spans:
            return await self._read_spans()
        return await self._read_page()

    async def _read_history(self, history: History) -> list[Row]:
        rows = await history.rows(self._buffer)
        if not rows:
            # Up to here the feed repeats what history had: from its end then to the heads.
            self._standing.had_history(history.heads, await self._source.end())
            self._history = None
        self._standing.saw(rows)
        return rows

    async def _read_spans(self) -> list[Row]:
        rows, place = await self._spans.fetch(self._source)
        self._standing.place = place if self._spans else self._page_end
        self._standing.saw(rows)
        return rows

    async def _read_page(self) -> list[Row]:
        standing = self._standing
        page = await self._source.page(standing.place, count=FEED_PAGE)
        unsure = page.continuous is None and not self._chosen_place
        if page.continuous is False or unsure:
            return await self._lose_place(told=not unsure)
        for entry in page.entries[:1]:
            if entry.at == standing.place.id and standing.place.version is not None:
                upto = standing.covered.upto
                upto[entry.stream] = max(upto.get(entry.stream, 0), standing.place.version)
        self._spans.extend(spans_of(page.entries, self._wanted))
        self._page_end, self.near_end = Position(page.end), not page.full
        if not self._spans:
            standing.place = self._page_end
        return []

    async def _lose_place(self, *, told: bool) -> list[Row]:
        """The place in the feed is gone: go on at the oldest entry, with what lies before it."""
        standing = self._standing
        oldest = await self._source.oldest()
        place = Position() if oldest is None else Position(oldest, 0)
        if standing.place.id != ORIGIN:
            self._since_ms = max(standing.place.id[0] - CLOCK_SLACK_MS, 0)
        trimmed = not told or (oldest is not None and standing.place.id < oldest)
        # A feed that was set back may announce again what any stream had long ago.
        streams = await self._source.streams(self._since_ms if trimmed else None)
        walk = LogWalk(
            self._source,
            self._wanted,
            place,
            self._base,
            rewound=not trimmed,
            had=standing.covered.upto,
            most=self._buffer,
        )
        await walk.begin([stream for stream in streams if self._wanted.stream(stream)])
        self._walk, self._page_end = walk, place
        if not told:
            return []
        _log.warning("subscription %s: its place in the feed is gone", self._who)
        return [Row(Reset("trimmed" if trimmed else "reset"), "", 0, 0, 0)]

    async def _base(self, stream: str) -> int:
        """Up to which version of a stream everything has been handed over."""
        newest = self._standing.newest(stream)
        if newest is not None:
            return newest
        return await self._source.first_since(stream, self._since_ms) - 1

    async def _read_missed(self, walk: LogWalk) -> list[Row]:
        rows = await walk.rows(self._source)
        if rows is None:
            upto = self._standing.covered.upto
            for stream, version in walk.ahead.items():
                upto[stream] = max(version, upto.get(stream, 0))
            self._standing.place, self._walk = self._page_end, None
            return []
        self._standing.saw(rows)
        return rows
