"""Pure. Cuts a stream into rounds and turns one round's events into its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.event import DEFAULT_TENANT_ID, TERMINAL_TYPES, Event

from .digest import events_digest
from .errors import InvalidAction, InvalidIdentifier, InvalidRound, NoEvents
from .extract import extract
from .identifiers import SEPARATOR, protect_identifiers
from .record import ACTIONS, Action, Outcome, RoundRecord
from .screening.screen import screen_record


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
    """The record of one round: a function of its events and these arguments alone.

    `action`, `refs` and `outcome` win over what the events say; `refs` of the terminal event's
    payload win over extracted ones, but for values that are no whole identifiers. With `screen`
    every credential in a kept text is replaced by a marker. Raises `InvalidRound`,
    `InvalidAction`, `NoEvents`, and `InvalidIdentifier` for a value in `refs`.

    Linear in the events' size; megabytes take tenths of a second, so call it off an event loop.
    """
    if isinstance(round, bool) or not isinstance(round, int) or round < 1:
        raise InvalidRound(round)
    if action is not None and action not in ACTIONS:
        raise InvalidAction(action)
    if not events:
        raise NoEvents
    given = protect_identifiers(refs or {})
    first, last = events[0], events[-1]
    found = extract(events, outcome=outcome)
    merged = {role: SEPARATOR.join(values) for role, values in found.refs.items()}
    merged.update(_payload_refs(last))
    merged.update(given)
    record = RoundRecord(
        round=round,
        action=action or found.action,
        summary=found.summary,
        files=found.files,
        verdict=found.verdict,
        todos=found.todos,
        decisions=found.decisions,
        refs=merged,
        stream_id=first.stream_id,
        tenant_id=tenant_id,
        epoch=epoch,
        outcome=found.outcome,
        error=found.error,
        first_version=first.version,
        last_version=last.version,
        event_count=len(events),
        started_at=first.timestamp,
        ended_at=last.timestamp,
        events_digest=events_digest(events),
    )
    return screen_record(record)[0] if screen else record


def _payload_refs(event: Event) -> dict[str, str]:
    """The refs that the round's last event brings along; damaged values are left out."""
    brought: Any = event.payload.get("refs")
    if not isinstance(brought, Mapping):
        return {}
    kept: dict[str, list[str]] = {}
    for role, values in brought.items():
        for value in values if isinstance(values, list | tuple) else [values]:
            try:
                protected = protect_identifiers({role: value})
            except InvalidIdentifier:
                continue
            for name, whole in protected.items():
                kept.setdefault(name, []).append(whole)
    return {role: SEPARATOR.join(values) for role, values in kept.items()}
