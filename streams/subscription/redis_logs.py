"""Reads events from the logs in Redis, many streams in one packet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streams.codec import decode_entry, entry_ms, entry_version
from streams.errors import CorruptionError
from streams.forced import snapshot
from streams.keys import Keys
from streams.summary import EventSummary, unpack
from streams.wire import Command, Reply, Wire

from .items import Row, Span, stand_ins
from .wanted import Interest

# Places of these values among the fields of a log entry.
_TYPE: Final = 1
_MODULE: Final = 7


async def fetch_spans(
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


async def resolve_span(wire: Wire, keys: Keys, span: Span, interest: Interest) -> list[Row]:
    """Summaries and log at one moment: a compaction shows neither a hole nor an overlap."""
    looks: list[Command] = [
        ("LRANGE", keys.summaries(span.stream), 0, -1),
        ("XRANGE", keys.log(span.stream), span.first, span.last),
    ]
    replies = await snapshot(wire, looks) or ()
    packed, raw = [() if isinstance(reply, Exception) else reply for reply in replies]
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
