"""Reads for the partitions a member holds: the feed for all of them, the logs for one at a time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from .durable_group import INCOMPLETE
from .durable_partition import Delivery, Notice, OnItsWay, Partition
from .durable_plan import partition_of
from .event import SUMMARY_TYPE, Event
from .subscription import CLOCK_SLACK_MS
from .subscription_filter import Wanted
from .subscription_history import LogWalk
from .subscription_items import Gap, Reset, Row, Span, gap_row
from .subscription_position import ORIGIN, Position, Stage
from .subscription_source import (
    FEED_PAGE,
    Announced,
    Appetite,
    Covered,
    FeedReader,
    Page,
    Source,
    SpanQueue,
    Versions,
    spans_of,
)

_log = logging.getLogger("ares.subscription")

_NOTICE_BYTES: Final = 200


class Shelf(Protocol):
    """Where read items are put, and the partitions they are for."""

    @property
    def partitions(self) -> Mapping[int, Partition]:
        """What the member holds, by number."""
        ...

    def put(self, partition: Partition, item: OnItsWay) -> None:
        """Put an item in line for its consumer."""
        ...


class DurableReader:
    """Each `step` reads a little for the partitions on the shelf. One step at a time."""

    def __init__(
        self,
        shelf: Shelf,
        source: Source,
        reader: FeedReader,
        wanted: Wanted,
        losses: Callable[[], Awaitable[dict[str, int]]],
        *,
        buffer: int,
        block_ms: int,
    ) -> None:
        self._shelf, self._source, self._reader, self._wanted = shelf, source, reader, wanted
        self._losses, self._buffer, self._block_ms = losses, buffer, block_ms
        self._covered, self._versions = Covered(), Versions()
        self._spans = SpanQueue(wanted, self._covered, Appetite(most=buffer))
        self._page_of: tuple[Partition, ...] = ()
        self._page_end = Position()

    async def step(self) -> bool:
        """Read on; whether there was anything to read for. Waits at the end of the feed."""
        partitions = [p for p in self._shelf.partitions.values() if not p.leaving]
        in_logs = [p for p in partitions if p.read_to.stage is not Stage.FEED]
        if in_logs:
            await self._read_logs(in_logs[0])
        elif self._spans:
            await self._read_events()
        elif partitions:
            await self._read_feed(partitions)
        return bool(partitions)

    def forget(self, number: int) -> None:
        """The partition has passed to another member: it may come back from an earlier place."""
        upto = self._covered.upto
        for stream in [stream for stream in upto if partition_of(stream) == number]:
            del upto[stream]
        self._versions.forget(lambda stream: partition_of(stream) == number)

    async def _read_feed(self, partitions: Sequence[Partition]) -> None:
        place = partitions[0].read_to
        for partition in partitions[1:]:
            place = partition.read_to if place.beyond(partition.read_to) else place
        if place.version is None:
            block_ms = self._block_ms
            page = await self._reader.wait(place.id, count=FEED_PAGE, block_ms=block_ms)
        else:
            page = await self._source.page(place, count=FEED_PAGE)
        if page.continuous is False or (page.continuous is None and await self._losses()):
            await self._lose_places(partitions)
            return
        self._page_of, self._page_end = tuple(partitions), Position(page.end)
        self._spans.extend(spans_of(self._entries_for(page), self._wanted))
        if not self._spans:
            self._end_page()

    def _entries_for(self, page: Page) -> list[Announced]:
        """Entries of the page's partitions that they have not had."""
        by_number = {p.number: p for p in self._page_of}
        entries: list[Announced] = []
        for entry in page.entries:
            partition = by_number.get(partition_of(entry.stream))
            if partition is None or partition.read_to.has(entry.at, entry.last):
                continue
            read_to = partition.read_to
            if entry.at == read_to.id and read_to.version is not None:
                done = self._covered.upto.get(entry.stream, 0)
                self._covered.upto[entry.stream] = max(done, read_to.version)
            entries.append(entry)
        return entries

    async def _read_events(self) -> None:
        rows, _ = await self._spans.fetch(self._reader)
        by_number = {p.number: p for p in self._page_of if self._holds(p)}
        for row in rows:
            partition = by_number.get(partition_of(row.stream))
            if partition is not None:
                position = Position(row.at, None if row.final else row.version)
                self._put(partition, row, position)
                partition.moved(position)
        if not self._spans:
            self._end_page()

    def _end_page(self) -> None:
        for partition in self._page_of:
            if self._holds(partition):
                partition.moved(partition.read_to.later(self._page_end))
        self._page_of = ()

    def _holds(self, partition: Partition) -> bool:
        held = self._shelf.partitions.get(partition.number) is partition
        return held and not partition.leaving

    def _put(self, partition: Partition, row: Row, position: Position) -> None:
        item = row.item
        if isinstance(item, Event):
            delivery = Delivery(item, partition, position, row.size)
            self._versions.saw(row.stream, row.version)
            self._shelf.put(partition, delivery)
        else:
            self._shelf.put(partition, Notice(item, partition, position, row.size))

    async def _lose_places(self, partitions: Sequence[Partition]) -> None:
        """Places in the feed are gone: tell so, then what was missed, then on at the oldest."""
        oldest = await self._source.oldest()
        trimmed = [p for p in partitions if oldest is not None and p.read_to.id < oldest]
        reset = Reset("trimmed" if trimmed else "reset")
        _log.warning("a durable subscription's place in the feed is gone: %s", reset.reason)
        told = False
        for partition in trimmed or partitions:
            since = partition.read_to.id
            place = Position(oldest or ORIGIN, 0, Stage.MISSED, "", since)
            if not told and self._holds(partition):
                self._shelf.put(partition, Notice(reset, partition, place, _NOTICE_BYTES))
                told = True
            partition.moved(place)

    async def _read_logs(self, partition: Partition) -> None:
        """Read a little of the logs for one partition."""
        walk, place = partition.walk, partition.read_to
        if walk is None:
            partition.walk = await self._begin_walk(partition)
        elif place.stage is Stage.HISTORY:
            rows = await walk.rows(self._reader)
            self._put_all(partition, rows or ())
            if rows is None:
                self._end_walk(partition)
        elif partition.missed:
            self._put_all(partition, await self._account_for(partition.missed[0]))
            partition.missed.popleft()
        elif (spans := await walk.spans()) is not None:
            partition.missed.extend(spans)
        else:
            self._end_walk(partition)

    def _put_all(self, partition: Partition, rows: Sequence[Row]) -> None:
        if not self._holds(partition):
            return
        for row in rows:
            place = replace(partition.read_to, version=row.version, stream=row.stream)
            self._put(partition, row, place)
            partition.moved(place)

    async def _begin_walk(self, partition: Partition) -> LogWalk:
        place = partition.read_to
        missed = place.stage is Stage.MISSED
        noted = await self._losses() if missed else {}
        complete = not missed or (bool(noted) and INCOMPLETE not in noted)
        losses = {s: v for s, v in noted.items() if self._ours(partition, s)}
        since_ms = max(place.since[0] - CLOCK_SLACK_MS, 0) if missed else 0

        async def base(stream: str) -> int:
            seen = self._versions.get(stream)
            if complete or stream in losses:
                # The losses are from where the group was then; this member may have read on.
                return max(losses.get(stream, 1) - 1, seen or 0)
            return await self._source.first_since(stream, since_ms) - 1 if seen is None else seen

        takes_over = Position(place.id, 0) if missed and place.id != ORIGIN else Position(place.id)
        walk = LogWalk(
            self._source,
            self._wanted,
            takes_over,
            base,
            after=(place.stream, place.version or 0),
            rewound=missed and place.since >= place.id,
            most=self._buffer,
        )
        streams = await self._source.streams(since_ms)
        if missed and complete:
            streams = sorted(losses)
        await walk.begin([stream for stream in streams if self._ours(partition, stream)])
        partition.losses = tuple(losses)
        return walk

    def _ours(self, partition: Partition, stream: str) -> bool:
        return partition_of(stream) == partition.number and self._wanted.stream(stream)

    def _end_walk(self, partition: Partition) -> None:
        """The logs are read: the feed goes on from here."""
        place, walk = partition.read_to, partition.walk
        partition.walk = None
        for stream, version in (walk.ahead if walk else {}).items():
            self._covered.upto[stream] = max(version, self._covered.upto.get(stream, 0))
        inclusive = place.stage is Stage.MISSED and place.id != ORIGIN
        partition.moved(Position(place.id, 0 if inclusive else None))

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
            if not isinstance(row.item, Event) or row.item.type != SUMMARY_TYPE:
                return [*rows, gap_row(span, span.first, span.last)]
            rows.append(row)
            span = span._replace(first=row.version + 1)
        return rows


def with_gaps(rows: Sequence[Row]) -> list[Row]:
    """The rows of one stream, each run of events and gaps folded into one gap."""
    folded: list[Row] = []
    for row in rows:
        item = row.item
        if isinstance(item, Event) and item.type == SUMMARY_TYPE:
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
