"""The hub of a store's live subscriptions: one at a time, made when it is needed."""

from __future__ import annotations

import asyncio

from streams.subscription.options import SubscriptionOptions
from streams.subscription.position import Position
from streams.subscription.roster import Roster
from streams.subscription.source import Source

from .hub import Hub


class SharedHub:
    """Where live subscriptions get their hub."""

    def __init__(self, source: Source, options: SubscriptionOptions, roster: Roster) -> None:
        self._source, self._options, self._roster = source, options, roster
        self._hub: Hub | None = None
        self._lock = asyncio.Lock()

    def check(self) -> None:
        """Raise `SubscriptionLimit` when there is none and no connection for one."""
        if self._hub is None or self._hub.over:
            self._roster.check_readers(1)

    async def get(self) -> Hub:
        """The hub that runs, or a new one that begins at the end of the feed."""
        async with self._lock:
            if self._hub is None or self._hub.over:
                self.check()
                options = self._options
                self._hub = Hub(
                    self._source,
                    Position(await self._source.end()),
                    window_events=options.window_events,
                    window_bytes=options.window_bytes,
                    block_ms=options.block_ms,
                )
                self._roster.runs(self._hub)
            return self._hub
