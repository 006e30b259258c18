"""Pure. One stream on its way into the archive: what is due of it, and where publication leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from archive.digest import events_digest
from archive.failures import PublicationConflict
from archive.publishing.published import Published, Result
from archive.record import RoundRecord
from streams.errors import AresError
from streams.state import Advance, StreamState
from streams.tail import StreamFacts, Tail

from .facts import Archived, ArchivedRound
from .rounds import DueRound, RoundLimits, due_rounds

_BYTES_AT_ONCE: Final = 8 * 1024 * 1024


class Settled(NamedTuple):
    """Where the results of a stream lead: the state they confirm; the record that the folder
    holds something against; whether the stream is to be looked at again.
    """

    state: StreamState
    conflict: RoundRecord | None = None
    again: bool = False


@dataclass(slots=True)
class StreamWork:
    """What was read of a stream, the records built from that, and what became of them."""

    facts: StreamFacts
    tail: Tail
    rounds: list[DueRound]
    records: list[RoundRecord] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    write_s: float = 0.0

    @property
    def stream(self) -> str:
        """Its name."""
        return self.facts.stream

    @property
    def overdue(self) -> RoundRecord | None:
        """The last round published, where earlier ones go once the state has passed it."""
        pairs = zip(self.records, self.results, strict=True)
        placed = [(record, result) for record, result in pairs if isinstance(result, Published)]
        if not any(result.overdue for _, result in placed):
            return None
        record, result = placed[-1]
        return replace(record, round=result.round, epoch=result.epoch)

    def settle(self, archived: Archived, now_ms: int) -> Settled:
        """Take the results, in order, as far as they are what was expected."""
        state = self.facts.state
        for record, result in zip(self.records, self.results, strict=True):
            if isinstance(result, PublicationConflict):
                return Settled(state, conflict=record, again=True)
            if isinstance(result, AresError):
                archived.failures[self.stream] = result
                return Settled(state)
            state = self.count(record, result, state, archived, now_ms)
            if (result.round, result.epoch) != (record.round, record.epoch):
                return Settled(state, again=True)
        return Settled(state, again=self.tail.last < self.facts.head)

    def count(
        self,
        record: RoundRecord,
        result: Published,
        state: StreamState,
        archived: Archived,
        now_ms: int,
    ) -> StreamState:
        """Take a published round into the facts; the state behind it."""
        if result.rotation_failure is not None:
            archived.unrotated[self.stream] = result.rotation_failure
        if result.how == "written":
            position = record.last_version - self.tail.after - 1
            archived.rounds.append(
                ArchivedRound(
                    stream=self.stream,
                    round=result.round,
                    epoch=result.epoch,
                    outcome=record.outcome,
                    events=record.event_count,
                    written_bytes=result.written_bytes,
                    write_s=self.write_s,
                    delay_ms=max(now_ms - self.tail.committed_ms[position], 0),
                    forked=result.forked,
                )
            )
        return replace(
            state,
            archived_version=result.last_version,
            rounds=max(state.rounds, result.round),
            epoch=result.epoch,
        )

    def digest_of(self, first: int, last: int) -> str | None:
        """Digest of the events of these versions; None where not all of them were read."""
        events = self.tail.events[first - self.tail.after - 1 : last - self.tail.after]
        return events_digest(events) if len(events) == last - first + 1 else None

    def advance_to(self, state: StreamState) -> Advance:
        """From what was read to where publication led; compaction may go on beside it."""
        return Advance(self.stream, position(self.facts.state), position(state))


def position(state: StreamState) -> dict[str, int]:
    """The part of a state that archiving moves."""
    return {
        "archived_version": state.archived_version,
        "rounds": state.rounds,
        "epoch": state.epoch,
    }


def affordable(due: Sequence[StreamFacts]) -> tuple[list[StreamFacts], set[str]]:
    """Those that may be read at once, by their bytes, at least one; and the names of the others."""
    chosen: list[StreamFacts] = []
    left = _BYTES_AT_ONCE
    for item in due:
        span = item.unarchived
        left -= (span.until - span.after) * span.event_bytes
        if chosen and left < 0:
            break
        chosen.append(item)
    return chosen, {item.stream for item in due[len(chosen) :]}


def due_of(item: StreamFacts, tail: Tail, limits: RoundLimits, *, close_open: bool) -> StreamWork:
    """The rounds due in `tail`; the open one is closed only where it was read to its end."""
    read_whole = tail.last >= item.head
    rounds = due_rounds(tail.events, tail.sizes, limits, close_open=close_open and read_whole)
    return StreamWork(item, tail, rounds)
