"""Pure. What must be true of a stream's head, state, summaries and round files together.

Nothing here says who is right; it names what contradicts what, for a person to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from streams.state import StreamState
from streams.summary import EventSummary


class Kind(StrEnum):
    """Where a contradiction shows."""

    LOG = "log"
    STATE = "state"
    SUMMARIES = "summaries"
    ARCHIVE = "archive"
    DAMAGED = "damaged"
    FORK = "fork"
    UNFINISHED = "unfinished"


NOTES = frozenset({Kind.FORK, Kind.UNFINISHED})
"""Kinds that are worth knowing and no contradiction."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that isn't as it must be. `stream` is empty where it concerns no one stream."""

    tenant: str
    stream: str
    kind: Kind
    detail: str

    @property
    def is_note(self) -> bool:
        """Whether it is only worth knowing."""
        return self.kind in NOTES


@dataclass(frozen=True, slots=True, order=True)
class RoundFile:
    """A round file or tombstone: its number, epoch, versions and digest; versions 0 are ARES's."""

    number: int
    epoch: int
    first: int
    last: int
    digest: str


Contradiction = tuple[Kind, str]


def check_state(head: int, state: StreamState) -> Iterator[Contradiction]:
    """forgotten ≤ compacted ≤ archived ≤ head, and a compaction only of what is archived."""
    order = (
        ("forgotten", state.forgotten_version),
        ("compacted", state.compacted_version),
        ("archived", state.archived_version),
        ("head", head),
    )
    for (low_name, low), (high_name, high) in pairwise(order):
        if low > high:
            yield Kind.STATE, f"{low_name} version {low} is above {high_name} version {high}"
    if state.compacting_to and not (
        state.compacted_version < state.compacting_to <= state.archived_version
    ):
        yield (
            Kind.STATE,
            f"a compaction to version {state.compacting_to} is under way, "
            f"outside {state.compacted_version + 1}..{state.archived_version}",
        )


def check_summaries(
    summaries: Sequence[EventSummary], state: StreamState
) -> Iterator[Contradiction]:
    """Summaries cover what was compacted and not forgotten, without gap or overlap."""
    due = state.forgotten_version + 1
    for summary in summaries:
        if summary.first_version != due:
            span = f"{summary.first_version}..{summary.last_version}"
            yield Kind.SUMMARIES, f"summary {span} stands where version {due} is due"
        due = summary.last_version + 1
    if due != state.compacted_version + 1:
        yield (
            Kind.SUMMARIES,
            f"summaries end at version {due - 1}, compacted is {state.compacted_version}",
        )


def check_rounds(rounds: Sequence[RoundFile]) -> Iterator[Contradiction]:
    """Rounds that follow each other in number and epoch follow each other in versions.

    `rounds` are in the order of their numbers. Rotation leaves gaps in the numbers, and those
    ARES wrote have no versions; both are as they should be.
    """
    known = [item for item in rounds if item.first]
    for item in known:
        if item.first > item.last:
            yield Kind.ARCHIVE, f"round {item.number} has versions {item.first}..{item.last}"
    for before, after in pairwise(known):
        if after.epoch > before.epoch:
            yield (
                Kind.FORK,
                f"round {after.number} begins epoch {after.epoch} at version {after.first}: "
                f"Redis knew less than round {before.number}, which ends at {before.last}",
            )
        elif after.epoch < before.epoch:
            yield (
                Kind.ARCHIVE,
                f"round {after.number} is of epoch {after.epoch}, round {before.number} "
                f"before it of {before.epoch}",
            )
        elif after.number == before.number + 1 and after.first != before.last + 1:
            yield (
                Kind.ARCHIVE,
                f"round {after.number} begins at version {after.first}, round {before.number} "
                f"ends at {before.last}",
            )


def check_agreement(rounds: Sequence[RoundFile], state: StreamState) -> Iterator[Contradiction]:
    """State and archive name the same newest round; those ARES wrote are no part of it."""
    known = [item for item in rounds if item.first]
    newest = known[-1] if known else RoundFile(0, state.epoch, 0, 0, "")
    if newest.number < state.rounds:
        held = f"the archive's newest is {newest.number}" if known else "the archive holds none"
        yield Kind.ARCHIVE, f"{state.rounds} rounds were archived, {held}"
    elif newest.number > state.rounds:
        yield (
            Kind.UNFINISHED,
            f"round {newest.number} is published, the state counts {state.rounds}: "
            "the next worker takes note of it",
        )
    elif newest.first and newest.last != state.archived_version:
        yield (
            Kind.ARCHIVE,
            f"round {newest.number} ends at version {newest.last}, "
            f"archived is {state.archived_version}",
        )
