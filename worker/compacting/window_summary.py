"""Reads the events of a window from a log, page by page, and makes one summary of them."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from streams.errors import LeaseLost
from streams.event import Event
from streams.keeping import keep_during
from streams.keys import Keys
from streams.lease import Lease
from streams.summary import EventSummary, merge, rule_based_text, summarize
from streams.tail import StreamFacts, TailLimits, read_tail
from streams.wire import Wire

from .plan import Window

_PAGE: Final = TailLimits(events=1_000, bytes=8 * 1024 * 1024)

Summarizer = Callable[[Sequence[Event]], Awaitable[str]]
"""Text that stands for adjacent events."""


class WindowSummaries:
    """Summarizes by the rules, or by a summarizer of one's own for which they stand in."""

    def __init__(
        self, wire: Wire, keys: Keys, summarizer: Summarizer | None, *, timeout_s: float
    ) -> None:
        self._wire, self._keys = wire, keys
        self._summarizer, self._timeout_s = summarizer, timeout_s

    async def by_rules(self, facts: StreamFacts, window: Window) -> EventSummary:
        """At once, whatever summarizer there is. Raises `StreamCorrupted`, `StoreUnavailable`."""
        summary, _ = await self._summarize(facts, window, _rules, None)
        return summary

    async def summarize(
        self, facts: StreamFacts, window: Window, lease: Lease | None
    ) -> tuple[EventSummary, str]:
        """The summary, and how the summarizer failed where the rules stood in.

        `lease` is renewed before each page and while the summarizer takes its time.
        Raises `LeaseLost`, `StreamCorrupted`, `StoreUnavailable`.
        """
        return await self._summarize(facts, window, self._text, lease)

    async def _summarize(
        self, facts: StreamFacts, window: Window, text_of: _TextOf, lease: Lease | None
    ) -> tuple[EventSummary, str]:
        summary: EventSummary | None = None
        failed = ""
        after = window.first - 1
        while after < window.last:
            if lease is not None:
                await lease.renew()
            tail = await read_tail(self._wire, self._keys, facts.span(after, window.last), _PAGE)
            text, page_failed = await text_of(tail.events, lease)
            page = summarize(tail.events, tail.committed_ms[-1], text)
            summary = page if summary is None else merge(summary, page)
            failed, after = failed or page_failed, tail.last
        assert summary is not None  # noqa: S101 - a window has at least one event
        return summary, failed

    async def _text(self, events: Sequence[Event], lease: Lease | None) -> tuple[str, str]:
        if self._summarizer is None:
            return await _rules(events, lease)
        try:
            async with asyncio.timeout(self._timeout_s):
                asking = self._summarizer(events)
                kept = asking if lease is None else keep_during(lease, asking)
                return str(await kept), ""
        except LeaseLost:
            raise
        except Exception as exc:
            return rule_based_text(events), _where(exc)


_TextOf = Callable[[Sequence[Event], Lease | None], Awaitable[tuple[str, str]]]


async def _rules(events: Sequence[Event], _: Lease | None) -> tuple[str, str]:
    return rule_based_text(events), ""


def _where(exc: BaseException) -> str:
    """The kind of an error and its place; its text may quote what the events hold."""
    frames = traceback.extract_tb(exc.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(exc).__name__}{place}"
