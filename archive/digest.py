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
from datetime import UTC, datetime
from typing import Any, Final

from streams.event import Event

_length: Final = struct.Struct(">Q").pack
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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


def events_digest(events: Iterable[Event]) -> str:
    """SHA-256, as 64 hex digits, over every event in order (bytes: see the module)."""
    digest = hashlib.sha256()
    for event in events:
        fields = (
            event.id,
            event.type,
            str(event.version),
            str(_microseconds(event.timestamp)),
            _encode(event.payload),
            _encode(event.metadata) if event.metadata else "{}",
        )
        try:
            encoded = [field.encode() for field in fields]
        except UnicodeEncodeError:
            encoded = [field.encode("utf-8", "surrogatepass") for field in fields]
        digest.update(b"".join([part for raw in encoded for part in (_length(len(raw)), raw)]))
    return digest.hexdigest()


def _microseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
