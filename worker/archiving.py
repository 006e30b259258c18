"""Archives the due rounds of given streams: read, cut, build, publish, advance the state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from archive.build import build_round_record
from archive.digest import events_digest
from archive.failures import PublicationConflict
from archive.publication import DigestOf
from archive.record import Outcome, RoundRecord
from archive.stream_batch import Published, Result
from streams.clock import Clock
from streams.errors import AresError, CorruptionError, StreamCorrupted
from streams.event import Event
from streams.keys import Keys
from streams.state import Advance, StreamState, advance
from streams.tail import StreamFacts, Tail, TailLimits, read_facts, read_tails
from streams.wire import Wire

from .deadly_streams import DeadlyStream, DeadlyStreams
from .rounds import DueRound, RoundLimits, due_rounds
from .sealing import SealOutcome

_STREAMS_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 16 * 1024 * 1024
_TRIES: Final = 10
_OFF_LOOP_BYTES: Final = 256 * 1024


class RoundWriter(Protocol):
    """What archiving needs of `FileArchiveWriter`; called in a thread."""

    def record(
        self, record: RoundRecord, *, confirmed: bool = ..., digest_of: DigestOf | None = ...
    ) -> Published: ...

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]: ...


class RoundSealer(Protocol):
    """What archiving needs of `SegmentSealer`; called in a thread, never raises."""

    def seal_round(self, events: Sequence[Event], record: RoundRecord) -> SealOutcome: ...


class UnbuildableRound(CorruptionError):
    """A round's record can't be built from its events: a defect. The events stay in the log."""

    def __init__(self, stream: str, cause: Exception) -> None:
        super().__init__(f"a round of stream {stream!r} can't be built: {cause!r}")
        self.stream, self.cause = stream, cause


@dataclass(frozen=True, slots=True)
class ArchivedRound:
    """Facts of a round this call wrote. `write_s` is how long it took with its whole batch,
    `delay_ms` the time from the commit of its last event to the durable file.
    """

    outcome: Outcome
    events: int
    written_bytes: int
    write_s: float
    delay_ms: int
    forked: bool


@dataclass(slots=True)
class Archived:
    """Facts of archiving; `unfolded` maps each stream looked at to its events not compacted.

    `advances` counts how often a state was moved. Streams `left` kept changing under this worker:
    there may be more to archive.
    """

    rounds: list[ArchivedRound] = field(default_factory=list)
    seals: list[SealOutcome] = field(default_factory=list)
    failures: dict[str, AresError] = field(default_factory=dict)
    unfolded: dict[str, int] = field(default_factory=dict)
    advances: int = 0
    left: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ArchivingPolicy:
    """What a record is built with. A stream that killed `deaths` workers is set aside."""

    tenant: str
    screen: bool = True
    deaths: int = 5
    limits: RoundLimits = field(default_factory=RoundLimits)


@dataclass(slots=True)
class _Work:
    """One stream on its way: what was read of it, and the records built from that."""

    facts: StreamFacts
    tail: Tail
    rounds: list[DueRound]
    records: list[RoundRecord] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    write_s: float = 0.0

    @property
    def stream(self) -> str:
        return self.facts.stream


class StreamArchiver:
    """Archives streams of one tenant. Calls must not overlap; other workers may do the same."""

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        writer: RoundWriter,
        policy: ArchivingPolicy,
        clock: Clock,
        *,
        sealer: RoundSealer | None = None,
    ) -> None:
        self._wire, self._keys, self._writer, self._sealer = wire, keys, writer, sealer
        self._policy, self._clock = policy, clock
        self._deadly = DeadlyStreams(wire, keys, clock, limit=policy.deaths)

    async def archive(
        self,
        streams: Sequence[str],
        archived: Archived,
        *,
        close_open: bool = False,
        wary: bool = False,
    ) -> None:
        """Archive every due round of `streams`; what failed is in `archived.failures`.

        With `close_open` their open rounds are archived as `unfinished`. `wary` takes them one by
        one, in case the last worker died of one. Raises `StoreUnavailable`. Safe to repeat: what
        is archived already is recognised.
        """
        deadly = await self._deadly.find()
        archived.failures |= {stream: deadly[stream] for stream in streams if stream in deadly}
        safe = [stream for stream in streams if stream not in deadly]
        if not wary:
            for start in range(0, len(safe), _STREAMS_AT_ONCE):
                group = set(safe[start : start + _STREAMS_AT_ONCE])
                await self._archive(group, archived, close_open)
            return
        for stream in safe:
            try:
                await self._deadly.count(stream)
            except DeadlyStream as exc:
                archived.failures[stream] = exc
                continue
            await self._archive({stream}, archived, close_open)
            await self._deadly.survived(stream)

    async def _archive(self, todo: set[str], archived: Archived, close_open: bool) -> None:
        """Archive until nothing is due, or nothing moves."""
        vain = 0
        while todo and vain < _TRIES:
            before = archived.advances
            again = await self._attempt(list(todo), archived, close_open)
            moved = archived.advances > before or len(again) < len(todo)
            todo, vain = again, 0 if moved else vain + 1
        archived.left |= todo

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _attempt(self, streams: list[str], archived: Archived, close_open: bool) -> set[str]:
        """Archive what one look finds; returns the streams to look at again."""
        facts = await read_facts(self._wire, self._keys, streams)
        for item in facts:
            archived.unfolded[item.stream] = item.head - item.state.compacted_version
            if item.damage:
                archived.failures[item.stream] = StreamCorrupted(item.stream, item.damage)
        due = [item for item in facts if item.head > item.state.archived_version]
        due, postponed = _affordable(due)
        limits = self._policy.limits
        tail_limits = TailLimits(limits.max_events, limits.max_bytes)
        spans = [item.unarchived for item in due]
        tails, failures = await read_tails(self._wire, self._keys, spans, tail_limits)
        again = await self._overtaken(due, failures)
        archived.failures.update({s: exc for s, exc in failures.items() if s not in again})
        by_stream = {item.stream: item for item in due}
        works = []
        for tail in tails:
            item = by_stream[tail.stream]
            rounds = _due(item, tail, limits, close_open=close_open)
            works.append(_Work(item, tail, rounds))
        works = [work for work in works if work.rounds]
        if works := await self._build(works, archived):
            await self._publish(works)
            again |= await self._advance(works, archived)
            await self._seal(works, archived)
        return again | postponed

    async def _overtaken(
        self, due: Sequence[StreamFacts], failures: Mapping[str, AresError]
    ) -> set[str]:
        """Those of the failed streams that another worker archived, and compacted, meanwhile."""
        before = {item.stream: item.state.archived_version for item in due}
        if not failures:
            return set()
        now = await read_facts(self._wire, self._keys, list(failures))
        return {item.stream for item in now if item.state.archived_version > before[item.stream]}

    async def _build(self, works: list[_Work], archived: Archived) -> list[_Work]:
        """Build the records; a large round is built in a thread, so that the loop stays free."""
        built: list[_Work] = []
        for work in works:
            try:
                if sum(work.tail.sizes) > _OFF_LOOP_BYTES:
                    work.records = await asyncio.to_thread(self._records, work)
                else:
                    work.records = self._records(work)
                    await asyncio.sleep(0)  # many of them must not hold up a lease's renewal
            except Exception as exc:
                archived.failures[work.stream] = UnbuildableRound(work.stream, exc)
                continue
            built.append(work)
        return built

    def _records(self, work: _Work) -> list[RoundRecord]:
        state = work.facts.state
        return [
            build_round_record(
                round=number,
                events=due.events,
                screen=self._policy.screen,
                tenant_id=self._policy.tenant,
                epoch=state.epoch,
                outcome=due.outcome,
            )
            for number, due in enumerate(work.rounds, state.rounds + 1)
        ]

    async def _publish(self, works: Sequence[_Work]) -> None:
        records = [record for work in works for record in work.records]
        began = time.perf_counter()
        results = iter(await asyncio.to_thread(self._writer.record_many, records))
        for work in works:
            work.write_s = time.perf_counter() - began
            work.results = [next(results) for _ in work.records]

    async def _advance(self, works: Sequence[_Work], archived: Archived) -> set[str]:
        """Move the states to what is published now; returns the streams to look at again."""
        again: set[str] = set()
        advances: list[Advance] = []
        for work in works:
            state, conflict = self._settle(work, archived, again)
            if conflict is not None:
                state = await self._confirm(work, state, conflict, archived)
                again.add(work.stream)
            if state != work.facts.state:
                advances.append(_advance_to(work, state))
        if advances:
            applied = await advance(self._wire, self._keys, advances)
            archived.advances += len(applied)
            again |= {item.stream for item in advances} - applied
        return again - archived.failures.keys()

    def _settle(
        self, work: _Work, archived: Archived, again: set[str]
    ) -> tuple[StreamState, RoundRecord | None]:
        """The state the results lead to, and the record the folder holds against, if any."""
        state = work.facts.state
        for record, result in zip(work.records, work.results, strict=True):
            if isinstance(result, PublicationConflict):
                return state, record
            if isinstance(result, AresError):
                archived.failures[work.stream] = result
                return state, None
            state = self._count(work, record, result, state, archived)
            if (result.round, result.epoch) != (record.round, record.epoch):
                again.add(work.stream)
                return state, None
        if work.tail.last < work.facts.head:
            again.add(work.stream)
        return state, None

    def _count(
        self,
        work: _Work,
        record: RoundRecord,
        result: Published,
        state: StreamState,
        archived: Archived,
    ) -> StreamState:
        """Take a published round into state and facts."""
        if result.how == "written":
            position = record.last_version - work.tail.after - 1
            delay_ms = self._clock() - work.tail.committed_ms[position]
            archived.rounds.append(
                ArchivedRound(
                    outcome=record.outcome,
                    events=record.event_count,
                    written_bytes=result.written_bytes,
                    write_s=work.write_s,
                    delay_ms=max(delay_ms, 0),
                    forked=result.forked,
                )
            )
        return replace(
            state,
            archived_version=result.last_version,
            rounds=max(state.rounds, result.round),
            epoch=result.epoch,
        )

    async def _seal(self, works: Sequence[_Work], archived: Archived) -> None:
        """Seal the rounds that are published, also those found so: a seal repeated is harmless."""
        if self._sealer is None:
            return
        for work in works:
            for record, due, result in zip(work.records, work.rounds, work.results, strict=True):
                if not isinstance(result, Published) or result.how == "adopted" or result.erased:
                    continue
                placed = replace(record, round=result.round)
                outcome = await asyncio.to_thread(self._sealer.seal_round, due.events, placed)
                archived.seals.append(outcome)

    async def _confirm(
        self, work: _Work, state: StreamState, record: RoundRecord, archived: Archived
    ) -> StreamState:
        """The folder knows more than the state: decide with it, if the state has not moved."""
        (fresh,) = await read_facts(self._wire, self._keys, [work.stream])
        if _position(fresh.state) != _position(work.facts.state):
            return state

        def digest_of(first: int, last: int) -> str | None:
            events = work.tail.events[first - work.tail.after - 1 : last - work.tail.after]
            return events_digest(events) if len(events) == last - first + 1 else None

        try:
            result = await asyncio.to_thread(
                self._writer.record, record, confirmed=True, digest_of=digest_of
            )
        except AresError as exc:
            archived.failures[work.stream] = exc
            return state
        return self._count(work, record, result, state, archived)


def _affordable(due: Sequence[StreamFacts]) -> tuple[list[StreamFacts], set[str]]:
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


def _due(item: StreamFacts, tail: Tail, limits: RoundLimits, *, close_open: bool) -> list[DueRound]:
    """Rounds due in `tail`; the open one is closed only where it was read to its end."""
    read_whole = tail.last >= item.head
    return due_rounds(tail.events, tail.sizes, limits, close_open=close_open and read_whole)


def _advance_to(work: _Work, state: StreamState) -> Advance:
    """From what was read to where publication led; compaction may go on beside it."""
    return Advance(work.stream, _position(work.facts.state), _position(state))


def _position(state: StreamState) -> dict[str, int]:
    return {
        "archived_version": state.archived_version,
        "rounds": state.rounds,
        "epoch": state.epoch,
    }
