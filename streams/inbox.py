"""Pure. The inbox contract: what any producer may XADD, and what becomes of it.

Required fields: `stream`, `type`. Optional: `payload` and `metadata` (a JSON object or a msgpack
map), `id` (makes a repeated XADD within the window harmless), `module`, `timestamp` (RFC 3339 or
epoch milliseconds). Any other field is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from .codec import (
    MAX_TIMESTAMP_MS,
    MIN_TIMESTAMP_MS,
    EncodedEvent,
    Limits,
    check_name,
    check_size,
    check_stream,
    to_microseconds,
)
from .documents import check_document
from .errors import InvalidEvent
from .event import new_event_id

_FIELDS: Final = frozenset(
    (b"stream", b"type", b"payload", b"metadata", b"id", b"module", b"timestamp")
)
_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EPOCH_MS: Final = re.compile(r"-?\d{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """An accepted inbox entry. `deduplicate` says the producer gave the event its id."""

    stream: str
    event: EncodedEvent
    deduplicate: bool


def inbox_fields(
    stream: str,
    type: str,
    *,
    payload: bytes | str | None = None,
    metadata: bytes | str | None = None,
    id: str | None = None,
    module: str | None = None,
    timestamp: str | None = None,
) -> dict[str, bytes | str]:
    """Fields for one XADD to the inbox; what is None is left out."""
    optional = {
        "payload": payload,
        "metadata": metadata,
        "id": id,
        "module": module,
        "timestamp": timestamp,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"stream": stream, "type": type, **given}


def parse_entry(entry_id: bytes, fields: list[bytes], limits: Limits) -> InboxEvent:
    """Check one inbox entry; raises `InvalidEvent` with a reason a person understands.

    `fields` are names and values in turn, as Redis returns them.
    """
    values = dict(_pairs(fields))
    if len(values) * 2 != len(fields):
        raise InvalidEvent("entry", "has a field twice")
    if unknown := values.keys() - _FIELDS:
        names = ", ".join(sorted(repr(name.decode(errors="replace")) for name in unknown))
        raise InvalidEvent("entry", f"has unknown fields: {names}")
    stream = check_stream(_required(values, "stream"), limits)
    event_id = _text(values, "id")
    module = _text(values, "module")
    return InboxEvent(
        stream=stream,
        event=EncodedEvent(
            type=check_name(_required(values, "type"), "type", limits.max_type_bytes),
            id=new_event_id()
            if event_id is None
            else check_name(event_id, "id", limits.max_id_bytes),
            timestamp_us=_timestamp_us(_text(values, "timestamp"), entry_id),
            module=check_name(module, "module", limits.max_module_bytes) if module else "",
            payload=_document(values, "payload", limits),
            metadata=_document(values, "metadata", limits),
        ),
        deduplicate=event_id is not None,
    )


def _pairs(fields: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    walk = iter(fields)
    return zip(walk, walk, strict=True)


def _required(values: dict[bytes, bytes], name: str) -> str:
    text = _text(values, name)
    if text is None:
        raise InvalidEvent(name, "is missing")
    return text


def _text(values: dict[bytes, bytes], name: str) -> str | None:
    raw = values.get(name.encode())
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        raise InvalidEvent(name, f"is not UTF-8 at byte {exc.start}", code="encoding") from exc


def _document(values: dict[bytes, bytes], name: str, limits: Limits) -> bytes:
    raw = values.get(name.encode())
    if raw is None:
        return b""
    check_size(raw, name, limits.max_payload_bytes)
    return check_document(raw, name, max_depth=limits.max_depth)


def _timestamp_us(text: str | None, entry_id: bytes) -> int:
    """Microseconds since the epoch: the producer's time, else the time of the XADD."""
    if text is None:
        # Explicit ids may lie beyond any date; such an event is dated at the end of time.
        return min(int(entry_id.partition(b"-")[0]), MAX_TIMESTAMP_MS) * 1000
    if _EPOCH_MS.fullmatch(text):
        if not MIN_TIMESTAMP_MS <= int(text) <= MAX_TIMESTAMP_MS:
            raise InvalidEvent("timestamp", "lies outside the years 1 to 9999")
        return int(text) * 1000
    if not _RFC3339.fullmatch(text):
        raise InvalidEvent("timestamp", "is neither RFC 3339 nor epoch milliseconds")
    try:
        return to_microseconds(datetime.fromisoformat(text.upper()))
    except ValueError as exc:
        raise InvalidEvent("timestamp", f"is no date: {exc}") from exc
