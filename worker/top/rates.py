"""Pure. What happened a second, from two looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .sample import Sample, TenantLook


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second, of the streams looked at: events appended, archived, compacted; rounds archived.

    `inbox` is by how much the inbox grows. `of_stream` are events appended by stream; a stream
    whose past isn't known is left out.
    """

    events: float
    archived: float
    compacted: float
    rounds: float
    inbox: float
    of_stream: Mapping[str, float]


def rates_between(before: Sample | None, now: Sample) -> dict[str, Rates]:
    """Rates by tenant; none of a tenant that was not looked at before."""
    if before is None or now.taken_s <= before.taken_s:
        return {}
    known = {tenant.name: tenant for tenant in before.tenants}
    seconds = now.taken_s - before.taken_s
    return {
        tenant.name: _rates(known[tenant.name], tenant, seconds)
        for tenant in now.tenants
        if tenant.name in known
    }


def _rates(before: TenantLook, now: TenantLook, seconds: float) -> Rates:
    past = {look.stream: (look.head, look.state) for look in before.streams}
    saw_all = len(before.streams) == before.stream_count
    events: dict[str, float] = {}
    archived = compacted = rounds = 0
    for look in now.streams:
        state = look.state
        if look.stream in past:
            head, old = past[look.stream]
            # A stream that was flushed or forgotten meanwhile has begun anew, not run backwards.
            archived += max(state.archived_version - old.archived_version, 0)
            compacted += max(state.compacted_version - old.compacted_version, 0)
            rounds += max(state.rounds - old.rounds, 0)
        elif saw_all:
            head = 0
            archived += state.archived_version
            compacted += state.compacted_version
            rounds += state.rounds
        else:
            continue
        events[look.stream] = max(look.head - head, 0) / seconds
    inbox = (now.facts.inbox_events or 0) - (before.facts.inbox_events or 0)
    return Rates(
        events=sum(events.values()),
        archived=archived / seconds,
        compacted=compacted / seconds,
        rounds=rounds / seconds,
        inbox=inbox / seconds,
        of_stream=events,
    )
