"""Pure. Events to and from the fields of log entries.

An entry's id is `<version>-<ms>`; its fields are `type id ts module payload meta`, always all of
them and in this order: Redis then stores the names once for many entries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from .documents import decode_document, encode_document
from .errors import CorruptionError, InvalidEvent
from .event import Event

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_ENTRY_OVERHEAD: Final = 128
"""Bytes of a stored entry beside its values, rounded up."""

MAX_TIMESTAMP_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""

MIN_TIMESTAMP_MS: Final = -62_135_596_800_000
"""The first millisecond of the year 1."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of an event, checked before anything is stored; sizes in bytes."""

    max_stream_bytes: int = 512
    max_type_bytes: int = 128
    max_id_bytes: int = 256
    max_module_bytes: int = 256
    max_payload_bytes: int = 8 * 1024 * 1024
    max_depth: int = 64


class EncodedEvent(NamedTuple):
    """An event as a log keeps it: checked, its documents still bytes.

    A tuple, because one is made for every event: a frozen dataclass takes four times as long.
    """

    type: str
    id: str
    timestamp_us: int
    module: str
    payload: bytes
    metadata: bytes

    @property
    def size(self) -> int:
        """Bytes this event takes in a commit, roughly and never too few."""
        return len(self.payload) + len(self.metadata) + 4 * len(self.id) + _ENTRY_OVERHEAD

    def fields(self) -> tuple[bytes | str | int, ...]:
        """Names and values for XADD."""
        return (
            *("type", self.type, "id", self.id, "ts", self.timestamp_us),
            *("module", self.module, "payload", self.payload, "meta", self.metadata),
        )


def encode_event(event: Event, limits: Limits) -> EncodedEvent:
    """Check an event and encode it; raises `InvalidEvent` with the path of what is wrong."""
    payload = encode_document(event.payload, "payload", max_depth=limits.max_depth)
    metadata = encode_document(event.metadata, "metadata", max_depth=limits.max_depth)
    check_size(payload, "payload", limits.max_payload_bytes)
    check_size(metadata, "metadata", limits.max_payload_bytes)
    module = event.module_name
    return EncodedEvent(
        type=str(check_name(event.type, "type", limits.max_type_bytes)),
        id=check_name(event.id, "id", limits.max_id_bytes),
        timestamp_us=to_microseconds(event.timestamp),
        module=check_name(module, "module_name", limits.max_module_bytes) if module else "",
        payload=payload,
        metadata=metadata,
    )


def decode_entry(stream: str, entry_id: bytes, fields: list[bytes]) -> Event:
    """The event of a log entry; raises `CorruptionError` when it is no entry of ours."""
    try:
        kind, event_id, timestamp_us, module, payload, metadata = fields[1::2]
        return Event(
            type=kind.decode(),
            payload=decode_document(payload),
            id=event_id.decode(),
            stream_id=stream,
            module_name=module.decode(),
            metadata=decode_document(metadata),
            version=entry_version(entry_id),
            timestamp=from_microseconds(int(timestamp_us)),
        )
    except (ValueError, OverflowError) as exc:
        shown = entry_id.decode(errors="replace")
        raise CorruptionError(f"entry {shown} of stream {stream!r} is no event: {exc}") from exc


def entry_version(entry_id: bytes) -> int:
    """Version part of a log entry's id."""
    return int(entry_id.partition(b"-")[0])


def entry_ms(entry_id: bytes) -> int:
    """Commit time part of a log entry's id, milliseconds since the epoch."""
    return int(entry_id.partition(b"-")[2])


def entry_id(version: int, ms: int) -> str:
    """Id of the log entry of `version` committed at `ms`."""
    return f"{version}-{ms}"


def from_microseconds(timestamp_us: int) -> datetime:
    """The aware UTC time of microseconds since the epoch."""
    return _EPOCH + timedelta(microseconds=timestamp_us)


def to_microseconds(timestamp: Any) -> int:
    """Microseconds since the epoch of an aware time; raises `InvalidEvent` for anything else."""
    if not isinstance(timestamp, datetime) or timestamp.tzinfo is None:
        raise InvalidEvent("timestamp", "must be a datetime with a time zone")
    return (timestamp - _EPOCH) // _MICROSECOND


def check_stream(stream: Any, limits: Limits) -> str:
    """Return a stream's name; raise `InvalidEvent` unless it keeps the limits."""
    return check_name(stream, "stream", limits.max_stream_bytes)


def check_name(name: Any, path: str, max_bytes: int) -> str:
    """Return `name`: 1 to `max_bytes` bytes of UTF-8 without control characters."""
    if type(name) is str and name.isascii() and name.isprintable() and 0 < len(name) <= max_bytes:
        return name
    if not isinstance(name, str):
        raise InvalidEvent(path, f"must be text, not {type(name).__name__}")
    if not name:
        raise InvalidEvent(path, "must not be empty")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as exc:
        reason = "contains half a surrogate pair, which is no character"
        raise InvalidEvent(path, reason, code="encoding") from exc
    if size > max_bytes:
        raise InvalidEvent(path, f"is {size} bytes, more than {max_bytes}", code="too_large")
    if _CONTROL.search(name):
        raise InvalidEvent(path, "contains a control character")
    return name


def check_size(document: bytes, path: str, max_bytes: int) -> None:
    """Raise `InvalidEvent` when an encoded document is larger than `max_bytes`."""
    if len(document) > max_bytes:
        reason = f"is {len(document)} bytes, more than {max_bytes}"
        raise InvalidEvent(path, reason, code="too_large")
