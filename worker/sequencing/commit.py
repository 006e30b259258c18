"""Commits a page of the inbox: events into their logs, bad entries among the dead letters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from streams.clock import Clock
from streams.codec import Limits
from streams.committing.batch import Outcome, TornCommit
from streams.committing.commit import Committer
from streams.errors import AresError, ConflictError, LeaseLost, StoreUnavailable, StreamCorrupted
from streams.failures import error_code
from streams.forced import execute
from streams.keys import Keys
from streams.lease import Lease
from streams.plan import Append, BatchLimits, split_batches
from streams.wire import Command, Wire, checked

from .page import (
    POISON,
    Page,
    PageSorter,
    Rejected,
    SortedPage,
    StreamPage,
    append_of,
    dead_letter,
    split_stream,
)


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit of `events` events took `seconds`."""

    events: int
    seconds: float


@dataclass(slots=True)
class Sequenced:
    """Facts of one step of the sequencer; `delays_ms` are XADD-to-log times, one an event.

    `lease` is acquired or lost where that changed; `taken_out` counts entries that left the inbox,
    `lost` those that somebody else took; `more` says that the inbox may hold more. `lost_races`
    counts commits that another writer of a stream overtook, and which were repeated.
    """

    held: bool = True
    lease: str = ""
    events: int = 0
    repeats: int = 0
    commits: list[Committed] = field(default_factory=list)
    lost_races: int = 0
    dead: Counter[str] = field(default_factory=Counter)
    dead_full: bool = False
    lost: Counter[str] = field(default_factory=Counter)
    taken_out: int = 0
    quarantined: dict[str, str] = field(default_factory=dict)
    delays_ms: list[int] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True, slots=True)
class InboxPolicy:
    """What is accepted and kept; see the settings of the same names."""

    limits: Limits = field(default_factory=Limits)
    batch: BatchLimits = field(default_factory=BatchLimits)
    seen_window_s: int = 3600
    dead_max: int = 100_000


