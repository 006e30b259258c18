"""A live subscription's stay at the hub, from joining it to going on alone.

At first it reads the hub's window, like everybody who blocks. One that drops then has the hub
fill a buffer of its own, so that it holds on to nothing while its consumer sleeps.
"""

from __future__ import annotations

from streams.subscription.items import Row
from streams.subscription.position import Position
from streams.subscription.wanted import Wanted

from .drop_queue import DropQueue
from .hub import Hub, Outlet
from .standing import Standing


class Stay:
    """Joins `hub` at once; `queue` is the own buffer of a subscription that drops."""

    def __init__(
        self, hub: Hub, wanted: Wanted, standing: Standing, queue: DropQueue | None
    ) -> None:
        self._hub, self._wanted, self._standing, self._queue = hub, wanted, standing, queue
        self._from = hub.join(wanted)
        self._batch = hub.next_batch
        self._outlet: Outlet | None = None

    @property
    def reached(self) -> bool:
        """Whether the subscription has read up to where the hub reads for it."""
        return not self._from.beyond(self._standing.place)

    @property
    def dropped(self) -> int:
        """Events that found the own buffer full."""
        return self._queue.dropped if self._queue is not None else 0

    @property
    def buffered(self) -> int:
        """Items in the own buffer."""
        return len(self._queue) if self._queue is not None else 0

    @property
    def behind(self) -> int:
        """Rows of the hub the consumer has not had."""
        return self.buffered if self._outlet else self._hub.rows_from(self._batch)

    @property
    def position(self) -> Position:
        """Where the subscription stands when nothing waits for its consumer."""
        place = self._standing.place
        return place.later(self._hub.position) if self._outlet else place

    @property
    def failure(self) -> Exception | None:
        """Why the hub ended, where it failed."""
        return self._hub.failure

    def fill_at_once(self) -> bool:
        """Have the own buffer filled before anything is read; False when it is too late.

        A subscription that is asleep from the start must not hold on to the window.
        """
        missed = [self._hub.batch(number) for number in range(self._batch, self._hub.next_batch)]
        if None in missed or self._queue is None:
            return False
        outlet = self._fill(self._queue)
        for batch in missed:
            outlet.offer(self._wanted.rows(batch.rows if batch else []))
        return True

    def take(self) -> Row | None:
        """The next row in the own buffer that brings something new."""
        covered = self._standing.covered
        row = self._queue.take() if self._queue is not None else None
        while row is not None and self._queue is not None and covered.repeats(row):
            row = self._queue.take()
        return row

    async def rows(self) -> list[Row] | None:
        """The next rows of the window, none while they come to the own buffer; None at the end.

        Waits while there are none.
        """
        if self._queue is not None and self._outlet is not None:
            return await self._wait_for(self._queue, self._outlet)
        return await self._read_window()

    def wake(self) -> None:
        """End a wait."""
        if self._outlet:
            self._outlet.filled.set()
        self._hub.wake()

    def leave(self) -> None:
        """The hub need not read for this subscription any more."""
        self._hub.leave(self._wanted, self._outlet)

    async def _read_window(self) -> list[Row] | None:
        hub, standing = self._hub, self._standing
        standing.forget_history()
        if self._batch < hub.next_batch:
            batch = hub.batch(self._batch)
            if batch is None:
                return None
            self._batch += 1
            new = [row for row in batch.rows if not standing.place.has(row.at, row.version)]
            rows = [r for r in self._wanted.rows(new) if not standing.covered.repeats(r)]
            standing.saw(rows)
            standing.place = standing.place.later(batch.end)
            return rows
        standing.place = standing.place.later(hub.position)
        if hub.over:
            return None
        if self._queue is not None:
            self._fill(self._queue)
        else:
            await hub.changed()
        return []

    def _fill(self, queue: DropQueue) -> Outlet:
        """At the end of the window: let the hub fill the own buffer from here on."""
        self._outlet = Outlet(queue, self._standing.place)
        self._hub.push_to(self._wanted, self._outlet)
        return self._outlet

    async def _wait_for(self, queue: DropQueue, outlet: Outlet) -> list[Row] | None:
        outlet.filled.clear()
        if len(queue):
            return []
        if self._hub.over:
            self._standing.place = self._standing.place.later(self._hub.position)
            self._standing.followed(self._hub.versions)
            return None
        await outlet.filled.wait()
        return []
