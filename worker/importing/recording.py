"""Rounds of JSON lines built in memory: what the worker would archive, without Redis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from archive.build import build_round_record, cut_rounds
from archive.publishing.writer import FileArchiveWriter
from streams.codec import Limits, decode_entry, entry_id
from streams.errors import AresError
from streams.inbox import parse_entry

from .lines import BadLine

if TYPE_CHECKING:
    from archive.record import RoundRecord
    from streams.event import Event

    from .files import ImportFile
    from .lines import ImportEntry


@dataclass(slots=True)
class RecordReport:
    """The records of a call, stream by stream, and how many lines were bad."""

    records: list[RoundRecord] = field(default_factory=list)
    streams: int = 0
    bad: int = 0


def build_records(
    files: Sequence[ImportFile],
    *,
    tenant: str,
    screen: bool,
    on_bad: Callable[[str, BadLine], None],
) -> RecordReport:
    """Every round of the streams in `files`; a tail without a terminal event is `unfinished`."""
    limits = Limits()
    report = RecordReport()
    streams: dict[str, list[Event]] = {}
    for file in files:
        for parsed in file.lines(limits, lambda _: None):
            if isinstance(parsed, BadLine):
                report.bad += 1
                on_bad(file.name, parsed)
                continue
            events = streams.setdefault(parsed.stream, [])
            events.append(_event(parsed, len(events) + 1, limits))
    report.streams = len(streams)
    for events in streams.values():
        rounds = cut_rounds(events)
        tail = (rounds.open,) if rounds.open else ()
        for number, part in enumerate((*rounds.finished, *tail), 1):
            report.records.append(
                build_round_record(round=number, events=part, screen=screen, tenant_id=tenant)
            )
    return report


def write_records(records: Sequence[RoundRecord], directory: str, tenant: str) -> int:
    """Publish `records` below `directory`; how many. Raises the first error of the archive."""
    writer = FileArchiveWriter(directory, 0, tenant=tenant)
    for result in writer.record_many(records):
        if isinstance(result, AresError):
            raise result
    return len(records)


def _event(entry: ImportEntry, version: int, limits: Limits) -> Event:
    """The event as a log would hold it."""
    fields = [part if isinstance(part, bytes) else part.encode() for part in entry.fields]
    accepted = parse_entry(b"0-0", fields, limits)
    stored = [
        part if isinstance(part, bytes) else str(part).encode() for part in accepted.event.fields()
    ]
    return decode_entry(entry.stream, entry_id(version, 0).encode(), stored)
