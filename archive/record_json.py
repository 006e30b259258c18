"""Pure. A round file's bytes: exact when written, tolerant when read.

Written: JSON, UTF-8, two-space indent, keys in the order of `RoundRecord`, newline at the end.
Read: files of ARES too, so a missing field has its default and an unknown one stays in `raw`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from streams.errors import UsageError

from .failures import RecordDamaged
from .record import RoundIdentity, RoundRecord
from .record_wire import WireRecord, decode, record_of

ARES_CHECKS: Final = ("go_vet", "go_lint", "go_test", "race_detector", "examples")


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of an erased round: its number and identity, no content."""

    round: int
    identity: RoundIdentity
    tenant_id: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A round file's record, and `raw`, the whole JSON object with the fields we don't know."""

    record: RoundRecord
    raw: Mapping[str, Any]


def _finite(number: str) -> float | str:
    """Numbers no float can hold are shown as they stand rather than called damage."""
    value = float(number)
    return value if math.isfinite(value) else number


_raw_decoder: Final = msgspec.json.Decoder(dict[str, Any], float_hook=_finite)
_encoder: Final = msgspec.json.Encoder()


def rfc3339(moment: datetime) -> str:
    """`moment` in UTC with microseconds and `Z`; a time without a zone counts as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def record_to_bytes(record: RoundRecord) -> bytes:
    """The file of `record`: equal records give equal bytes.

    Raises `UsageError` for text that has no UTF-8 form (a lone surrogate).
    """
    return _pretty(record_to_dict(record))


def record_to_dict(record: RoundRecord) -> dict[str, Any]:
    """`record` as the JSON object of its file, keys in their order."""
    verdict = record.verdict
    return {
        "round": record.round,
        "action": record.action,
        "summary": record.summary,
        "files": [
            {
                "path": change.path,
                "lines_added": change.lines_added,
                "summary": change.summary,
                "lines_removed": change.lines_removed,
            }
            for change in record.files
        ],
        "verdict": {
            **{name: getattr(verdict, name) for name in ARES_CHECKS},
            "checks": [
                {"kind": c.kind, "tool": c.tool, "result": c.result} for c in verdict.checks
            ],
        },
        "todos": list(record.todos),
        "decisions": list(record.decisions),
        "refs": dict(record.refs),
        "stream_id": record.stream_id,
        "tenant_id": record.tenant_id,
        "epoch": record.epoch,
        "outcome": record.outcome,
        "error": record.error,
        "first_version": record.first_version,
        "last_version": record.last_version,
        "event_count": record.event_count,
        "started_at": rfc3339(record.started_at) if record.started_at else None,
        "ended_at": rfc3339(record.ended_at) if record.ended_at else None,
        "events_digest": record.events_digest,
    }


def tombstone_to_bytes(tombstone: Tombstone) -> bytes:
    """The file that replaces an erased round's."""
    identity = tombstone.identity
    return _pretty(
        {
            "round": tombstone.round,
            "erased": True,
            "stream_id": identity.stream_id,
            "tenant_id": tombstone.tenant_id,
            "epoch": tombstone.epoch,
            "first_version": identity.first_version,
            "last_version": identity.last_version,
            "events_digest": identity.events_digest,
        }
    )


def record_from_bytes(data: bytes) -> RoundRecord:
    """The record in a round file; raises `RecordDamaged`, for a tombstone too."""
    stored = stored_from_bytes(data)
    if isinstance(stored, Tombstone):
        raise RecordDamaged("it was erased")
    return stored.record


def stored_from_bytes(data: bytes) -> StoredRecord | Tombstone:
    """What a round file holds; raises `RecordDamaged` unless it is whole."""
    wire = decode(data)
    if wire.erased:
        return _tombstone(wire)
    return StoredRecord(record_of(wire), _raw_decoder.decode(data))


def check_bytes(data: bytes) -> bool:
    """Whether a round file holds a record, False for a tombstone; raises `RecordDamaged`.

    As strict as `stored_from_bytes`, and a good deal cheaper.
    """
    return not decode(data).erased


def is_told_by_bytes(data: bytes, *, unnamed: bool) -> bool:
    """Whether all text of a round file stands in its bytes; raises `RecordDamaged`.

    Not so where refs are other than text, which they are shown as; nor, with `unnamed`, where
    the file names no stream, so that its folder does.
    """
    wire = decode(data)
    if unnamed and not wire.stream_id:
        return False
    if wire.refs:
        for value in wire.refs.values():
            if type(value) is not str:
                return False
    return True


def _pretty(value: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.format(_encoder.encode(value), indent=2) + b"\n"
    except UnicodeEncodeError as exc:
        raise UsageError(f"the record holds text without a UTF-8 form: {exc.reason}") from exc


def _tombstone(wire: WireRecord) -> Tombstone:
    identity = RoundIdentity(
        wire.stream_id, wire.first_version, wire.last_version, wire.events_digest
    )
    return Tombstone(wire.round, identity, wire.tenant_id, wire.epoch)
