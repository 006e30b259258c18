"""Pure. Cuts what is not yet archived of a stream into rounds to archive now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archive.record import Outcome
from streams.event import TERMINAL_TYPES, Event


@dataclass(frozen=True, slots=True)
class RoundLimits:
    """How far an open round may grow, in events and bytes, before it is cut as `unfinished`."""

    max_events: int = 10_000
    max_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DueRound:
    """Events of one round to archive; `outcome` is None where its terminal event says it."""

    events: Sequence[Event]
    outcome: Outcome | None = None


def due_rounds(
    events: Sequence[Event],
    sizes: Sequence[int],
    limits: RoundLimits,
    *,
    close_open: bool = False,
) -> list[DueRound]:
    """Rounds to archive of `events`, which follow the archived version; `sizes` are their bytes.

    With `close_open` the open round at the end is one, too: as `unfinished`.

    Where a round is cut depends on its events alone, never on how many were at hand: two workers
    that read at different times must cut alike.
    """
    due: list[DueRound] = []
    start = size = 0
    for index, event in enumerate(events):
        size += sizes[index]
        finished = event.type in TERMINAL_TYPES
        full = index + 1 - start >= limits.max_events or size >= limits.max_bytes
        if finished or full:
            due.append(DueRound(events[start : index + 1], None if finished else "unfinished"))
            start, size = index + 1, 0
    if close_open and start < len(events):
        due.append(DueRound(events[start:], "unfinished"))
    return due
