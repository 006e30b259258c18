"""Reads for the partitions a member holds: the feed for all of them, the logs for one at a time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from streams.event import Event
from streams.subscription.items import Reset, Row
from streams.subscription.position import ORIGIN, Id, Position, Stage
from streams.subscription.seen import Covered, Versions
from streams.subscription.source import FEED_PAGE, Announced, FeedReader, Page, Source
from streams.subscription.spans import Appetite, SpanQueue, spans_of
from streams.subscription.wanted import Wanted

from .logs import LogsOfPartitions, takeover
from .partition import Delivery, Notice, OnItsWay, Partition
from .plan import partition_of

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
        self._logs = LogsOfPartitions(source, reader, wanted, losses, self._versions, most=buffer)
        self._spans = SpanQueue(wanted, self._covered, Appetite(most=buffer))
        self._reset_told: Id | None = None
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
        self._versions.saw(row.stream, row.version)
        if isinstance(item, Event):
            self._shelf.put(partition, Delivery(item, partition, position, row.size))
        else:
            self._shelf.put(partition, Notice(item, partition, position, row.size))

    async def _lose_places(self, partitions: Sequence[Partition]) -> None:
        """Places in the feed are gone: what was missed comes next, then the oldest entry."""
        oldest = await self._source.oldest()
        trimmed = [p for p in partitions if oldest is not None and p.read_to.id < oldest]
        for partition in trimmed or partitions:
            since = partition.read_to.id
            partition.moved(Position(oldest or ORIGIN, 0, Stage.MISSED, "", since))

    async def _read_logs(self, partition: Partition) -> None:
        """Read a little of the logs for one partition."""
        if partition.walk is None:
            walk, place = await self._logs.begin(partition, partition.read_to)
            if self._holds(partition):
                partition.walk = walk
                partition.moved(place)
                if place.stage is Stage.MISSED and not place.stream:
                    self._tell_reset(partition, place)
            return
        rows = await self._logs.rows(partition)
        if not self._holds(partition):
            return
        for row in rows or ():
            place = replace(partition.read_to, version=row.version, stream=row.stream)
            self._put(partition, row, place)
            partition.moved(place)
        if rows is None:
            for stream, version in partition.walk.ahead.items():
                self._covered.upto[stream] = max(version, self._covered.upto.get(stream, 0))
            partition.walk = None
            partition.moved(takeover(partition.read_to))

    def _tell_reset(self, partition: Partition, place: Position) -> None:
        """Each member is told once of each loss, whichever of its partitions met it first."""
        if self._reset_told != place.id:
            self._reset_told = place.id
            reset = Reset("trimmed" if place.since < place.id else "reset")
            _log.warning("a durable subscription's place in the feed is gone: %s", reset.reason)
            self._shelf.put(partition, Notice(reset, partition, place, _NOTICE_BYTES))
