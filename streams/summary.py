"""Pure. Summaries: what stands for events that compaction took out of a log.

Summaries of a stream cover its versions 1..compacted without gap or overlap, oldest first. They
are stored as msgpack maps with one-letter keys, see `pack`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgpack

from .codec import from_microseconds, to_microseconds
from .errors import CorruptionError
from .event import SUMMARY_TYPE, TERMINAL_TYPES, Event, PayloadKey

_MAX_TEXT: Final = 4096
_MAX_LINE: Final = 200
_CUT: Final = "\n…\n"


@dataclass(frozen=True, slots=True)
class EventSummary:
    """Versions `first_version`..`last_version` of a stream, in short.

    `committed_ms` is the commit time of the last one; `started_us` and `ended_us` are the
    smallest and greatest timestamp in microseconds since the epoch; `types` counts events.
    """

    first_version: int
    last_version: int
    committed_ms: int
    started_us: int
    ended_us: int
    types: Mapping[str, int]
    text: str

    @property
    def event_count(self) -> int:
        """How many events it stands for."""
        return self.last_version - self.first_version + 1

    def to_event(self, stream: str) -> Event:
        """The synthetic `event.summary` event; its version is the last one it stands for."""
        return Event(
            type=SUMMARY_TYPE,
            payload={
                "first_version": self.first_version,
                "last_version": self.last_version,
                "event_count": self.event_count,
                "started_at": from_microseconds(self.started_us).isoformat(),
                "types": dict(self.types),
                "summary": self.text,
            },
            id=f"summary-{self.first_version}-{self.last_version}",
            stream_id=stream,
            version=self.last_version,
            timestamp=from_microseconds(self.ended_us),
        )


def pack(summary: EventSummary) -> bytes:
    """Bytes for the summaries list."""
    packed: bytes = msgpack.packb(
        {
            "f": summary.first_version,
            "l": summary.last_version,
            "m": summary.committed_ms,
            "s": summary.started_us,
            "e": summary.ended_us,
            "t": dict(summary.types),
            "x": summary.text,
        }
    )
    return packed


def unpack(raw: bytes) -> EventSummary:
    """A stored summary; raises `CorruptionError` when it is none of ours."""
    try:
        fields: dict[str, Any] = msgpack.unpackb(raw)
        return EventSummary(
            first_version=int(fields["f"]),
            last_version=int(fields["l"]),
            committed_ms=int(fields["m"]),
            started_us=int(fields["s"]),
            ended_us=int(fields["e"]),
            types=dict(fields["t"]),
            text=str(fields["x"]),
        )
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as exc:
        raise CorruptionError(f"a stored summary can't be read: {exc!r}") from exc


def merge(older: EventSummary, newer: EventSummary) -> EventSummary:
    """One summary for two adjacent ones; its text keeps the start and the end of theirs."""
    if newer.first_version != older.last_version + 1:
        raise CorruptionError(
            f"summaries {older.first_version}-{older.last_version} and "
            f"{newer.first_version}-{newer.last_version} are not adjacent"
        )
    return EventSummary(
        first_version=older.first_version,
        last_version=newer.last_version,
        committed_ms=max(older.committed_ms, newer.committed_ms),
        started_us=min(older.started_us, newer.started_us),
        ended_us=max(older.ended_us, newer.ended_us),
        types=Counter(older.types) + Counter(newer.types),
        text=shorten(f"{older.text}\n{newer.text}"),
    )


def summarize(events: Sequence[Event], committed_ms: int, text: str) -> EventSummary:
    """The summary of adjacent `events` under a given text."""
    times = [to_microseconds(event.timestamp) for event in events]
    return EventSummary(
        first_version=events[0].version,
        last_version=events[-1].version,
        committed_ms=committed_ms,
        started_us=min(times),
        ended_us=max(times),
        types=Counter(event.type for event in events),
        text=shorten(text),
    )


def rule_based_text(events: Sequence[Event]) -> str:
    """What the events say themselves: tasks begun, how they ended, and what else there was."""
    lines: list[str] = []
    for event in events:
        if event.type == "task.created":
            lines.append(_line("task", event, PayloadKey.TASK, PayloadKey.CONTENT))
        elif event.type in TERMINAL_TYPES:
            keys = (PayloadKey.ERROR, PayloadKey.RESULT, PayloadKey.OUTPUT)
            lines.append(_line(event.type.removeprefix("task."), event, *keys))
    counts = Counter(event.type for event in events)
    lines.append(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return "\n".join(lines)


def _line(label: str, event: Event, *keys: str) -> str:
    found = next((value for key in keys if isinstance(value := event.payload.get(key), str)), "")
    flat = " ".join(found[: 4 * _MAX_LINE].split())
    return f"{label}: {flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 1] + '…'}"


def shorten(text: str) -> str:
    """`text`, with its middle left out where it is longer than a summary may be."""
    if len(text) <= _MAX_TEXT:
        return text
    half = (_MAX_TEXT - len(_CUT)) // 2
    return text[:half] + _CUT + text[-half:]
