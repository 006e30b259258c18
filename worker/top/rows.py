"""Pure. The rows of the tables of `top`, and what is worth a colour in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from worker.console import words

from .rates import Rates
from .sample import Sample, TenantLook, WorkerLook
from .table import BAD, ODD, QUIET, Cell, Column

if TYPE_CHECKING:
    from streams.overview import StreamLook

SORTS: Final = ("recent", "rate", "open", "size")
"""Orders of the streams: the one written last first, or the one with the most of something."""

TENANTS: Final = (
    Column("INBOX", 0),
    Column("AGE", 2),
    Column("SEQ", 1),
    Column("EV/S", 1),
    Column("LAG", 0),
    Column("BEHIND", 3),
    Column("PENDING", 4),
    Column("RND/S", 2),
    Column("COMPACT", 6),
    Column("DEAD", 2),
    Column("STREAMS", 5),
    Column("SUBS", 7),
)
WORKERS: Final = (
    Column("STATE", 0, left=True),
    Column("SEEN", 1),
    Column("PENDING", 2),
    Column("HOLDS", 0, left=True),
)
STREAMS: Final = (
    Column("EV/S", 1),
    Column("HEAD", 0),
    Column("OPEN", 1),
    Column("ROUNDS", 2),
    Column("LOG", 3),
    Column("SIZE", 4),
    Column("COMPACTED", 5),
    Column("AGE", 0),
)

_LATE_S: Final = 10.0
_VERY_LATE_S: Final = 60.0
_UNITS: Final = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def tenant_rows(now: Sample, rates: Mapping[str, Rates]) -> list[list[Cell]]:
    """One row a tenant."""
    rows = []
    for tenant in now.tenants:
        facts, rate = tenant.facts, rates.get(tenant.name)
        held = any(lease.name == "sequencer" and lease.owner is not None for lease in tenant.leases)
        rows.append(
            [
                Cell(tenant.name),
                Cell(short(facts.inbox_events), _late(facts.inbox_oldest_seconds)),
                Cell(span(facts.inbox_oldest_seconds), _late(facts.inbox_oldest_seconds)),
                Cell("held") if held else Cell("none", BAD),
                Cell(short(rate.events if rate else None)),
                Cell(short(facts.feed_lag_entries), _late(facts.feed_lag_seconds)),
                Cell(span(facts.feed_lag_seconds), _late(facts.feed_lag_seconds)),
                Cell(short(facts.feed_pending_entries), _late(facts.feed_oldest_pending_seconds)),
                Cell(short(rate.rounds if rate else None)),
                Cell(short(facts.compaction_lag_events)),
                Cell(short(facts.dead_letter_events), ODD if facts.dead_letter_events else None),
                Cell(short(tenant.stream_count)),
                Cell(short(facts.subscribers)),
            ]
        )
    return rows


def _late(seconds: float | None) -> dict[str, Any] | None:
    if seconds is None or seconds < _LATE_S:
        return None
    return BAD if seconds >= _VERY_LATE_S else ODD


def worker_rows(now: Sample) -> list[list[Cell]]:
    """One row a worker, whatever the number of tenants it works for."""
    pending: Counter[str] = Counter()
    heard: dict[str, WorkerLook] = {}
    holds: dict[str, Counter[str]] = {}
    for tenant in now.tenants:
        for worker in tenant.workers:
            pending[worker.name] += worker.pending
            latest = heard.setdefault(worker.name, worker)
            if worker.idle_ms < latest.idle_ms:
                heard[worker.name] = worker
        for lease in tenant.leases:
            if lease.owner is not None:
                holds.setdefault(lease.owner or "(unnamed)", Counter())[lease.name] += 1
    rows = []
    for name in sorted({*heard, *holds}):
        # A holder may be no consumer: it has just begun, or didn't say its name.
        look = heard.get(name)
        style = BAD if look is not None and look.is_silent else None
        rows.append(
            [
                Cell(name),
                Cell("-" if look is None else "silent" if look.is_silent else "up", style),
                Cell(span(None if look is None else look.idle_ms / 1000), style),
                Cell(short(None if look is None else pending[name])),
                Cell(_held(holds.get(name, {}), len(now.tenants))),
            ]
        )
    return rows or [[Cell("nobody", BAD), *[Cell("")] * len(WORKERS)]]


def _held(leases: Mapping[str, int], tenants: int) -> str:
    """`sequencer, janitor`; with several tenants also of how many of them."""
    if tenants == 1:
        return ", ".join(leases)
    return ", ".join(f"{name} {count}/{tenants}" for name, count in leases.items())


def stream_rows(now: Sample, rates: Mapping[str, Rates], sort: str) -> list[list[Cell]]:
    """One row a stream, in the order `sort`."""
    several = len(now.tenants) > 1
    looks = [(tenant, look) for tenant in now.tenants for look in tenant.streams]

    def rate_of(tenant: TenantLook, look: StreamLook) -> float | None:
        known = rates.get(tenant.name)
        return known.of_stream.get(look.stream) if known else None

    orders = {
        "recent": lambda item: item[1].last_commit_ms,
        "rate": lambda item: rate_of(*item) or 0.0,
        "open": lambda item: item[1].unarchived,
        "size": lambda item: item[1].log_bytes or 0,
    }
    rows = []
    for tenant, look in sorted(looks, key=orders[sort], reverse=True):
        name = f"{tenant.name}/{look.stream}" if several else look.stream
        rows.append(
            [
                Cell(f"! {name}", BAD) if look.quarantined else Cell(name),
                Cell(short(rate_of(tenant, look))),
                Cell(short(look.head)),
                Cell(short(look.unarchived)),
                Cell(short(look.state.rounds)),
                Cell(short(look.retained)),
                Cell(words.size(look.log_bytes)),
                Cell(short(look.state.compacted_version)),
                Cell(words.age(look.last_commit_ms, now.at_ms)),
            ]
        )
    return rows or [[Cell("none yet", QUIET), *[Cell("")] * len(STREAMS)]]


def short(number: float | None) -> str:
    """A count or a rate in at most five characters: `7`, `0.4`, `9999`, `12.3k`; `-` unknown."""
    if number is None:
        return "-"
    for unit, size in _UNITS:
        if number >= size * 9.9995:
            shown = number / size
            return f"{shown:.0f}{unit}" if shown >= 99.95 else f"{shown:.1f}{unit}"
    return f"{number:.1f}" if 0 < number < 9.95 and number % 1 else f"{number:.0f}"


def span(seconds: float | None) -> str:
    """A length of time in at most five characters: `0.4s`, `95s`, `12m`, `3h`, `4d`."""
    if seconds is None:
        return "-"
    seconds = max(seconds, 0.0)
    if seconds < 120:
        return f"{seconds:.1f}s" if 0 < seconds < 9.95 else f"{seconds:.0f}s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3_600:.0f}h" if seconds < 172_800 else f"{seconds / 86_400:.0f}d"
