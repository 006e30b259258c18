"""Pure. The fields of a round file, as loose as ARES writes them, and the record they make."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, cast

import msgspec

from .failures import RecordDamaged
from .record import (
    OUTCOMES,
    Action,
    Check,
    CheckKind,
    FileChange,
    Outcome,
    RoundRecord,
    Verdict,
)


class _File(msgspec.Struct, gc=False):
    path: str = ""
    lines_added: int = 0
    lines_removed: int = 0
    summary: str = ""


class _Check(msgspec.Struct, gc=False):
    kind: str = ""
    tool: str = ""
    result: str = ""


class _Verdict(msgspec.Struct, gc=False):
    go_vet: str = ""
    go_lint: str = ""
    go_test: str = ""
    race_detector: str = ""
    examples: str = ""
    checks: list[_Check] | None = None


class WireRecord(msgspec.Struct, gc=False):
    """The fields we know, as loose as ARES writes them: its empty lists are null."""

    round: int = 0
    action: str = ""
    summary: str = ""
    files: list[_File] | None = None
    verdict: _Verdict | None = None
    todos: list[str] | None = None
    decisions: list[str] | None = None
    refs: dict[str, Any] | None = None
    stream_id: str = ""
    tenant_id: str = ""
    epoch: int = 0
    outcome: str = ""
    error: str = ""
    first_version: int = 0
    last_version: int = 0
    event_count: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    events_digest: str = ""
    erased: bool = False


_wire_decoder: Final = msgspec.json.Decoder(WireRecord)


KNOWN_FIELDS: Final = frozenset(WireRecord.__struct_fields__)
"""Top-level names of a round file that `RoundRecord` or `Tombstone` carries."""


def decode(data: bytes) -> WireRecord:
    """The fields of a round file; raises `RecordDamaged` unless it is whole."""
    try:
        if not data.isascii():
            data.decode()  # the decoder skips over unknown fields without looking at their bytes
        return _wire_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise RecordDamaged(_damage_reason(data, str(exc))) from exc


def record_of(wire: WireRecord) -> RoundRecord:
    """The record they make; what is missing has its default."""
    return RoundRecord(
        round=wire.round,
        action=cast("Action", wire.action or "implement"),
        summary=wire.summary,
        files=tuple(
            FileChange(f.path, f.lines_added, f.lines_removed, f.summary) for f in wire.files or ()
        ),
        verdict=_verdict(wire.verdict) if wire.verdict else Verdict(),
        todos=tuple(wire.todos or ()),
        decisions=tuple(wire.decisions or ()),
        refs={role: _ref_text(value) for role, value in (wire.refs or {}).items()},
        stream_id=wire.stream_id,
        tenant_id=wire.tenant_id,
        epoch=wire.epoch,
        outcome=cast("Outcome", wire.outcome or OUTCOMES[0]),
        error=wire.error,
        first_version=wire.first_version,
        last_version=wire.last_version,
        event_count=wire.event_count,
        started_at=_moment(wire.started_at),
        ended_at=_moment(wire.ended_at),
        events_digest=wire.events_digest,
    )


def _verdict(wire: _Verdict) -> Verdict:
    checks = tuple(
        Check(cast("CheckKind", check.kind), check.tool, check.result)
        for check in wire.checks or ()
    )
    return Verdict(
        wire.go_vet, wire.go_lint, wire.go_test, wire.race_detector, wire.examples, checks
    )


def _ref_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)


def _moment(text: str | None) -> datetime | None:
    """Foreign times that can't be read count as unknown rather than as damage."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=UTC)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):  # also a day that UTC has no year for
        return None
    return moment


def _damage_reason(data: bytes, detail: str) -> str:
    """What is wrong with a round file, in words for a person."""
    if not data:
        return "the file is empty"
    if not data.strip(b"\0"):
        return "the file holds only NUL bytes"
    if data.lstrip().startswith(b"{") and not data.rstrip(b"\0 \t\r\n").endswith(b"}"):
        return "the file is cut off"
    return f"not a round record: {detail}"
