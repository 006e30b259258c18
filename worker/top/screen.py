"""Pure. The screen of `top`: three tables and a line above and below, made to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from worker.console import words

from .rates import rates_between
from .rows import (
    SORTS,
    STREAMS,
    TENANTS,
    WORKERS,
    short,
    span,
    stream_rows,
    tenant_rows,
    worker_rows,
)
from .sample import Sample
from .table import BAD, QUIET, Paint, fit, paint_of, table

_ROOMY: Final = 16
"""Lines from which tables have a blank one between them."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a screen is drawn into; a `height` of None has no end, and no keys to tell of."""

    width: int
    height: int | None = None
    color: bool = False
    sort: str = SORTS[0]
    trouble: str = ""


def render(now: Sample, before: Sample | None, frame: Frame) -> list[str]:
    """The lines of the screen: never more, and never wider, than `frame` says."""
    paint, width = paint_of(frame.color), frame.width
    rates = rates_between(before, now)
    tables = [
        table("TENANT", TENANTS, tenant_rows(now, rates), width, paint),
        table("WORKER", WORKERS, worker_rows(now), width, paint),
        table("STREAM", STREAMS, stream_rows(now, rates, frame.sort), width, paint),
    ]
    head = _headline(now, width, paint)
    bad = _quarantined(now)
    if frame.height is None:
        spaced = [line for part in tables for line in ("", *part)]
        return [head, *spaced, *(["", paint(fit(bad, width), **BAD)] if bad else [])]
    keys = f"q quit  s sort: {frame.sort}"
    told = frame.trouble or bad
    foot = paint(fit(told, width), **BAD) if told else paint(fit(keys, width), **QUIET)
    room = max(frame.height - 2, 0)
    body = _share(tables, room, width)
    return [head, *body, *[""] * (room - len(body)), foot][: frame.height]


def _share(tables: Sequence[Sequence[str]], room: int, width: int) -> list[str]:
    """The tables in `room` lines: tenants and workers a quarter each, streams what is left."""
    blank = [""] if room >= _ROOMY else []
    left = room - 2 * len(blank)
    tenants, workers, streams = tables
    first = _cut(tenants, max(2, left // 4), width)
    second = _cut(workers, max(2, left // 4), width)
    third = _cut(streams, max(left - len(first) - len(second), 0), width)
    return [*first, *blank, *second, *blank, *third][:room]


def _cut(lines: Sequence[str], room: int, width: int) -> list[str]:
    """The first `room` of the lines, saying how many are left out where there is room for that."""
    if len(lines) <= room or room < 3:
        return list(lines[:room])
    return [*lines[: room - 1], fit(f"({len(lines) - room + 1} more)", width)]


def _headline(now: Sample, width: int, paint: Paint) -> str:
    redis, line = now.redis, "ares-worker"
    most = f" of {words.size(redis.max_bytes)}" if redis.max_bytes else ""
    pieces = (
        f"{datetime.fromtimestamp(now.at_ms / 1000, UTC):%H:%M:%SZ}",
        f"redis {redis.version}" if redis.version else "",
        f"{words.size(redis.memory_bytes)}{most}" if redis.memory_bytes is not None else "",
        f"{short(redis.calls_per_s)} calls/s" if redis.calls_per_s is not None else "",
        f"up {span(redis.uptime_s)}" if redis.uptime_s is not None else "",
    )
    for piece in filter(None, pieces):
        if len(line) + 2 + len(piece) > width:
            break
        line += f"  {piece}"
    full = redis.max_bytes and (redis.memory_bytes or 0) > 0.9 * redis.max_bytes
    return paint(fit(line, width), bold=True, **(BAD if full else {}))


def _quarantined(now: Sample) -> str:
    looks = [look for tenant in now.tenants for look in tenant.streams]
    found = sum(1 for look in looks if look.quarantined)
    if not found:
        return ""
    return f"{words.count(found, 'stream')} quarantined: ares-worker streams repair STREAM"
