"""Reads the logs for partitions: all of history, or an account of what a group missed.

History is handed over event by event. Of what was missed only the summaries are; the rest is
counted, so that a group which fell behind catches up with the feed at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from streams.event import SUMMARY_TYPE, Event
from streams.subscription.items import Gap, Row, Span, gap_row
from streams.subscription.log_walk import CLOCK_SLACK_MS, Base, LogWalk
from streams.subscription.position import ORIGIN, Position, Stage
from streams.subscription.seen import Covered, Versions
from streams.subscription.source import LogReader, Source
from streams.subscription.spans import Appetite, SpanQueue
from streams.subscription.wanted import Wanted

from .group import INCOMPLETE
from .partition import Partition
from .plan import partition_of


class LogsOfPartitions:
    """Reads for one partition at a time; how far it got is in the partition."""

    def __init__(
        self,
        source: Source,
        reader: LogReader,
        wanted: Wanted,
        losses: Callable[[], Awaitable[dict[str, int]]],
        versions: Versions,
        *,
        most: int,
    ) -> None:
        self._source, self._reader, self._wanted = source, reader, wanted
        self._losses, self._versions, self._most = losses, versions, most

    async def begin(self, partition: Partition, place: Position) -> tuple[LogWalk, Position]:
        """A walk through what `place` says, and the place it is for."""
        losses = await self._losses()
        guess = INCOMPLETE in losses or not losses
        noted = {stream: v for stream, v in losses.items() if stream and _in(partition, stream)}
        if place.stage is Stage.HISTORY:
            return await self._history(partition, place)
        return await self._missed(partition, place, noted, guess=guess)

    async def rows(self, partition: Partition) -> list[Row] | None:
        """The next rows, maybe none; None at the end."""
        walk = partition.walk
        assert walk is not None  # noqa: S101 - begun before
        if partition.read_to.stage is Stage.HISTORY:
            return await walk.rows(self._reader)
        if partition.missed:
            rows = await self._account_for(partition.missed[0])
            partition.missed.popleft()
            return rows
        spans = await walk.spans()
        partition.missed.extend(spans or ())
        return None if spans is None else []

    async def _history(self, partition: Partition, place: Position) -> tuple[LogWalk, Position]:
        page = await self._source.page(takeover(place), count=1)
        if page.continuous is not True and not place.stream:
            # Nothing is read yet, so it can as well end where the feed begins now: that covers
            # all that was trimmed before.
            place = replace(place, id=await self._source.oldest() or ORIGIN)
        return await self._walk(partition, place, self._seen, await self._source.streams(None))

    async def _missed(
        self, partition: Partition, place: Position, noted: dict[str, int], *, guess: bool
    ) -> tuple[LogWalk, Position]:
        since_ms = max(place.since[0] - CLOCK_SLACK_MS, 0)

        async def base(stream: str) -> int:
            # The losses are from where the group was then; this member may have read on.
            seen = await self._seen(stream)
            if stream in noted:
                return max(noted[stream] - 1, seen)
            return seen or await self._source.first_since(stream, since_ms) - 1

        rewound = place.since >= place.id
        if guess:
            # A feed that was set back may announce again what any stream had long ago.
            streams = await self._source.streams(None if rewound else since_ms)
        else:
            streams = sorted(noted)
        return await self._walk(partition, place, base, streams, rewound=rewound)

    async def _walk(
        self,
        partition: Partition,
        place: Position,
        base: Base,
        streams: Sequence[str],
        *,
        rewound: bool = False,
    ) -> tuple[LogWalk, Position]:
        walk = LogWalk(
            self._source,
            self._wanted,
            takeover(place),
            base,
            after=(place.stream, place.version or 0),
            rewound=rewound,
            most=self._most,
        )
        await walk.begin([s for s in streams if _in(partition, s) and self._wanted.stream(s)])
        return walk, place

    async def _seen(self, stream: str) -> int:
        return self._versions.get(stream) or 0

    async def _account_for(self, span: Span) -> list[Row]:
        """What a group missed of a stream: the summaries, and gaps for what they leave out."""
        rows: list[Row] = []
        if not self._wanted.plain:
            spans = SpanQueue(self._wanted, Covered(), Appetite())
            spans.extend([span])
            while spans:
                fetched, _ = await spans.fetch(self._reader)
                rows += fetched
            return with_gaps(rows)
        while span.first <= span.last:
            # Every version counts, so only where the summaries end has to be found.
            (row,) = await self._reader.resolve(span._replace(last=span.first), self._wanted)
            if not _is_summary(row):
                return [*rows, gap_row(span, span.first, span.last)]
            rows.append(row)
            span = span._replace(first=row.version + 1)
        return rows


def takeover(place: Position) -> Position:
    """Where the feed goes on when the logs are read: with the entry `place` names."""
    return Position(place.id, None if place.id == ORIGIN else 0)


def with_gaps(rows: Sequence[Row]) -> list[Row]:
    """The rows of one stream, each run of events and gaps folded into one gap."""
    folded: list[Row] = []
    for row in rows:
        item = row.item
        if _is_summary(row):
            folded.append(row)
            continue
        gap = item if isinstance(item, Gap) else Gap(row.stream, row.version, row.version, 1)
        before = folded[-1].item if folded else None
        if isinstance(before, Gap):
            count = before.count + gap.count
            folded.pop()
            gap = Gap(row.stream, before.from_version, gap.to_version, count)
        folded.append(row._replace(item=gap))
    return folded


def _in(partition: Partition, stream: str) -> bool:
    return partition_of(stream) == partition.number


def _is_summary(row: Row) -> bool:
    return isinstance(row.item, Event) and row.item.type == SUMMARY_TYPE
