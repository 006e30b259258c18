"""The one way into a log: WATCH and read in one packet, MULTI to EXEC in a second.

A transaction is executed whole or not at all, but EXEC doesn't roll back, a watched key that
merely expired may not abort it, and a connection that breaks around it leaves its outcome
unknown. Each of the three has its place below.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from redis.exceptions import ExecAbortError

from streams.backoff import Backoff
from streams.clock import Clock
from streams.errors import (
    LeaseLost,
    OutcomeUnknown,
    StoreFull,
    StoreUnavailable,
    StreamCorrupted,
    TooMuchContention,
)
from streams.forced import Read, force, refusal
from streams.keys import Keys
from streams.lease import Guard
from streams.memory import read_memory
from streams.plan import Append, StreamWrite, plan_stream, write_commands
from streams.wire import Command, Reply, Wire, checked

from .batch import Batch, Outcome, Outcomes, torn_streams
from .head_watch import HeadWatch, Watched, head_of

_CONTENTION: Final = Backoff(base_s=0.001, cap_s=0.05)
_RECONNECT: Final = Backoff(base_s=0.05, cap_s=1.0)


@dataclass(frozen=True, slots=True)
class CommitPolicy:
    """How often a commit is tried again: after a lost race, and to learn an unknown outcome.

    `overdraft` is by how many bytes a guarded commit may exceed `maxmemory`: what comes from the
    inbox takes little more memory in its log, and only from there can it be freed.
    """

    contention_attempts: int = 200
    recovery_attempts: int = 8
    overdraft: int = 0


class Committer:
    """Commits appends of one tenant on a wire of its own; one commit at a time.

    `lost_races` counts attempts that another writer, or a compaction, overtook.
    """

    def __init__(self, wire: Wire, keys: Keys, clock: Clock, policy: CommitPolicy) -> None:
        self._wire, self._keys, self._clock, self._policy = wire, keys, clock, policy
        self._heads = HeadWatch(wire, keys)
        self.lost_races = 0

    async def commit(
        self, appends: Sequence[Append], *, guard: Guard | None = None
    ) -> list[Outcome]:
        """Commit `appends`; one outcome each, in order. A failing one leaves its neighbours.

        With a guard a failed connection or a lost lease ends the commit: what is not settled by
        then gets that failure, and rotating the lease tells what happened. Without one the log
        is read back until the outcome is known.
        """
        outcomes = Outcomes(len(appends))
        grouped: dict[str, list[tuple[int, Append]]] = {}
        for index, append in enumerate(appends):
            grouped.setdefault(append.stream, []).append((index, append))
        waiting = [Batch(grouped)]
        while waiting:
            batch = waiting.pop()
            try:
                waiting += await self._attempt(batch, outcomes, guard)
            except (StoreUnavailable, LeaseLost) as exc:
                if guard is None and isinstance(exc, StoreUnavailable):
                    waiting += await self._after_failure(batch, outcomes, exc)
                    continue
                for unsettled in (batch, *waiting):
                    for indexed in unsettled.appends.values():
                        outcomes.settle(indexed, exc)
                break
        return outcomes.all()

    async def _attempt(self, batch: Batch, outcomes: Outcomes, guard: Guard | None) -> list[Batch]:
        """Try once; returns what is left to try."""
        heads = await self._heads.watch(list(batch.appends), guard)
        await self._read_back(batch, heads, outcomes)
        if not await self._all_fit(batch, heads, outcomes):
            return self._again(batch, outcomes)
        writes = self._plan(batch, heads, outcomes)
        if not writes:
            await self._wire.exchange([("UNWATCH",)])
            return []
        replies = await self._execute(writes, batch, guard)
        if replies is None:
            return await self._after_lost_race(batch, outcomes)
        for stream, failure in torn_streams(writes, replies, self._keys).items():
            outcomes.settle(batch.appends[stream], failure)
        return []

    def _plan(
        self, batch: Batch, heads: dict[str, Watched], outcomes: Outcomes
    ) -> list[StreamWrite]:
        """Line the appends up behind the heads; conflicts are settled here."""
        now_ms = self._clock()
        writes: list[StreamWrite] = []
        for stream, indexed in batch.appends.items():
            head = batch.heads[stream] = heads[stream].head
            plan = plan_stream([append for _, append in indexed], head, now_ms)
            outcomes.settle_plan(indexed, plan)
            if plan.write is not None:
                writes.append(plan.write)
        return writes

    async def _all_fit(self, batch: Batch, heads: dict[str, Watched], outcomes: Outcomes) -> bool:
        """Whether every log is as long as its head says; quarantines those that really aren't.

        The first look is no snapshot, so a mismatch counts only when one MULTI confirms it. That
        ends the WATCH: False means to read again.
        """
        odd = [
            stream
            for stream in batch.appends
            if heads[stream].length != self._heads.expected_length(stream, heads[stream].head)
        ]
        for stream in odd:
            reason = await self._heads.why_foreign(stream)
            if reason is not None:
                batch.unknown.pop(stream, None)
                outcomes.settle(batch.appends.pop(stream), StreamCorrupted(stream, reason))
        return not odd

    async def _execute(
        self, writes: Sequence[StreamWrite], batch: Batch, guard: Guard | None
    ) -> list[Reply] | None:
        """Run the transaction; its replies, or None when a watched key had changed."""
        sequenced = guard is not None
        commands = [
            command
            for write in writes
            for command in write_commands(write, self._keys, sequenced=sequenced)
        ]
        renewal = [guard.renewal] if guard else []
        packet: list[Command] = [("MULTI",), *renewal, *commands, ("EXEC",)]
        known = batch.unknown
        batch.unknown = known | {write.stream: write for write in writes}
        replies = await self._wire.exchange(packet)
        batch.unknown = known
        executed: list[Reply] | None
        if isinstance(replies[-1], ExecAbortError):
            failure = refusal(replies)
            if not (guard and isinstance(failure, StoreFull) and await self._may_overdraw()):
                raise failure
            executed = await force(self._wire, self._reads(writes, batch, guard), packet[1:-1])
        else:
            executed = checked(replies[-1])
        return executed if executed is None else executed[len(renewal) :]

    async def _may_overdraw(self) -> bool:
        memory = await read_memory(self._wire)
        return memory.limit > 0 and memory.used < memory.limit + self._policy.overdraft

    def _reads(self, writes: Sequence[StreamWrite], batch: Batch, guard: Guard) -> list[Read]:
        """What this attempt was planned on, in place of the WATCH."""
        reads = [guard.read]
        for write in writes:
            head = batch.heads[write.stream]
            raw = head.id.encode() if head.version else None
            length = self._heads.expected_length(write.stream, head)
            reads.append((("GET", self._keys.head(write.stream)), raw))
            reads.append((("XLEN", self._keys.log(write.stream)), length))
        return reads

    def _again(self, batch: Batch, outcomes: Outcomes) -> list[Batch]:
        """The batch for another attempt, or nothing when it has had its share of them."""
        batch.attempts += 1
        if batch.attempts < self._policy.contention_attempts:
            return [batch] if batch.appends else []
        for stream, indexed in batch.appends.items():
            unknown = stream in batch.unknown
            failure = (
                OutcomeUnknown(stream) if unknown else TooMuchContention(stream, batch.attempts)
            )
            outcomes.settle(indexed, failure)
        return []

    async def _after_lost_race(self, batch: Batch, outcomes: Outcomes) -> list[Batch]:
        """Part the streams whose head moved from the others; halve what can't be told apart."""
        self.lost_races += 1
        again = self._again(batch, outcomes)
        if not again:
            return []
        await asyncio.sleep(_CONTENTION.delay_s(min(batch.attempts, 8)))
        streams = list(batch.appends)
        if len(streams) == 1:
            return again
        (values,) = await self._wire.exchange([("MGET", *map(self._keys.head, streams))])
        heads = map(head_of, checked(values))
        moved = {
            stream
            for stream, head in zip(streams, heads, strict=True)
            if head != batch.heads[stream]
        }
        if not moved or len(moved) == len(streams):
            moved = set(streams[: len(streams) // 2])
        return [batch.part(moved), batch.part(stream for stream in streams if stream not in moved)]

    async def _after_failure(
        self, batch: Batch, outcomes: Outcomes, failure: StoreUnavailable
    ) -> list[Batch]:
        """Go on after a failed connection where that can settle the outcome; else give up."""
        batch.failures += 1
        # A fresh connection is worth one try: an idle one may have died long ago.
        promising = batch.unknown or batch.failures == 1 or failure.kind == "cluster"
        if promising and batch.failures <= self._policy.recovery_attempts:
            await asyncio.sleep(_RECONNECT.delay_s(batch.failures - 1))
            return [batch]
        for stream, indexed in batch.appends.items():
            unknown = stream in batch.unknown
            outcomes.settle(indexed, OutcomeUnknown(stream) if unknown else failure)
        return []

    async def _read_back(self, batch: Batch, heads: dict[str, Watched], outcomes: Outcomes) -> None:
        """Settle writes of unknown outcome: is our first event where it would have been put?

        The lost transaction could only run on the head it had watched, so it put its first event
        right behind that head or nowhere. While the head has not moved it may still be on its
        way; the WATCH now held then aborts ours, not theirs.
        """
        for stream, write in list(batch.unknown.items()):
            if heads[stream].head.version < write.first:
                continue
            place = str(write.first)
            command: Command = ("XRANGE", self._keys.log(stream), place, place)
            (entries,) = await self._wire.exchange([command])
            found = checked(entries)
            del batch.unknown[stream]  # now, and not before this answer has come
            if not found:
                outcomes.settle(batch.appends.pop(stream), OutcomeUnknown(stream))
            elif found[0][1][3] == write.events[0].id.encode():
                del batch.appends[stream]
