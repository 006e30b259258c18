"""Feed and logs in Redis, as subscriptions read them.

Whether a reader lost its place is told by the entry it stands on: it must still be there after
what follows it was read. Trims take the oldest entries first, so then nothing in between is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streams.errors import CorruptionError
from streams.feed import entries_read, parse_feed_entry
from streams.feed_upkeep import parse_id
from streams.keys import Keys
from streams.plan import COMPACTED, Head
from streams.reading import StreamReader
from streams.summary import unpack
from streams.wire import Command, Reply, Wire, Wires, checked

from .items import Row, Span
from .position import ORIGIN, Id, Position, show_id
from .redis_logs import fetch_spans, resolve_span
from .source import Announced, FeedReader, Page
from .wanted import Interest

_BLOCK_MARGIN_S: Final = 5.0
_COUNTED: Final = 1_000
_HEADS_PER_PACKET: Final = 500


class RedisSource:
    """Reads on the store's shared connections; `reader` makes one with its own."""

    def __init__(self, wires: Wires, keys: Keys, reader: StreamReader) -> None:
        self._wires, self._keys, self._reader = wires, keys, reader

    async def end(self) -> Id:
        """Id of the newest feed entry; `ORIGIN` where there is none."""
        (found,) = await self._wires.exchange(
            [("XREVRANGE", self._keys.feed, "+", "-", "COUNT", 1)]
        )
        return parse_id(found[0][0]) if found else ORIGIN

    async def oldest(self) -> Id | None:
        """Id of the oldest feed entry."""
        (found,) = await self._wires.exchange([("XRANGE", self._keys.feed, "-", "+", "COUNT", 1)])
        return parse_id(found[0][0]) if found else None

    async def page(self, after: Position, *, count: int) -> Page:
        """Entries after a position of the feed stage; one half done is among them.

        The entry it stands on is read along: one command shows both at one moment.
        """
        start = "-" if after.id == ORIGIN else show_id(after.id)
        command: Command = ("XRANGE", self._keys.feed, start, "+", "COUNT", count + 1)
        (raw,) = await self._wires.exchange([command])
        full = len(raw) > count
        if after.id == ORIGIN:
            return _page(raw[:count], ORIGIN, continuous=None if raw else True, full=full)
        continuous = bool(raw) and parse_id(raw[0][0]) == after.id
        if continuous and after.version is None:
            raw = raw[1:]
        return _page(raw, after.id, continuous=continuous, full=full)

    async def fetch(
        self, spans: Sequence[Span], interest: Interest
    ) -> Sequence[Sequence[Row] | None]:
        """The wanted rows of each span; None where the log doesn't hold all of its versions."""
        async with self._wires.borrow() as wire:
            return await fetch_spans(wire, self._keys, spans, interest)

    async def resolve(self, span: Span, interest: Interest) -> list[Row]:
        """What there is of a span at one moment: summaries, events, and gaps for the rest."""
        async with self._wires.borrow() as wire:
            return await resolve_span(wire, self._keys, span, interest)

    async def streams(self, since_ms: int | None) -> list[str]:
        """Streams committed to at or after `since_ms`, sorted."""
        low = "-inf" if since_ms is None else since_ms
        (names,) = await self._wires.exchange([("ZRANGEBYSCORE", self._keys.streams, low, "+inf")])
        return sorted(name.decode() for name in names)

    async def heads(self, streams: Sequence[str]) -> list[int]:
        """Newest version of each stream."""
        found: list[int] = []
        for start in range(0, len(streams), _HEADS_PER_PACKET):
            part = streams[start : start + _HEADS_PER_PACKET]
            (heads,) = await self._wires.exchange([("MGET", *map(self._keys.head, part))])
            found += [Head.parse(head).version for head in heads]
        return found

    async def first_since(self, stream: str, since_ms: int) -> int:
        """First version committed at or after `since_ms`; head + 1 when there is none.

        A summary counts as a whole, at the time of its last event.
        """
        first = await self._reader.first_since(stream, since_ms)
        compacted, packed = await self._wires.exchange(
            [
                ("HGET", self._keys.state(stream), COMPACTED),
                ("LRANGE", self._keys.summaries(stream), 0, -1),
            ]
        )
        if first > int(compacted or 0) + 1:
            return first
        recent = (s.first_version for s in map(unpack, packed) if s.committed_ms >= since_ms)
        return next(recent, first)

    async def backlog(self, after: Id) -> int:
        """Feed entries after `after`: counted up to a thousand, beyond that judged by time."""
        feed = self._keys.feed
        counted, length, first, last = await self._wires.exchange(
            [
                ("XRANGE", feed, f"({show_id(after)}", "+", "COUNT", _COUNTED),
                ("XLEN", feed),
                ("XRANGE", feed, "-", "+", "COUNT", 1),
                ("XREVRANGE", feed, "+", "-", "COUNT", 1),
            ]
        )
        if len(counted) < _COUNTED:
            return len(counted)
        begin, end = parse_id(first[0][0])[0], parse_id(last[0][0])[0]
        share = (end - max(after[0], begin)) / max(end - begin, 1)
        return max(_COUNTED, round(int(length) * share))

    def reader(self) -> FeedReader:
        """A reader with a connection of its own."""
        return RedisFeedReader(self._wires.dedicated(), self._keys)


class RedisFeedReader:
    """Follows the feed on a wire of its own, and reads the events it announces there too."""

    def __init__(self, wire: Wire, keys: Keys) -> None:
        self._wire, self._keys = wire, keys

    async def wait(self, after: Id, *, count: int, block_ms: int) -> Page:
        """Entries after `after`, waiting up to `block_ms` for the first."""
        feed, place = self._keys.feed, show_id(after)
        packet: list[Command] = [
            ("XREAD", "COUNT", count, "BLOCK", block_ms, "STREAMS", feed, place),
            ("XRANGE", feed, place, place, "COUNT", 1),
        ]
        timeout_s = block_ms / 1000 + _BLOCK_MARGIN_S
        read, standing = await self._wire.exchange(packet, timeout_s=timeout_s)
        raw = entries_read(checked(read))
        continuous: bool | None = bool(checked(standing))
        if after == ORIGIN:
            continuous = None if raw else True
        return _page(raw, after, continuous=continuous, full=len(raw) == count)

    async def fetch(
        self, spans: Sequence[Span], interest: Interest
    ) -> Sequence[Sequence[Row] | None]:
        """The wanted rows of each span; None where the log doesn't hold all of its versions."""
        return await fetch_spans(self._wire, self._keys, spans, interest)

    async def resolve(self, span: Span, interest: Interest) -> list[Row]:
        """What there is of a span at one moment: summaries, events, and gaps for the rest."""
        return await resolve_span(self._wire, self._keys, span, interest)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()


def _page(raw: Sequence[Reply], after: Id, *, continuous: bool | None, full: bool) -> Page:
    entries: list[Announced] = []
    for entry_id, fields in raw:
        try:
            entry = parse_feed_entry(entry_id, fields)
        except CorruptionError:
            continue  # a foreign hand wrote it: there is nothing to learn from it
        place = parse_id(entry_id)
        entries.append(Announced(place, entry.stream, entry.first, entry.last, entry.types))
    return Page(entries, parse_id(raw[-1][0]) if raw else after, continuous, full)
