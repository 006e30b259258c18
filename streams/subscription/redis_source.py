"""Feed and logs in Redis, as subscriptions read them.

Whether a reader lost its place is told by the entry it stands on: it must still be there after
what follows it was read. Trims take the oldest entries first, so then nothing in between is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streams.codec import decode_entry, entry_ms, entry_version
from streams.errors import CorruptionError
from streams.feed import parse_feed_entry
from streams.feed_upkeep import parse_id
from streams.keys import Keys
from streams.plan import COMPACTED, Head
from streams.reading import StreamReader
from streams.summary import EventSummary, unpack
from streams.wire import Command, Reply, Wire, Wires, checked

from .items import Row, Span, stand_ins
from .position import ORIGIN, Id, Position, show_id
from .source import Announced, FeedReader, Page
from .wanted import Interest

_BLOCK_MARGIN_S: Final = 5.0
_COUNTED: Final = 1_000
_HEADS_PER_PACKET: Final = 500

_TYPE, _MODULE = 1, 7  # places of these values among the fields of a log entry


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
            return await _fetch(wire, self._keys, spans, interest)

    async def resolve(self, span: Span, interest: Interest) -> list[Row]:
        """What there is of a span at one moment: summaries, events, and gaps for the rest."""
        async with self._wires.borrow() as wire:
            return await _resolve(wire, self._keys, span, interest)

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
        raw = _entries(checked(read))
        continuous: bool | None = bool(checked(standing))
        if after == ORIGIN:
            continuous = None if raw else True
        return _page(raw, after, continuous=continuous, full=len(raw) == count)

    async def fetch(
        self, spans: Sequence[Span], interest: Interest
    ) -> Sequence[Sequence[Row] | None]:
        """The wanted rows of each span; None where the log doesn't hold all of its versions."""
        return await _fetch(self._wire, self._keys, spans, interest)

    async def resolve(self, span: Span, interest: Interest) -> list[Row]:
        """What there is of a span at one moment: summaries, events, and gaps for the rest."""
        return await _resolve(self._wire, self._keys, span, interest)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()


def _entries(reply: Reply) -> Sequence[Reply]:
    """Entries in a reply to a read of one stream: a list of pairs in RESP2, a map in RESP3."""
    if not reply:
        return ()
    found: Sequence[Reply] = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
    return found


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


async def _fetch(
    wire: Wire, keys: Keys, spans: Sequence[Span], interest: Interest
) -> list[list[Row] | None]:
    """Read spans in one packet; neighbours in one stream share a command."""
    ranges: list[list[Span]] = []
    last_of: dict[str, list[Span]] = {}
    for span in spans:
        known = last_of.get(span.stream)
        if known is not None and known[-1].last + 1 == span.first:
            known.append(span)
        else:
            last_of[span.stream] = [span]
            ranges.append(last_of[span.stream])
    replies = await wire.exchange(
        [("XRANGE", keys.log(r[0].stream), r[0].first, r[-1].last) for r in ranges]
    )
    rows: dict[Span, list[Row] | None] = {}
    for group, reply in zip(ranges, replies, strict=True):
        raw = () if isinstance(reply, Exception) else reply
        # Versions are dense: an entry's place follows from its version.
        first = entry_version(raw[0][0]) if raw else group[-1].last + 1
        whole = bool(raw) and len(raw) == group[-1].last - first + 1
        for span in group:
            start = span.first - first
            there = whole and start >= 0
            part = raw[start : start + span.last - span.first + 1]
            rows[span] = _rows(span, part, interest) if there else None
    return [rows[span] for span in spans]


def _rows(span: Span, raw: Sequence[Reply], interest: Interest) -> list[Row] | None:
    """Decode the wanted entries of a complete span; None when one is none of ours."""
    rows: list[Row] = []
    for entry_id, fields in raw:
        try:
            if not _wants(interest, entry_id, fields):
                continue
            event = decode_entry(span.stream, entry_id, fields)
        except (CorruptionError, ValueError, IndexError):
            return None
        version = event.version
        size = sum(map(len, fields))
        final = span.final and version == span.last
        rows.append(Row(event, span.stream, version, entry_ms(entry_id), size, span.at, final))
    return rows


def _wants(interest: Interest, entry_id: bytes, fields: Sequence[bytes]) -> bool:
    return interest.event(fields[_TYPE].decode(), fields[_MODULE].decode(), entry_ms(entry_id))


async def _resolve(wire: Wire, keys: Keys, span: Span, interest: Interest) -> list[Row]:
    """Summaries and log in one MULTI: a compaction shows neither a hole nor an overlap."""
    packet: list[Command] = [
        ("MULTI",),
        ("LRANGE", keys.summaries(span.stream), 0, -1),
        ("XRANGE", keys.log(span.stream), span.first, span.last),
        ("EXEC",),
    ]
    replies = await wire.exchange(packet)
    packed, raw = [() if isinstance(r, Exception) else r for r in checked(replies[-1])]
    found: dict[int, Row | None] = {}
    for entry in raw:
        rows = _rows(span, [entry], interest)
        if rows is not None:
            found[entry_version(entry[0])] = rows[0] if rows else None
    summaries: list[EventSummary] = []
    for item in packed:
        try:
            summaries.append(unpack(item))
        except CorruptionError:
            continue  # what it stood for shows as a gap
    return stand_ins(span, summaries, found, interest.summary)