class InboxCommitter:
    """Takes pages under the sequencer's lease. Streams that can't go on join `left_out`.

    `in_hand` is how many entries are being worked on.
    """

    def __init__(
        self,
        wire: Wire,
        committer: Committer,
        lease: Lease,
        keys: Keys,
        *,
        policy: InboxPolicy,
        clock: Clock,
        left_out: set[str],
    ) -> None:
        self._wire, self._committer, self._lease, self._keys = wire, committer, lease, keys
        self._policy, self._clock, self._left_out = policy, clock, left_out
        self._orphans: list[Command] = []
        self.in_hand = 0

    async def sequence(self, page: Page, facts: Sequenced) -> None:
        """Commit what is good in `page` and bury what isn't.

        Raises `LeaseLost` and `StoreUnavailable`; every entry is then either still in the inbox
        or in its place.
        """
        self.in_hand = len(page.entries)
        try:
            await self._sequence(page, facts)
        finally:
            self.in_hand = 0

    async def _sequence(self, page: Page, facts: Sequenced) -> None:
        sorter = page.sorter or PageSorter(page.entries, self._policy.limits, self._keys)
        seen: list[bytes] = []
        if keys := sorter.seen_keys:
            (values,) = await self._wire.exchange([("MGET", *keys)])
            found = zip(keys, checked(values), strict=True)
            seen = [key for key, value in found if value is not None]
        sorted_page = sorter.finish(seen, self._left_out)
        await self._commit(sorted_page, facts)
        await self.bury(sorted_page.rejected, facts)

    async def bury(self, rejected: Sequence[Rejected], facts: Sequenced) -> None:
        """Move bad entries to the dead stream, one transaction each; leave them when it is full."""
        if not rejected:
            return
        (length,) = await self._wire.exchange([("XLEN", self._keys.dead)])
        if error_code(length) == "WRONGTYPE":
            facts.dead_full = True  # no place for them, until a person has looked
            return
        room = self._policy.dead_max - int(checked(length))
        facts.dead_full = room < len(rejected)
        now_ms = self._clock()
        for item in rejected[: max(room, 0)]:
            entry_id = item.entry[0]
            await self._lease.transaction(
                [
                    dead_letter(item, self._keys, now_ms=now_ms),
                    ("XDEL", self._keys.inbox, entry_id),
                    ("HDEL", self._keys.attempts, entry_id),
                ]
            )
            facts.dead[item.code] += 1
            facts.taken_out += 1

    async def save_orphans(self) -> None:
        """Put events that only this memory holds into the dead stream. Needs no lease."""
        if self._orphans:
            await execute(self._wire, [], self._orphans)
            self._orphans.clear()

    async def _commit(self, page: SortedPage, facts: Sequenced) -> None:
        repeats: list[bytes] = []
        pieces: list[StreamPage] = []
        for stream in page.streams.values():
            if stream.events:
                pieces += split_stream(stream, self._policy.batch)
            else:
                repeats += stream.repeats
        if repeats:
            await self._lease.transaction([("XDEL", self._keys.inbox, *repeats)])
            facts.repeats += len(repeats)
            facts.taken_out += len(repeats)
        window_s = self._policy.seen_window_s
        appends = [append_of(piece, self._keys, window_s=window_s) for piece in pieces]
        remaining = iter(pieces)
        for batch in split_batches(appends, self._policy.batch):
            chosen = [next(remaining) for _ in batch]
            live = [
                (append, piece)
                for append, piece in zip(batch, chosen, strict=True)
                if piece.stream not in self._left_out
            ]
            if live:
                await self._commit_batch(live, facts)

    async def _commit_batch(
        self, live: Sequence[tuple[Append, StreamPage]], facts: Sequenced
    ) -> None:
        before, races = facts.events, self._committer.lost_races
        began = time.perf_counter()
        guard = self._lease.guard
        outcomes = await self._committer.commit([append for append, _ in live], guard=guard)
        seconds = time.perf_counter() - began
        facts.lost_races += self._committer.lost_races - races
        try:
            await self._take_outcomes([piece for _, piece in live], outcomes, facts)
        finally:
            if facts.events > before:
                facts.commits.append(Committed(facts.events - before, seconds))

    async def _take_outcomes(
        self, pieces: Sequence[StreamPage], outcomes: Sequence[Outcome], facts: Sequenced
    ) -> None:
        """Turn outcomes into facts; raises the failure of lease or connection last of all."""
        now_ms = self._clock()
        failure: AresError | None = None
        for piece, outcome in zip(pieces, outcomes, strict=True):
            if isinstance(outcome, int | TornCommit):
                facts.taken_out += len(piece.entries) + len(piece.repeats)
                facts.repeats += len(piece.repeats)
            if isinstance(outcome, int):
                facts.events += len(piece.events)
                facts.delays_ms += [
                    max(0, now_ms - int(name.partition(b"-")[0])) for name, _ in piece.entries
                ]
            elif isinstance(outcome, LeaseLost | StoreUnavailable):
                failure = outcome
            else:
                self._leave_out(piece, outcome, facts)
        await self.save_orphans()
        if isinstance(failure, LeaseLost):
            self._lease.forget()
        if failure is not None:
            raise failure

    def _leave_out(self, piece: StreamPage, outcome: AresError, facts: Sequenced) -> None:
        """A stream that can't take its events now; its neighbours go on."""
        self._left_out.add(piece.stream)
        if isinstance(outcome, StreamCorrupted):
            facts.quarantined[piece.stream] = outcome.reason
        elif not isinstance(outcome, ConflictError):
            raise outcome
        if isinstance(outcome, TornCommit):
            # The inbox has let go of these entries already: only this memory holds them.
            now_ms = self._clock()
            for event, entry, seen in zip(piece.events, piece.entries, piece.seen, strict=True):
                if event.id in outcome.stored:
                    continue
                rejected = Rejected(entry, str(outcome), POISON)
                self._orphans.append(dead_letter(rejected, self._keys, now_ms=now_ms))
                facts.dead[POISON] += 1
                if seen is not None:  # or it would be taken for a repeat when it is sent again
                    self._orphans.append(("DEL", seen))
