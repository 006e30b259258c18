"""Pure. The inbox contract: what any producer may XADD, and what becomes of it.

Required fields: `stream`, `type`. Optional: `payload` and `metadata` (a JSON object or a msgpack
map), `id` (makes a repeated XADD within the window harmless), `module`, `timestamp` (RFC 3339 or
epoch milliseconds). Any other field is refused by name.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from .codec import (
    MAX_TIMESTAMP_MS,
    MIN_TIMESTAMP_MS,
    EncodedEvent,
    Limits,
    check_name,
    check_size,
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


class InboxEvent(NamedTuple):
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
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    if len(values) * 2 != len(fields):
        raise InvalidEvent("entry", "has a field twice")
    if not values.keys() <= _FIELDS:
        unknown = sorted(repr(name.decode(errors="replace")) for name in values.keys() - _FIELDS)
        raise InvalidEvent("entry", f"has unknown fields: {', '.join(unknown)}")
    for name in (b"stream", b"type"):
        if name not in values:
            raise InvalidEvent(name.decode(), "is missing")
    event_id, module = values.get(b"id"), values.get(b"module")
    event = EncodedEvent(
        type=_repeated_name(values[b"type"], "type", limits.max_type_bytes),
        id=new_event_id() if event_id is None else _name(event_id, "id", limits.max_id_bytes),
        timestamp_us=_timestamp_us(values.get(b"timestamp"), entry_id),
        module=_repeated_name(module, "module", limits.max_module_bytes) if module else "",
        payload=_document(values.get(b"payload"), "payload", limits),
        metadata=_document(values.get(b"metadata"), "metadata", limits),
    )
    stream = _repeated_name(values[b"stream"], "stream", limits.max_stream_bytes)
    return InboxEvent(stream, event, deduplicate=event_id is not None)


def _name(raw: bytes, path: str, max_bytes: int) -> str:
    return check_name(_text(raw, path), path, max_bytes)


_repeated_name: Final = lru_cache(maxsize=10_000)(_name)
"""The name of a stream, type or module: many entries have the same."""


def _text(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        raise InvalidEvent(path, f"is not UTF-8 at byte {exc.start}", code="encoding") from exc


def _document(raw: bytes | None, name: str, limits: Limits) -> bytes:
    if raw is None:
        return b""
    check_size(raw, name, limits.max_payload_bytes)
    return check_document(raw, name, max_depth=limits.max_depth)


def _timestamp_us(raw: bytes | None, entry_id: bytes) -> int:
    """Microseconds since the epoch: the producer's time, else the time of the XADD."""
    if raw is None:
        # Explicit ids may lie beyond any date; such an event is dated at the end of time.
        return min(int(entry_id.partition(b"-")[0]), MAX_TIMESTAMP_MS) * 1000
    text = _text(raw, "timestamp")
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
