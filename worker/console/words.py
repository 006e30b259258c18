"""Pure. How times, sizes, counts, events and streams are said to a person, and shown as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams.event import Event
    from streams.overview import StreamLook

_WHO = ("role", "tool_name", "tool", "function")
_WHAT = (
    *("content", "error", "result", "output", "summary"),
    *("args", "input", "arguments", "task"),
)
_AGES = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))


def count(number: int, noun: str) -> str:
    """`1 event`, `3,407 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number: int | None) -> str:
    """Bytes as `812 B`, `3.2 KiB`, `40 MiB`; `-` where unknown."""
    if number is None:
        return "-"
    value, unit = float(number), "B"
    for bigger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, bigger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"


def age(then_ms: int, now_ms: int) -> str:
    """How long ago, in the largest fitting unit: `3d`, `5m`, `0s`; `-` for no time at all."""
    if not then_ms:
        return "-"
    passed = max(now_ms - then_ms, 0)
    for unit, length in _AGES:
        if passed >= length or unit == "s":
            return f"{passed // length}{unit}"
    raise AssertionError("seconds always fit")


def moment(value: datetime) -> str:
    """`2026-01-31 12:00:00Z`, to the second."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def moment_of_ms(ms: int) -> str:
    """`moment` of milliseconds since the epoch; `-` for none, the number for a date beyond all."""
    if not ms:
        return "-"
    try:
        return moment(datetime.fromtimestamp(ms / 1000, UTC))
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"


def telling(event: Event) -> str:
    """What the payload of an event tells, in short: who, and what was said, done or came of it."""
    payload = event.payload
    who = next((payload[key] for key in _WHO if isinstance(payload.get(key), str)), "")
    what: Any = next((payload[key] for key in _WHAT if payload.get(key)), dict(payload))
    text = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False, default=str)
    return f"{who}: {text}" if who else text if what else ""


def event_facts(event: Event) -> dict[str, Any]:
    """An event for `--json`, everything of it."""
    return {
        "version": event.version,
        "id": event.id,
        "stream": event.stream_id,
        "type": event.type,
        "module": event.module_name,
        "timestamp": event.timestamp,
        "payload": dict(event.payload),
        "metadata": dict(event.metadata),
    }


def stream_facts(look: StreamLook) -> dict[str, Any]:
    """A stream for `--json`, everything of it."""
    values = asdict(look)
    state = values.pop("state")
    quarantined = values.pop("quarantined") or None
    return {**values, **state, "open": look.unarchived, "quarantined": quarantined}
