"""A durable subscription: many members share the streams of a tenant, and none is forgotten.

Streams are dealt out to 16 partitions. A member holds the leases of some, hands their events to
its consumer in order, and moves their positions as the consumer acknowledges. When a member dies
its leases lapse, and others go on where it had acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Self

from streams.errors import AresError, StoreAccessDenied, TransientError
from streams.live.hub import RECONNECT, pause
from streams.subscription.items import Gap, Reset
from streams.subscription.position import Position, Stage
from streams.subscription.wanted import Wanted

from .group import GroupState
from .partition import Delivery, Notice
from .plan import PARTITIONS, fair_share
from .reader import DurableReader
from .shelf import DurableShelf

if TYPE_CHECKING:
    from streams.subscriptions import Subscriptions

_log = logging.getLogger("ares.subscription")

READERS: Final = 2
"""Connections of a member: one waits at the feed, one keeps its leases and positions."""

_BEATS_PER_LEASE: Final = 4
_LONGEST_BEAT_S: Final = 1.0


class DurableSubscription:
    """One member of a group: an async iterator of `Delivery`, `Gap` and `Reset`.

    For one iterating consumer, which may hand deliveries on to tasks of its own: up to `buffer`
    of them unacknowledged, then iterating waits. An async context manager; leaving it gives the
    partitions to other members at once. Redis being away is waited out; `StoreAccessDenied` and
    corruption are raised.
    """

    def __init__(
        self,
        owner: Subscriptions,
        group: GroupState,
        wanted: Wanted,
        *,
        name: str,
        buffer: int,
        start: str,
    ) -> None:
        self.name = name
        self._owner, self._source, self._group, self._start = owner, owner.source, group, start
        options = owner.options
        self._shelf = DurableShelf(
            group,
            most=buffer,
            max_bytes=options.buffer_bytes,
            max_attempts=options.max_attempts,
            on_lost=self._forget,
        )
        self._feed = owner.source.reader()
        self._reader = DurableReader(
            self._shelf,
            owner.source,
            self._feed,
            wanted,
            group.losses,
            buffer=buffer,
            block_ms=options.block_ms,
        )
        self._beat_s = min(options.lease_ttl_ms / 1000 / _BEATS_PER_LEASE, _LONGEST_BEAT_S)
        self._stop = self._shelf.stop
        self._failure: Exception | None = None
        self._notice: Notice | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def delivered(self) -> int:
        """Events acknowledged to this member."""
        return self._shelf.acknowledged

    @property
    def dropped(self) -> int:
        """Events this member was told of by gaps: trimmed before they were read, or given up."""
        return self._shelf.dropped

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions this member works on at the moment."""
        return tuple(sorted(self._shelf.partitions))

    async def lag(self) -> int:
        """About how many feed entries the group has not done with."""
        return await self._source.backlog(await self._group.floor())

    async def close(self) -> None:
        """Stop, and let other members have the partitions at once; safe to repeat.

        What is in hand and not acknowledged will be handed over again, by whoever takes over.
        """
        if self._stop.is_set():
            return
        self._stop.set()
        self._shelf.changed.set()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for partition in self._shelf.partitions.values():
            self._shelf.shed(partition)
        with contextlib.suppress(AresError):
            await self._shelf.flush()
            await self._group.release(self.partitions)
            await self._group.leave()
        for number in self.partitions:
            self._shelf.lose(number)
        await self._owner.closed(self, readers=READERS)
        await self._feed.close()
        await self._group.close()

    async def __aenter__(self) -> Self:
        await self._owner.opened(self, readers=READERS)
        try:
            await self._open()
            await self._tend()
        except BaseException:
            await self.close()
            raise
        self._tasks = [
            asyncio.create_task(self._keep(self._tend, self._beat_s), name="ares-group-member"),
            asyncio.create_task(self._keep(self._read, 0.0), name="ares-group-reader"),
        ]
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery | Gap | Reset:
        if self._notice is not None:
            self._shelf.settle(self._notice)
            self._notice = None
        while not self._stop.is_set():
            if self._failure is not None:
                raise self._failure
            self._shelf.changed.clear()
            item = await self._shelf.take()
            if isinstance(item, Notice):
                self._notice = item
                return item.item
            if item is not None:
                return item
            await self._shelf.changed.wait()
        raise StopAsyncIteration

    def _forget(self, number: int) -> None:
        self._reader.forget(number)

    async def _open(self) -> None:
        """Make the group, unless it exists: then it goes on where it is, whatever `start` says."""
        if await self._group.exists():
            return
        if self._start == "now":
            place = Position(await self._source.end())
        elif self._start == "beginning":
            place = Position(await self._source.end(), 0, Stage.HISTORY)
        else:
            place = Position.parse(self._start)
        await self._group.open(dict.fromkeys(range(PARTITIONS), place))

    async def _tend(self) -> None:
        """Say that we are alive, keep what we hold, and share it with those who are too."""
        roll = await self._group.beat()
        if roll is None:
            known = {n: partition.committed for n, partition in self._shelf.partitions.items()}
            _log.warning("subscription %s: its group has vanished and is made again", self.name)
            await self._group.open({n: known.get(n, Position()) for n in range(PARTITIONS)})
            return
        await self._shelf.reclaim(await self._group.renew())
        await self._shelf.flush()
        share = fair_share(roll.members)
        await self._give_up(share)
        missing = share - len(self._shelf.partitions)
        free = [number for number in roll.free if number not in self._shelf.partitions]
        if missing > 0 and free:
            chosen = random.sample(free, min(missing, len(free)))
            self._shelf.take_on(await self._group.acquire(sorted(chosen)))

    async def _give_up(self, share: int) -> None:
        """Release what is beyond our share, each partition once nothing of it is in hand."""
        held = self._shelf.partitions
        staying = [partition for partition in held.values() if not partition.leaving]
        staying.sort(key=lambda partition: len(partition.outstanding))
        for partition in staying[: max(len(staying) - share, 0)]:
            self._shelf.shed(partition)
        idle = [n for n, partition in held.items() if partition.leaving and not partition.in_hand]
        if idle:
            await self._shelf.flush()
            await self._group.release(idle)
            for number in idle:
                self._shelf.lose(number)

    async def _read(self) -> None:
        """Read a little more, unless there is enough at hand."""
        self._shelf.changed.clear()
        if self._shelf.full or not await self._reader.step():
            await self._shelf.changed.wait()
        await asyncio.sleep(0)  # a source in memory never waits

    async def _keep(self, step: Callable[[], Awaitable[None]], rest_s: float) -> None:
        """Take steps until the subscription is closed; only trouble that can't pass ends it."""
        failures = 0
        while not self._stop.is_set():
            try:
                await step()
                failures = 0
                if rest_s:
                    await pause(self._stop, rest_s)
            except Exception as exc:
                if not isinstance(exc, TransientError) or isinstance(exc, StoreAccessDenied):
                    self._failure = exc
                    self._shelf.changed.set()
                    return
                if not failures:
                    _log.warning("subscription %s: %s; trying again", self.name, exc)
                await pause(self._stop, RECONNECT.delay_s(failures))
                failures += 1
