"""Pure. The identity of a round: one SHA-256 over its events.

The bytes hashed are an identity for ever: two releases that extract differently still agree on
which round a file is. For every event, in order, six fields are hashed, each as its length in
bytes (8 bytes, big-endian, unsigned) followed by its bytes:

1. `id`, UTF-8
2. `type`, UTF-8
3. `version`, decimal ASCII
4. `timestamp`, decimal ASCII: whole microseconds since 1970-01-01T00:00:00Z (a time without a
   zone counts as UTC)
5. `payload`, canonical JSON
6. `metadata`, canonical JSON

Canonical JSON is what Python's `json.dumps` writes with `sort_keys=True`,
`separators=(",", ":")`, `ensure_ascii=False`, as UTF-8; a lone surrogate, which the inbox
refuses, would be encoded as its three-byte form.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

from streams.event import Event

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_ATOMS: Final = frozenset({str, int, bool, type(None)})
_length: Final = struct.Struct(">Q").pack


def _as_dict(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no canonical JSON")


_encode: Final = json.JSONEncoder(
    sort_keys=True,
    separators=(",", ":"),
    ensure_ascii=False,
    check_circular=False,
    default=_as_dict,
).encode
_encode_fast: Final = msgspec.json.Encoder(order="sorted").encode


def events_digest(events: Iterable[Event]) -> str:
    """SHA-256, as 64 hex digits, over every event in order (bytes: see the module)."""
    digest = hashlib.sha256()
    for event in events:
        moment = event.timestamp
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        id, payload = _utf8(event.id), _canonical(event.payload)
        version, time = b"%d" % event.version, b"%d" % ((moment - _EPOCH) // _MICROSECOND)
        fields = (
            _length(len(id)), id, _type_field(event.type), _length(len(version)), version,
            _length(len(time)), time, _length(len(payload)), payload,
            _field(_canonical(event.metadata)) if event.metadata else _NO_METADATA,
        )  # fmt: skip
        digest.update(b"".join(fields))
    return digest.hexdigest()


def _field(raw: bytes) -> bytes:
    return _length(len(raw)) + raw


_NO_METADATA: Final = _field(b"{}")


@lru_cache(maxsize=256)
def _type_field(type: str) -> bytes:
    return _field(_utf8(type))


def _canonical(value: Mapping[str, Any]) -> bytes:
    """Canonical JSON, by the fast encoder where the two write the same bytes."""
    if type(value) is dict and _has_one_form(value.values()):
        try:
            return _encode_fast(value)
        except UnicodeEncodeError:
            pass  # a lone surrogate
    return _utf8(_encode(value))


def _has_one_form(values: Iterable[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind in _ATOMS:
            continue
        if kind is float and 1e-4 <= abs(value) < 1e16:
            continue  # beyond these the two write exponents, and not alike
        if kind is not dict and kind is not list:
            return False
        if not _has_one_form(value.values() if kind is dict else value):
            return False
    return True


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
