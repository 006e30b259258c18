"""Folds old events of a stream into summaries and trims them from its log.

First the window is fixed in the state, then summarized, then one transaction pushes the summary,
moves the compacted version and trims. A crash in between repeats the same window; the state is
compared before each write, so two workers never fold the same events twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ops.logs import fields
from streams.clock import Clock
from streams.errors import StreamCorrupted
from streams.event import Event
from streams.keys import Keys
from streams.state import Advance, advance
from streams.summary import EventSummary, merge, pack, rule_based_text, summarize, unpack
from streams.tail import StreamFacts, TailLimits, read_facts, read_tails
from streams.wire import Command, Wire, checked, exec_replies

from .compaction_plan import CompactionPolicy, Window, plan_window

_log = logging.getLogger("ares.compactor")

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

    async def plan(self, stream: str, *, force: bool = False) -> Window | None:
        """The window the next run would fold; changes nothing."""
        (facts,) = await read_facts(self._wire, self._keys, [stream])
        return plan_window(facts.head, facts.state, self._policy, force=force)

    async def compact(
        self, stream: str, *, force: bool = False, keep_recent: int | None = None
    ) -> Compacted:
        """Fold one window of `stream`, if one is due; see `plan_window` for the options.

        Raises `StreamCorrupted` when the log contradicts its state, `StoreUnavailable`.
        """
        (facts,) = await read_facts(self._wire, self._keys, [stream])
        window = plan_window(
            facts.head, facts.state, self._policy, force=force, keep_recent=keep_recent
        )
        if window is None:
            return Compacted("idle")
        if not window.resumed and not await self._fix(stream, window):
            return Compacted("conflict", more=True)
        try:
            summary, failed = await self._summarize(facts, window)
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

    async def _fix(self, stream: str, window: Window) -> bool:
        known = {"compacted_version": window.first - 1, "compacting_to": 0}
        fixing = Advance(stream, known, {"compacting_to": window.last})
        return bool(await advance(self._wire, self._keys, [fixing]))

    async def _overtaken(self, stream: str, window: Window) -> bool:
        """Whether another worker has folded the window meanwhile: then its events are gone."""
        (facts,) = await read_facts(self._wire, self._keys, [stream])
        return facts.state.compacted_version >= window.first

    async def _summarize(self, facts: StreamFacts, window: Window) -> tuple[EventSummary, bool]:
        """Read the window page by page; one summary, and whether the rules had to stand in."""
        summary: EventSummary | None = None
        failed = False
        after = window.first - 1
        while after < window.last:
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
        known = {"compacted_version": window.first - 1, "compacting_to": window.last}
        trim: Command = ("XTRIM", self._keys.log(stream), "MINID", "=", window.last + 1)
        folding = Advance(
            stream,
            known,
            {"compacted_version": window.last, "compacting_to": 0},
            extra=[("RPUSH", self._keys.summaries(stream), pack(summary)), trim],
        )
        return bool(await advance(self._wire, self._keys, [folding]))

    async def _merge_oldest(self, stream: str) -> None:
        """Keep the number of summaries in bounds: the two oldest become one."""
        key = self._keys.summaries(stream)
        while True:
            packet: list[Command] = [("WATCH", key), ("LLEN", key), ("LRANGE", key, 0, 1)]
            _, length, oldest = map(checked, await self._wire.exchange(packet))
            if length <= self._policy.max_summaries:
                await self._wire.exchange([("UNWATCH",)])
                return
            merged = pack(merge(unpack(oldest[0]), unpack(oldest[1])))
            packet = [("MULTI",), ("LPOP", key), ("LSET", key, 0, merged), ("EXEC",)]
            replies = await self._wire.exchange(packet)
            if replies[-1] is not None:
                exec_replies(replies)

    async def forget_old(self, stream: str) -> int:
        """Drop summaries older than their time to live, oldest first; returns how many."""
        if self._policy.summary_ttl_ms == 0:
            return 0
        key, forgotten = self._keys.summaries(stream), 0
        while True:
            (reply,) = await self._wire.exchange([("LINDEX", key, 0)])
            if checked(reply) is None:
                return forgotten
            oldest = unpack(reply)
            if oldest.committed_ms > self._clock() - self._policy.summary_ttl_ms:
                return forgotten
            known = {"forgotten_version": oldest.first_version - 1}
            fields = {"forgotten_version": oldest.last_version}
            dropping = Advance(stream, known, fields, extra=[("LPOP", key)])
            if not await advance(self._wire, self._keys, [dropping]):
                return forgotten
            forgotten += 1
