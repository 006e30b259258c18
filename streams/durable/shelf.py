"""What a member of a group has read and not handed over yet, and what became of the rest.

The consumer takes items off the shelf in the order they were read. Handing over the first event
of a partition is counted before it happens, acknowledging is committed before it returns; both
share a commit wherever one follows the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Final

from streams.backoff import Backoff
from streams.errors import StoreAccessDenied, TransientError
from streams.pausing import pause
from streams.subscription.items import Gap

from .group import Change, GroupState, Taken, Tried
from .partition import Delivery, Notice, OnItsWay, Partition

_log = logging.getLogger("ares.subscription")

_AGAIN: Final = Backoff(base_s=0.05, cap_s=1.0)


class DurableShelf:
    """The partitions a member holds, and up to `most` items of `max_bytes` read for them."""

    def __init__(
        self,
        group: GroupState,
        *,
        most: int,
        max_bytes: int,
        max_attempts: int,
        on_lost: Callable[[int], None],
    ) -> None:
        self._partitions: dict[int, Partition] = {}
        self.acknowledged = self.dropped = 0
        self.changed = asyncio.Event()
        self.stop = asyncio.Event()
        self._group, self._on_lost = group, on_lost
        self._most, self._max_bytes, self._max_attempts = most, max_bytes, max_attempts
        self._order: deque[Partition] = deque()
        self._bytes = 0
        self._turn = asyncio.Lock()

    @property
    def partitions(self) -> Mapping[int, Partition]:
        """What the member holds, by number."""
        return self._partitions

    @property
    def full(self) -> bool:
        """Whether nothing more should be read for now."""
        return len(self._order) >= self._most or self._bytes >= self._max_bytes

    @property
    def in_hand(self) -> int:
        """Deliveries handed over and not acknowledged."""
        return sum(partition.in_hand for partition in self._partitions.values())

    def take_on(self, taken: Mapping[int, Taken]) -> None:
        """Partitions that are now this member's; one it had all along goes on as it was."""
        for number, state in taken.items():
            known = self._partitions.get(number)
            if known is not None and state.unbroken:
                # What it says is of our own commits, the last of which may have got no answer.
                known.committed, known.recorded = state.position, state.tried
                continue
            self.lose(number)
            partition = Partition(number, state.position, state.tried, self.acknowledge)
            self._partitions[number] = partition
        self.changed.set()

    async def reclaim(self, lost: Collection[int]) -> None:
        """Leases that are not ours any more: those that only lapsed may still be had."""
        taken = await self._group.acquire(sorted(lost)) if lost else {}
        self.take_on(taken)
        for number in lost:
            if number not in taken:
                self.lose(number)

    def lose(self, number: int) -> None:
        """A partition is another member's now, or nobody's."""
        partition = self._partitions.pop(number, None)
        if partition is not None:
            partition.gone = True
            self._withdraw(partition)
            self._on_lost(number)

    def shed(self, partition: Partition) -> None:
        """Hand nothing more over of a partition, so that it can be released."""
        partition.leaving = True
        self._withdraw(partition)
        partition.take_back()

    def put(self, partition: Partition, item: OnItsWay) -> None:
        """Put an item in line for the consumer."""
        partition.add(item)
        self._order.append(partition)
        self._bytes += item.size
        self.changed.set()

    async def take(self) -> OnItsWay | None:
        """Hand over the next item; None when there is nothing to hand over now."""
        while (partition := self._next_partition()) is not None:
            item = partition.ready[0]
            if isinstance(item, Delivery) and not await self._count(partition, item):
                continue
            if partition.gone or not partition.ready or partition.ready[0] is not item:
                continue  # it was lost meanwhile
            self._order.remove(partition)
            self._bytes -= item.size
            self.changed.set()
            if isinstance(item, Notice) and isinstance(item.item, Gap):
                self.dropped += item.item.count
            return partition.hand_over()
        return None

    def settle(self, notice: Notice) -> None:
        """A notice has been told."""
        notice.partition.settle(notice)

    async def acknowledge(self, delivery: Delivery) -> bool:
        """See `Delivery.ack`."""
        partition = delivery.partition
        if delivery.done:
            return not partition.gone
        if not partition.gone:
            partition.settle(delivery)
            self.changed.set()
        first = not partition.outstanding or partition.outstanding[0] is not delivery
        if first and not partition.gone:
            self._foresee()
            await self._insist(lambda: partition.gone or partition.target == partition.committed)
        if not partition.gone:
            self.acknowledged += 1
        return not partition.gone

    async def flush(self) -> None:
        """Commit how far the partitions are done. Raises `StoreUnavailable`."""
        async with self._turn:
            changes: dict[int, Change] = {}
            for number, partition in self._partitions.items():
                if (change := partition.change()) is not None:
                    changes[number] = change
            held = {number: self._partitions[number] for number in changes}
            await self._commit(held, changes)

    async def _commit(self, held: Mapping[int, Partition], changes: Mapping[int, Change]) -> None:
        if not changes:
            return
        lost = await self._group.commit(changes)
        for number, partition in held.items():
            if number not in lost:
                partition.committed_change(changes[number])
        await self.reclaim(lost)

    async def _count(self, partition: Partition, delivery: Delivery) -> bool:
        """Count the attempt that handing over `delivery` is; whether to hand it over."""
        if partition.outstanding[0] is not delivery:
            return True
        attempt = partition.next_attempt(delivery)
        if attempt > self._max_attempts:
            await self._bury(partition)
            return False
        delivery.attempt = attempt
        if not partition.counted:
            partition.intended = Tried(delivery.position, attempt)
            await self._insist(lambda: partition.gone or partition.counted)
        return not partition.gone

    async def _bury(self, partition: Partition) -> None:
        """Give the first event of a partition up; a gap stands in its place."""
        delivery, change = partition.burial(self._max_attempts)
        async with self._turn:
            await self._commit({partition.number: partition}, {partition.number: change})
        if not partition.gone:
            partition.bury(delivery)
            event = delivery.event
            told: dict[str, object] = {"stream": event.stream_id, "version": event.version}
            told["attempts"] = self._max_attempts
            _log.error("an event was dead-lettered by its group", extra={"fields": told})

    async def _insist(self, done: Callable[[], bool]) -> None:
        """Flush until `done`, waiting while Redis is away; raises when it never comes back."""
        failures = 0
        while not done():
            try:
                await self.flush()
            except TransientError as exc:
                if isinstance(exc, StoreAccessDenied) or self.stop.is_set():
                    raise
                await pause(self.stop, _AGAIN.delay_s(failures))
                failures += 1

    def _foresee(self) -> None:
        """Count the next hand-over along with the commit that is due anyway."""
        partition = self._next_partition()
        if partition is None or partition.counted or partition.intended is not None:
            return
        first = partition.outstanding[0]
        if isinstance(first, Delivery) and partition.ready[0] is first:
            attempt = partition.next_attempt(first)
            if attempt <= self._max_attempts:
                partition.intended = Tried(first.position, attempt)

    def _next_partition(self) -> Partition | None:
        """The partition whose item is next; None where there is none, or too many are in hand."""
        if self.in_hand >= self._most:
            return None
        return next((p for p in self._order if not p.blocked), None)

    def _withdraw(self, partition: Partition) -> None:
        self._order = deque(other for other in self._order if other is not partition)
        self._bytes -= sum(item.size for item in partition.ready)
        self.changed.set()
