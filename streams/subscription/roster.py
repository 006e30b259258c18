"""The subscriptions of one store that are open: their limits, their counts, their end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from streams.errors import AresError, UsageError
from streams.pausing import pause

from .options import SubscriptionLimit, SubscriptionOptions


class Counted(Protocol):
    """A subscription as its counts are reported."""

    name: str

    @property
    def delivered(self) -> int:
        """Events handed over, or acknowledged where that is asked for."""
        ...

    @property
    def dropped(self) -> int:
        """Matching events that were not handed over."""
        ...

    async def lag(self) -> int:
        """Feed entries behind."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class Reports(Protocol):
    """Where counts are reported."""

    async def report(self, subscription: Counted) -> None:
        """Add what was counted since the last report."""
        ...


class Background(Protocol):
    """A reader that several subscriptions share; it has a connection until it is `over`."""

    over: bool
    task: asyncio.Task[None]

    def stop(self) -> None:
        """End soon."""
        ...


class Roster:
    """Admits subscriptions within the limits, reports their counts, and closes them in the end.

    `connections` is how many the client may have beside the store's own; None where nothing
    waits on a connection.
    """

    def __init__(
        self, options: SubscriptionOptions, *, reports: Reports | None, connections: int | None
    ) -> None:
        self._options, self._reports = options, reports
        self._max_readers = options.max_readers
        if connections is not None:
            self._max_readers = max(min(self._max_readers, connections), 0)
        self._admitted: dict[Counted, int] = {}
        self._begun: list[Counted] = []
        self._background: list[Background] = []
        self._reporter: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def admit(self, subscription: Counted, *, readers: int = 0) -> None:
        """Count one that is about to begin; raises `SubscriptionLimit`, once closed `UsageError`.

        `readers` are the connections it needs for itself.
        """
        if self._stop.is_set():
            raise UsageError("the store of this subscription is closed")
        most = self._options.max_subscriptions
        if len(self._admitted) >= most:
            raise SubscriptionLimit(f"a store has at most {most} subscriptions", most)
        self.check_readers(readers)
        self._admitted[subscription] = readers

    def dismiss(self, subscription: Counted) -> None:
        """Forget one that could not begin."""
        self._admitted.pop(subscription, None)

    async def begun(self, subscription: Counted) -> None:
        """From now on its counts are reported, unless it has ended meanwhile."""
        if subscription not in self._admitted:
            return
        self._begun.append(subscription)
        if self._reports is not None:
            if self._reporter is None:
                self._reporter = asyncio.create_task(self._report_regularly())
            await self._report(subscription)

    async def ended(self, subscription: Counted) -> None:
        """Report a last time. Safe for one that never began."""
        self.dismiss(subscription)
        if subscription in self._begun:
            self._begun.remove(subscription)
            await self._report(subscription)

    def check_readers(self, more: int) -> None:
        """Raise `SubscriptionLimit` unless so many more connections may wait for events."""
        self._background = [each for each in self._background if not each.task.done()]
        waiting = sum(self._admitted.values()) + sum(not each.over for each in self._background)
        if more and waiting + more > self._max_readers:
            reason = (
                f"at most {self._max_readers} connections of this store may wait for events; "
                "share one subscription, or allow the client more connections"
            )
            raise SubscriptionLimit(reason, self._max_readers)

    def runs(self, background: Background) -> None:
        """A shared reader has begun."""
        self._background.append(background)

    async def close(self) -> None:
        """End all subscriptions and wait for what they left running."""
        self._stop.set()
        for subscription in tuple(self._admitted):
            await subscription.close()
        for background in self._background:
            background.stop()
        running = [each.task for each in self._background]
        running += [self._reporter] if self._reporter else []
        if running:
            await asyncio.wait(running)

    async def _report_regularly(self) -> None:
        while not self._stop.is_set():
            await pause(self._stop, self._options.report_s)
            for subscription in tuple(self._begun):
                await self._report(subscription)

    async def _report(self, subscription: Counted) -> None:
        """Counts are for looking at: failing to report them disturbs nobody."""
        if self._reports is not None:
            with contextlib.suppress(AresError):
                await self._reports.report(subscription)
