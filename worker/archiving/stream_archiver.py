"""Archives the due rounds of given streams: read, cut, build, publish, advance the state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from archive.build import build_round_record
from archive.failures import PublicationConflict
from archive.publishing.publication import DigestOf
from archive.publishing.published import Published, Result
from archive.record import RoundRecord
from streams.clock import Clock
from streams.errors import AresError, StreamCorrupted
from streams.event import Event
from streams.keys import Keys
from streams.state import Advance, StreamState, advance
from streams.tail import StreamFacts, TailLimits, read_facts, read_tails
from streams.wire import Wire
from worker.sealing.sealer import SealOutcome

from .deadly_streams import DeadlyStream, DeadlyStreams
from .facts import Archived, UnbuildableRound
from .rounds import RoundLimits
from .stream_work import StreamWork, affordable, due_of, position

_STREAMS_AT_ONCE: Final = 64
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


@dataclass(frozen=True, slots=True)
class ArchivingPolicy:
    """What a record is built with. A stream that killed `deaths` workers is set aside."""

    tenant: str
    screen: bool = True
    deaths: int = 5
    limits: RoundLimits = field(default_factory=RoundLimits)


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
        due, postponed = affordable(due)
        limits = self._policy.limits
        tail_limits = TailLimits(limits.max_events, limits.max_bytes)
        spans = [item.unarchived for item in due]
        tails, failures = await read_tails(self._wire, self._keys, spans, tail_limits)
        again = await self._overtaken(due, failures)
        archived.failures.update({s: exc for s, exc in failures.items() if s not in again})
        by_stream = {item.stream: item for item in due}
        read = [due_of(by_stream[t.stream], t, limits, close_open=close_open) for t in tails]
        works = [work for work in read if work.rounds]
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

    async def _build(self, works: list[StreamWork], archived: Archived) -> list[StreamWork]:
        """Build the records; a large round is built in a thread, so that the loop stays free."""
        built: list[StreamWork] = []
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

    def _records(self, work: StreamWork) -> list[RoundRecord]:
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

    async def _publish(self, works: Sequence[StreamWork]) -> None:
        records = [record for work in works for record in work.records]
        began = time.perf_counter()
        results = iter(await asyncio.to_thread(self._writer.record_many, records))
        for work in works:
            work.write_s = time.perf_counter() - began
            work.results = [next(results) for _ in work.records]

    async def _advance(self, works: Sequence[StreamWork], archived: Archived) -> set[str]:
        """Move the states to what is published now; returns the streams to look at again."""
        again: set[str] = set()
        advances: list[Advance] = []
        for work in works:
            state, conflict, look_again = work.settle(archived, self._clock())
            if conflict is not None and state == work.facts.state:
                state = await self._confirm(work, state, conflict, archived)
            if look_again:
                again.add(work.stream)
            if state != work.facts.state:
                advances.append(work.advance_to(state))
        if advances:
            applied = await advance(self._wire, self._keys, advances)
            archived.advances += len(applied)
            again |= {item.stream for item in advances} - applied
            await self._rotate([work for work in works if work.stream in applied], archived)
        return again - archived.failures.keys()

    async def _rotate(self, works: Sequence[StreamWork], archived: Archived) -> None:
        """Let go of rounds that are too old already, and had to wait for the state to pass them.

        Had they gone before, and this worker died, they would have come again as others.
        """
        for work in works:
            if work.overdue is None:
                continue
            try:
                result = await asyncio.to_thread(self._writer.record, work.overdue)
            except PublicationConflict:
                pass  # another worker went on behind this round, and rotated
            except AresError as exc:  # the stream's next round does the same
                archived.unrotated[work.stream] = exc
            else:
                if result.rotation_failure is not None:
                    archived.unrotated[work.stream] = result.rotation_failure

    async def _seal(self, works: Sequence[StreamWork], archived: Archived) -> None:
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
        self, work: StreamWork, state: StreamState, record: RoundRecord, archived: Archived
    ) -> StreamState:
        """The folder knows more than the state: decide with it, if the state has not moved."""
        (fresh,) = await read_facts(self._wire, self._keys, [work.stream])
        if position(fresh.state) != position(work.facts.state):
            return state
        try:
            result = await asyncio.to_thread(
                self._writer.record, record, confirmed=True, digest_of=work.digest_of
            )
        except AresError as exc:
            archived.failures[work.stream] = exc
            return state
        return work.count(record, result, state, archived, self._clock())
