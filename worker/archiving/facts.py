"""Facts of archiving: what the archivers tell their callers, who make metrics and logs of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from archive.record import Outcome
from streams.errors import AresError, CorruptionError
from worker.sealing.sealer import SealOutcome


class UnbuildableRound(CorruptionError):
    """A round's record can't be built from its events: a defect. The events stay in the log."""

    def __init__(self, stream: str, cause: Exception) -> None:
        super().__init__(f"a round of stream {stream!r} can't be built: {cause!r}")
        self.stream, self.cause = stream, cause


@dataclass(frozen=True, slots=True)
class ArchivedRound:
    """Facts of a round this call wrote, under that number. `write_s` is how long it took with its
    whole batch, `delay_ms` the time from the commit of its last event to the durable file.
    """

    stream: str
    round: int
    epoch: int
    outcome: Outcome
    events: int
    written_bytes: int
    write_s: float
    delay_ms: int
    forked: bool


@dataclass(slots=True)
class Archived:
    """Facts of archiving; `unfolded` maps each stream looked at to its events not compacted.

    `failures` are of streams that can't be archived, `unrotated` of those whose oldest rounds can't
    be removed. `advances` counts how often a state was moved. Streams `left` kept changing under
    this worker: there may be more to archive.
    """

    rounds: list[ArchivedRound] = field(default_factory=list)
    seals: list[SealOutcome] = field(default_factory=list)
    failures: dict[str, AresError] = field(default_factory=dict)
    unrotated: dict[str, AresError] = field(default_factory=dict)
    unfolded: dict[str, int] = field(default_factory=dict)
    advances: int = 0
    left: set[str] = field(default_factory=set)
