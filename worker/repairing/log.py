"""Pure. What in a damaged log is ours: events by version, what somebody else put there, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from streams.codec import (
    Limits,
    decode_entry,
    encode_event,
    entry_ms,
    entry_version,
    from_microseconds,
)
from streams.errors import CorruptionError
from streams.event import Event

LOST_TYPE: Final = "event.lost"
"""Type of the event that stands where an event was deleted before it was archived."""

_NAMES: Final = (b"type", b"id", b"ts", b"module", b"payload", b"meta")
_MODULE: Final = "ares-worker"


class RawEntry(NamedTuple):
    """An entry of a stream as Redis has it."""

    id: bytes
    fields: Sequence[bytes]

    @property
    def version(self) -> int:
        """Version part of its id."""
        return entry_version(self.id)

    @property
    def ms(self) -> int:
        """Time part of its id."""
        return entry_ms(self.id)


class Foreign(NamedTuple):
    """An entry that isn't part of the stream, and why."""

    entry: RawEntry
    why: str


@dataclass(slots=True)
class SortedLog:
    """A log, sorted: its own entries by version, and the others."""

    own: dict[int, RawEntry] = field(default_factory=dict)
    foreign: list[Foreign] = field(default_factory=list)


def sort_log(stream: str, entries: Sequence[RawEntry]) -> SortedLog:
    """Tell entries that a commit may have written from those that it can't have.

    Of two entries of one version the first whose time follows counts: ids are in order, and the
    times of a log never fall.
    """
    log = SortedLog()
    reached_ms = 0
    for entry in entries:
        if not _is_event(stream, entry):
            log.foreign.append(Foreign(entry, "is no event"))
        elif entry.version in log.own:
            log.foreign.append(Foreign(entry, f"is a second event of version {entry.version}"))
        elif entry.ms < reached_ms:
            log.foreign.append(Foreign(entry, "is older than the event before it"))
        else:
            log.own[entry.version] = entry
            reached_ms = entry.ms
    return log


def cut_above(log: SortedLog, head: int) -> None:
    """Entries above `head` belong to nobody."""
    for version in sorted(version for version in log.own if version > head):
        log.foreign.append(Foreign(log.own.pop(version), f"stands above the head, {head}"))


def dense_from(log: SortedLog, head: int) -> int:
    """The version up to which events follow `head` without a gap."""
    while head + 1 in log.own:
        head += 1
    return head


def newest_after(log: SortedLog, version: int, *, most_missing: int) -> int:
    """The newest event after `version`, with gaps, but none wider than `most_missing`."""
    for found in sorted(log.own):
        if found - version > most_missing:
            break
        version = max(version, found)
    return version


def spans(versions: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending versions as ranges, first and last."""
    found: list[tuple[int, int]] = []
    for version in versions:
        if found and found[-1][1] == version - 1:
            found[-1] = (found[-1][0], version)
        else:
            found.append((version, version))
    return found


def shown(versions: Sequence[int]) -> str:
    """`version 3`, `versions 3, 5-7`; many ranges are cut short."""
    ranges = [f"{a}-{b}" if b > a else str(a) for a, b in spans(versions)]
    more = f" and {len(ranges) - 10} ranges more" if len(ranges) > 10 else ""
    noun = "version" if len(versions) == 1 else "versions"
    return f"{noun} {', '.join(ranges[:10])}{more}"


def placeholder(stream: str, version: int, ms: int) -> RawEntry:
    """The entry that stands for an event of which nothing is left."""
    event = Event(
        type=LOST_TYPE,
        id=f"lost-{version}",
        stream_id=stream,
        module_name=_MODULE,
        payload={"reason": "deleted from the log before it was archived"},
        timestamp=from_microseconds(ms * 1000),
    )
    parts = encode_event(event, Limits()).fields()
    values = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return RawEntry(f"{version}-{ms}".encode(), values)


def _is_event(stream: str, entry: RawEntry) -> bool:
    if entry.version < 1 or tuple(entry.fields[::2]) != _NAMES:
        return False
    try:
        decode_entry(stream, entry.id, list(entry.fields))
    except CorruptionError:
        return False
    return True
