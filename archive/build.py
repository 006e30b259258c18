"""Pure. Cuts a stream into rounds and turns one round's events into its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streams.event import DEFAULT_TENANT_ID, TERMINAL_TYPES, Event

from .digest import events_digest
from .errors import InvalidAction, InvalidRound, NoEvents
from .record import ACTIONS, Action, Outcome, RoundRecord


@dataclass(frozen=True, slots=True)
class CutRounds:
    """The finished rounds of a sequence of events, and the open one they leave."""

    finished: tuple[tuple[Event, ...], ...]
    open: tuple[Event, ...]


def cut_rounds(events: Iterable[Event]) -> CutRounds:
    """Cut after every terminal event; what follows the last one is the open round."""
    finished: list[tuple[Event, ...]] = []
    current: list[Event] = []
    for event in events:
        current.append(event)
        if event.type in TERMINAL_TYPES:
            finished.append(tuple(current))
            current = []
    return CutRounds(tuple(finished), tuple(current))


def build_round_record(
    *,
    round: int,
    events: Sequence[Event],
    action: Action | None = None,
    refs: Mapping[str, str] | None = None,
    screen: bool = True,
    tenant_id: str = DEFAULT_TENANT_ID,
    epoch: int = 0,
    outcome: Outcome | None = None,
) -> RoundRecord:
    """The record of one round: a function of its events and these arguments alone."""
    if isinstance(round, bool) or not isinstance(round, int) or round < 1:
        raise InvalidRound(round)
    if not events:
        raise NoEvents
    if action is not None and action not in ACTIONS:
        raise InvalidAction(action)
    first, last = events[0], events[-1]
    task = _text(events, "task")
    result = str(last.payload.get("result") or last.payload.get("error") or "")
    line = " ".join(f"{task}: {result}".split()) if result else " ".join(task.split())
    return RoundRecord(
        round=round,
        action=action or "implement",
        summary=line[:200] or f"{len(events)} events",
        refs=dict(refs or {}),
        stream_id=first.stream_id,
        tenant_id=tenant_id,
        epoch=epoch,
        outcome=outcome or _outcome(last),
        error=str(last.payload.get("error") or ""),
        first_version=first.version,
        last_version=last.version,
        event_count=len(events),
        started_at=first.timestamp,
        ended_at=last.timestamp,
        events_digest=events_digest(events),
    )


def _text(events: Sequence[Event], key: str) -> str:
    return next((str(e.payload[key]) for e in events if e.payload.get(key)), "")


def _outcome(last: Event) -> Outcome:
    if last.type not in TERMINAL_TYPES:
        return "unfinished"
    return "failed" if last.type == "task.failed" else "completed"
