"""Pure. JSON lines to inbox entries: what `ares-worker import` sends.

A line is `{"stream", "type", "payload", "id"?, "module"?, "metadata"?, "timestamp"?}`. Payload and
metadata go to the inbox byte for byte.

- A missing `id` is the first 32 hex digits of SHA-256 over the line's number in its file, a
  newline, and the line's bytes without byte order mark and line end. So the same file sent twice,
  under any name, is the same events; a line that was moved or changed is a new one.
- A `timestamp` without a time zone is UTC. A missing one is that of the last line before of the
  same stream in the same file, else the time the file was last modified.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from streams.codec import Limits
from streams.documents import check_document
from streams.errors import InvalidEvent
from streams.inbox import inbox_fields, parse_entry

_BOM: Final = b"\xef\xbb\xbf"
_SPARE: Final = 64 * 1024
_ID_DIGITS: Final = 32
_WITHOUT_ZONE: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?", re.ASCII)
_ABSENT: Final = (b"", b"null")
_ENTRY_ID: Final = b"0-0"  # only its time counts, and every entry has one of its own


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """The form of a line; what its values may be is the inbox's business."""

    stream: str
    type: str
    payload: msgspec.Raw = msgspec.Raw()
    id: str | None = None
    module: str | None = None
    metadata: msgspec.Raw = msgspec.Raw()
    timestamp: str | int | None = None


_WORDS: Final = (
    ("Object missing required field", "lacks the field"),
    ("Object contains unknown field", "has the unknown field"),
    ("Expected `object`", "must be an object"),
    ("Expected", "must be"),
    (" - at `$.", " in `"),
)
_PAIRS: Final = json.JSONDecoder(object_pairs_hook=list)
_decode: Final = msgspec.json.Decoder(_Line).decode


@dataclass(frozen=True, slots=True)
class ImportEntry:
    """A good line: the fields to XADD, and their size in bytes."""

    line: int
    stream: str
    fields: tuple[bytes | str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that can't be sent, and why."""

    line: int
    reason: str


def longest_line(limits: Limits) -> int:
    """Bytes of the longest line that may hold a good entry."""
    return 2 * limits.max_payload_bytes + _SPARE


class LineParser:
    """Parses the lines of one file in order; it remembers each stream's last timestamp."""

    def __init__(self, modified_ms: int, limits: Limits) -> None:
        self._modified_ms, self._limits = modified_ms, limits
        self._last_timestamp: dict[str, str] = {}
        self._longest = longest_line(limits)

    def parse(self, number: int, raw: bytes) -> ImportEntry | BadLine | None:
        """What line `number` (from 1) says; None when it is blank."""
        if number == 1:
            raw = raw.removeprefix(_BOM)
        raw = raw.rstrip(b"\r\n")
        if not raw.strip():
            return None
        if len(raw) > self._longest:
            return BadLine(number, f"is longer than {self._longest} bytes")
        try:
            return self._entry(number, raw)
        except InvalidEvent as exc:
            return BadLine(number, str(exc))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            return BadLine(number, _in_words(raw, exc, self._limits))

    def _entry(self, number: int, raw: bytes) -> ImportEntry:
        line = _decode(raw)
        payload, metadata = _document(line.payload), _document(line.metadata)
        timestamp = self._timestamp(line)
        fields = inbox_fields(
            line.stream,
            line.type,
            payload=payload,
            metadata=metadata,
            id=_derived_id(number, raw) if line.id is None else line.id,
            module=line.module,
            timestamp=timestamp,
        )
        flat = tuple(part for field in fields.items() for part in field)
        encoded = [part if isinstance(part, bytes) else part.encode() for part in flat]
        parse_entry(_ENTRY_ID, encoded, self._limits)
        _refuse_repeated_fields(raw, payload, metadata)
        self._last_timestamp[line.stream] = timestamp
        return ImportEntry(number, line.stream, flat, sum(map(len, encoded)))

    def _timestamp(self, line: _Line) -> str:
        if line.timestamp is not None:
            stamp = str(line.timestamp)
            return f"{stamp}Z" if _WITHOUT_ZONE.fullmatch(stamp) else stamp
        return self._last_timestamp.get(line.stream, str(self._modified_ms))


def _derived_id(number: int, raw: bytes) -> str:
    return hashlib.sha256(b"%d\n%b" % (number, raw)).hexdigest()[:_ID_DIGITS]


def _document(raw: msgspec.Raw) -> bytes | None:
    document = bytes(raw)
    return None if document in _ABSENT else document


def _refuse_repeated_fields(raw: bytes, *documents: bytes | None) -> None:
    """Parsers differ in which of two equal keys they take; the documents are checked apart."""
    for document in documents:
        raw = raw.replace(document, b"0", 1) if document else raw
    names = [name for name, _ in _PAIRS.decode(raw.decode())]
    for name in names:
        if names.count(name) > 1:
            raise InvalidEvent(name, "stands twice in the line")


def _in_words(raw: bytes, exc: Exception, limits: Limits) -> str:
    if isinstance(exc, msgspec.ValidationError):
        text = str(exc)
        for theirs, ours in _WORDS:
            text = text.replace(theirs, ours)
        return text
    try:
        check_document(raw, "line", max_depth=limits.max_depth)
    except InvalidEvent as explained:
        return str(explained).removeprefix("line: ")
    return f"is not JSON: {exc}"
