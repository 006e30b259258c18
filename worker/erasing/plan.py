"""Pure. What of a stream in Redis tells of one of its rounds, and what stands there instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from archive.publishing.publication import StoredRound
from archive.record import RoundRecord
from streams.summary import EventSummary, shorten

WITHHELD: Final = "[withheld]"
"""The text of a summary of which nothing may be said."""

_MAX_LINE: Final = 200


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions first..last of a stream."""

    first: int
    last: int

    def meets(self, first: int, last: int) -> bool:
        """Whether first..last has a version among these."""
        return first <= self.last and last >= self.first


def versions_of(stored: StoredRound) -> Versions:
    """The versions a round is made of; 0..0 where it doesn't say."""
    return Versions(stored.first_version, stored.last_version)


def is_in_redis(round: StoredRound, others: Iterable[StoredRound], head: int) -> bool:
    """Whether the present life of the stream knows the events of `round`.

    Those of an earlier epoch don't count where a later one has used their versions again. A round
    without versions was never made of events in Redis.
    """
    span = versions_of(round)
    if not 0 < span.first <= head:
        return False
    return not any(
        other.epoch > round.epoch and span.meets(other.first_version, other.last_version)
        for other in others
    )


def without_round(
    summaries: Sequence[EventSummary], erased: Versions, left: Sequence[RoundRecord]
) -> list[EventSummary]:
    """`summaries`, those that tell of `erased` made anew from the records that are `left`.

    What was summarized is gone, so they can't be mended: of the other rounds they say what those
    say of themselves. Which types of events there were is not kept.
    """
    return [
        replace(summary, types={}, text=_rebuilt(summary, erased, left))
        if erased.meets(summary.first_version, summary.last_version)
        else summary
        for summary in summaries
    ]


def withheld(span: Versions, committed_ms: int) -> EventSummary:
    """The summary of events of which nothing may be said but when the last was committed."""
    return EventSummary(
        first_version=span.first,
        last_version=span.last,
        committed_ms=committed_ms,
        started_us=committed_ms * 1000,
        ended_us=committed_ms * 1000,
        types={},
        text=WITHHELD,
    )


def _rebuilt(summary: EventSummary, erased: Versions, left: Sequence[RoundRecord]) -> str:
    span = Versions(summary.first_version, summary.last_version)
    lines = [
        _line(record)
        for record in sorted(left, key=lambda record: record.first_version)
        if span.meets(record.first_version, record.last_version)
        and not erased.meets(record.first_version, record.last_version)
    ]
    return shorten("\n".join(lines)) or WITHHELD


def _line(record: RoundRecord) -> str:
    flat = " ".join(record.summary.split())
    shown = flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 1] + "…"
    return f"{record.outcome}: {shown}"
