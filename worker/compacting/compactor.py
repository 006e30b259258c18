"""Folds old events of a stream into summaries and trims them from its log.

First the window is fixed in the state, then summarized, then one transaction pushes the summary,
moves the compacted version and trims. A crash in between repeats the same window; the state is
compared before each write, so two workers never fold the same events twice. Where Redis is short
of memory, trim, summary and state are one script instead, which passes at `maxmemory`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streams.clock import Clock
from streams.errors import AresError, CorruptionError, LeaseLost, StreamCorrupted
from streams.forced import Read, execute
from streams.keys import Keys
from streams.lease import Acquired, Guard, Lease
from streams.plan import COMPACTED
from streams.state import Advance, StreamState, advance, read_command
from streams.summary import EventSummary, merge, pack, unpack
from streams.tail import StreamFacts, read_facts
from streams.wire import Command, Wire, checked

from .plan import CompactionPolicy, Window, plan_relief, plan_window
from .shedding import shed
from .window_summary import Summarizer, WindowSummaries

LEASE_TTL_MS: Final = 30_000
"""How long a stream waits for a worker that died while it asked a summarizer."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """Facts of one run. `result` is idle, compacted, relief or conflict; `more` asks for another
    run. `summarizer_error` is how a summarizer of one's own failed; the rules stood in for it.
    """

    result: str
    window: Window | None = None
    summarizer_error: str = ""
    more: bool = False

    @property
    def events(self) -> int:
        """Events taken out of the log."""
        if self.result not in ("compacted", "relief") or self.window is None:
            return 0
        return self.window.last - self.window.first + 1


class Compactor:
    """Compacts streams of one tenant; any number of workers may try the same stream."""

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        policy: CompactionPolicy,
        clock: Clock,
        *,
        summarizer: Summarizer | None = None,
        summarizer_timeout_s: float = 30.0,
        lease_ttl_ms: int = LEASE_TTL_MS,
    ) -> None:
        self._wire, self._keys, self._policy, self._clock = wire, keys, policy, clock
        self._shares_cost = summarizer is not None
        self._summaries = WindowSummaries(wire, keys, summarizer, timeout_s=summarizer_timeout_s)
        self._lease_ttl_ms = lease_ttl_ms

    async def plan(self, stream: str, *, force: bool = False) -> Window | None:
        """The window the next run would fold; changes nothing."""
        facts = await self._facts(stream)
        return plan_window(facts.head, facts.state, self._policy, force=force)

    async def compact(
        self, stream: str, *, force: bool = False, keep_recent: int | None = None
    ) -> Compacted:
        """Fold one window of `stream`, if one is due; see `plan_window` for the options.

        Raises `StreamCorrupted` when log, head, state or summaries contradict each other,
        `StoreUnavailable`.
        """
        facts = await self._facts(stream)
        window = plan_window(
            facts.head, facts.state, self._policy, force=force, keep_recent=keep_recent
        )
        if window is None:
            return Compacted("idle")
        if not self._shares_cost:
            return await self._compact(facts, window)
        # What a summarizer of one's own costs, one worker at a time is to pay for a stream.
        lease = Lease(self._wire, self._keys, f"compact:{stream}", ttl_ms=self._lease_ttl_ms)
        if await lease.acquire() is Acquired.NO:
            return Compacted("conflict")
        try:
            return await self._compact(facts, window, lease)
        finally:
            with contextlib.suppress(AresError):
                await lease.release()

    async def _compact(
        self, facts: StreamFacts, window: Window, lease: Lease | None = None
    ) -> Compacted:
        stream = facts.stream
        if not window.resumed and not await self._fix(stream, window):
            return Compacted("conflict", more=True)
        try:
            summary, error = await self._summaries.summarize(facts, window, lease)
            folded = await self._fold(stream, window, summary, lease)
        except LeaseLost:
            return Compacted("conflict", more=True)
        except StreamCorrupted:
            if await self._overtaken(stream, window):
                return Compacted("conflict", more=True)
            raise
        if not folded:
            return Compacted("conflict", more=True)
        await self._merge_oldest(stream)
        return Compacted("compacted", window, error, more=True)

    async def relieve(self, stream: str) -> Compacted:
        """Fold one window of `stream`, however few events and however new, to free memory.

        Works at `maxmemory`, takes no lease and asks no summarizer but the rules. Raises
        `StreamCorrupted`, `StoreUnavailable`; `StoreFull` where the user may not run scripts.
        """
        facts = await self._facts(stream)
        window = plan_relief(facts.state, self._policy)
        if window is None:
            return Compacted("idle")
        try:
            summary = await self._summaries.by_rules(facts, window)
        except StreamCorrupted:
            if await self._overtaken(stream, window):
                return Compacted("conflict")
            raise
        if not await shed(self._wire, self._keys, facts, window, summary):
            return Compacted("conflict")
        await self._merge_oldest(stream)
        return Compacted("relief", window, more=True)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _facts(self, stream: str) -> StreamFacts:
        (facts,) = await read_facts(self._wire, self._keys, [stream])
        if facts.damage:
            raise StreamCorrupted(stream, facts.damage)
        return facts

    async def _fix(self, stream: str, window: Window) -> bool:
        known = {"compacted_version": window.first - 1, "compacting_to": 0}
        fixing = Advance(stream, known, {"compacting_to": window.last})
        return bool(await advance(self._wire, self._keys, [fixing]))

    async def _overtaken(self, stream: str, window: Window) -> bool:
        """Whether another worker has folded the window meanwhile: then its events are gone."""
        (facts,) = await read_facts(self._wire, self._keys, [stream])
        return facts.state.compacted_version >= window.first

    async def _fold(
        self, stream: str, window: Window, summary: EventSummary, lease: Lease | None
    ) -> bool:
        """The one transaction in which events leave the log. Raises `LeaseLost`."""
        guard = lease.guard if lease else None
        watched = await self._watch(stream, guard)
        state = watched.state
        moved = (state.compacted_version, state.compacting_to) != (window.first - 1, window.last)
        if moved or (guard and watched.reads[-1] != guard.read):
            await self._wire.exchange([("UNWATCH",)])
            return False
        done: list[Command] = [
            ("RPUSH", self._keys.summaries(stream), pack(summary)),
            ("HSET", self._keys.state(stream), COMPACTED, window.last, "compacting_to", 0),
            ("XTRIM", self._keys.log(stream), "MINID", "=", window.last + 1),
        ]
        return await self._execute(watched, done)

    async def _merge_oldest(self, stream: str) -> None:
        """Keep the number of summaries in bounds: the two oldest become one."""
        key = self._keys.summaries(stream)
        while (watched := await self._watch(stream)).count > self._policy.max_summaries:
            merged = pack(merge(*map(unpack, watched.oldest)))
            await self._execute(watched, [("LPOP", key), ("LSET", key, 0, merged)])
        await self._wire.exchange([("UNWATCH",)])

    async def forget_old(self, stream: str) -> int:
        """Drop summaries older than their time to live, oldest first; returns how many.

        Raises `CorruptionError` where a summary can't be read.
        """
        if self._policy.summary_ttl_ms == 0:
            return 0
        forgotten = 0
        while (found := await self._expired(stream)) is not None:
            watched, oldest = found
            drop: list[Command] = [
                ("LPOP", self._keys.summaries(stream)),
                ("HSET", self._keys.state(stream), "forgotten_version", oldest.last_version),
            ]
            forgotten += await self._execute(watched, drop)
        await self._wire.exchange([("UNWATCH",)])
        return forgotten

    async def _expired(self, stream: str) -> tuple[_Watched, EventSummary] | None:
        """The oldest summary, watched, if its time is over and it is next to be forgotten."""
        watched = await self._watch(stream)
        if not watched.oldest:
            return None
        oldest = unpack(watched.oldest[0])
        over = oldest.committed_ms <= self._clock() - self._policy.summary_ttl_ms
        is_next = oldest.first_version == watched.state.forgotten_version + 1
        return (watched, oldest) if over and is_next else None

    async def _watch(self, stream: str, guard: Guard | None = None) -> _Watched:
        """Watch state, summaries and lease: whoever changes one voids the next `_execute`.

        A summaries key of another type must be found here: EXEC would trim all the same.
        """
        key, state = self._keys.summaries(stream), self._keys.state(stream)
        watch: Command = ("WATCH", state, key, *([guard.key] if guard else []))
        looks: list[Command] = [
            read_command(self._keys, stream),
            ("LLEN", key),
            ("LRANGE", key, 0, 1),
            *([guard.read[0]] if guard else []),
        ]
        try:
            _, *found = map(checked, await self._wire.exchange([watch, *looks]))
            reads = list(zip(looks, found, strict=True))
            return _Watched(StreamState.parse(found[0]), found[1], found[2], reads)
        except CorruptionError as exc:
            await self._wire.exchange([("UNWATCH",)])
            raise StreamCorrupted(stream, str(exc)) from exc

    async def _execute(self, watched: _Watched, commands: Sequence[Command]) -> bool:
        """Run `commands` in one transaction; False when what was watched has changed."""
        return await execute(self._wire, watched.reads, commands) is not None


@dataclass(frozen=True, slots=True)
class _Watched:
    """State of a stream, how many summaries it has, and the packed oldest two; and the reads."""

    state: StreamState
    count: int
    oldest: Sequence[bytes]
    reads: Sequence[Read]
