"""Folds old events of a stream into summaries and trims them from its log.

First the window is fixed in the state, then summarized, then one transaction pushes the summary,
moves the compacted version and trims. A crash in between repeats the same window; the state is
compared before each write, so two workers never fold the same events twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ops.logs import fields
from streams.clock import Clock
from streams.errors import AresError, CorruptionError, LeaseLost, StreamCorrupted
from streams.event import Event
from streams.keys import Keys
from streams.lease import Acquired, Lease
from streams.plan import COMPACTED
from streams.state import Advance, StreamState, advance, read_command
from streams.summary import EventSummary, merge, pack, rule_based_text, summarize, unpack
from streams.tail import StreamFacts, TailLimits, read_facts, read_tails
from streams.wire import Command, Wire, checked, exec_replies

from .compaction_plan import CompactionPolicy, Window, plan_window

_log = logging.getLogger("ares.compactor")

_LEASE_MARGIN_MS: Final = 15_000
_PAGE: Final = TailLimits(events=1_000, bytes=8 * 1024 * 1024)

Summarizer = Callable[[Sequence[Event]], Awaitable[str]]
"""Text that stands for adjacent events."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """Facts of one run. `result` is idle, compacted or conflict; `more` asks for another run."""

    result: str
    window: Window | None = None
    summarizer_failed: bool = False
    more: bool = False

    @property
    def events(self) -> int:
        """Events taken out of the log."""
        if self.result != "compacted" or self.window is None:
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
    ) -> None:
        self._wire, self._keys, self._policy, self._clock = wire, keys, policy, clock
        self._summarizer, self._timeout_s = summarizer, summarizer_timeout_s
        self._lease_ttl_ms = int(summarizer_timeout_s * 1000) + _LEASE_MARGIN_MS

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
        if self._summarizer is None:
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
            summary, failed = await self._summarize(facts, window, lease)
        except LeaseLost:
            return Compacted("conflict", more=True)
        except StreamCorrupted:
            if await self._overtaken(stream, window):
                return Compacted("conflict", more=True)
            raise
        if not await self._fold(stream, window, summary):
            return Compacted("conflict", more=True)
        await self._merge_oldest(stream)
        return Compacted("compacted", window, failed, more=True)

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

    async def _summarize(
        self, facts: StreamFacts, window: Window, lease: Lease | None
    ) -> tuple[EventSummary, bool]:
        """Read the window page by page; one summary, and whether the rules had to stand in."""
        summary: EventSummary | None = None
        failed = False
        after = window.first - 1
        while after < window.last:
            if lease is not None:
                await lease.renew()
            span = facts.span(after, window.last)
            tails, failures = await read_tails(self._wire, self._keys, [span], _PAGE)
            for failure in failures.values():
                raise failure
            (tail,) = tails
            text, page_failed = await self._text(tail.events)
            page = summarize(tail.events, tail.committed_ms[-1], text)
            summary = page if summary is None else merge(summary, page)
            failed, after = failed or page_failed, tail.last
        assert summary is not None  # noqa: S101 - a window has at least one event
        return summary, failed

    async def _text(self, events: Sequence[Event]) -> tuple[str, bool]:
        if self._summarizer is None:
            return rule_based_text(events), False
        try:
            async with asyncio.timeout(self._timeout_s):
                return str(await self._summarizer(events)), False
        except Exception as exc:
            _log.warning("the summarizer failed", extra=fields(error=repr(exc)))
            return rule_based_text(events), True

    async def _fold(self, stream: str, window: Window, summary: EventSummary) -> bool:
        """The one transaction in which events leave the log."""
        watched = await self._watch(stream)
        state = watched.state
        if (state.compacted_version, state.compacting_to) != (window.first - 1, window.last):
            await self._wire.exchange([("UNWATCH",)])
            return False
        moved: Command = (
            *("HSET", self._keys.state(stream), COMPACTED, window.last, "compacting_to", 0),
        )
        trim: Command = ("XTRIM", self._keys.log(stream), "MINID", "=", window.last + 1)
        push: Command = ("RPUSH", self._keys.summaries(stream), pack(summary))
        return await self._execute([push, moved, trim])

    async def _merge_oldest(self, stream: str) -> None:
        """Keep the number of summaries in bounds: the two oldest become one."""
        key = self._keys.summaries(stream)
        while (watched := await self._watch(stream)).count > self._policy.max_summaries:
            merged = pack(merge(*map(unpack, watched.oldest)))
            await self._execute([("LPOP", key), ("LSET", key, 0, merged)])
        await self._wire.exchange([("UNWATCH",)])

    async def forget_old(self, stream: str) -> int:
        """Drop summaries older than their time to live, oldest first; returns how many.

        Raises `CorruptionError` where a summary can't be read.
        """
        if self._policy.summary_ttl_ms == 0:
            return 0
        forgotten = 0
        while (oldest := await self._expired(stream)) is not None:
            drop: list[Command] = [
                ("LPOP", self._keys.summaries(stream)),
                ("HSET", self._keys.state(stream), "forgotten_version", oldest.last_version),
            ]
            forgotten += await self._execute(drop)
        await self._wire.exchange([("UNWATCH",)])
        return forgotten

    async def _expired(self, stream: str) -> EventSummary | None:
        """The oldest summary, watched, if its time is over and it is next to be forgotten."""
        watched = await self._watch(stream)
        if not watched.oldest:
            return None
        oldest = unpack(watched.oldest[0])
        over = oldest.committed_ms <= self._clock() - self._policy.summary_ttl_ms
        is_next = oldest.first_version == watched.state.forgotten_version + 1
        return oldest if over and is_next else None

    async def _watch(self, stream: str) -> _Watched:
        """Watch state and summaries: whoever changes either voids the next `_execute`.

        A summaries key of another type must be found here: EXEC would trim all the same.
        """
        key, state = self._keys.summaries(stream), self._keys.state(stream)
        packet: list[Command] = [
            ("WATCH", state, key),
            read_command(self._keys, stream),
            ("LLEN", key),
            ("LRANGE", key, 0, 1),
        ]
        try:
            _, values, count, oldest = map(checked, await self._wire.exchange(packet))
            return _Watched(StreamState.parse(values), count, oldest)
        except CorruptionError as exc:
            await self._wire.exchange([("UNWATCH",)])
            raise StreamCorrupted(stream, str(exc)) from exc

    async def _execute(self, commands: Sequence[Command]) -> bool:
        """Run `commands` in one transaction; False when what was watched has changed."""
        replies = await self._wire.exchange([("MULTI",), *commands, ("EXEC",)])
        if replies[-1] is None:
            return False
        exec_replies(replies)
        return True


@dataclass(frozen=True, slots=True)
class _Watched:
    """State of a stream, how many summaries it has, and the packed oldest two."""

    state: StreamState
    count: int
    oldest: Sequence[bytes]
