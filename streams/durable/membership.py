"""A member's part in its group: it keeps what it holds, and shares it with the others alive."""

from __future__ import annotations

import contextlib
import logging
import random

from streams.errors import AresError
from streams.subscription.position import Position, Stage
from streams.subscription.source import Source

from .group import GroupState
from .plan import PARTITIONS, fair_share
from .shelf import DurableShelf

_log = logging.getLogger("ares.subscription")


class Membership:
    """Moves partitions to and from the shelf. `tend` is to be called well within a lease."""

    def __init__(self, group: GroupState, shelf: DurableShelf, source: Source, *, who: str) -> None:
        self._group, self._shelf, self._source, self._who = group, shelf, source, who

    async def begin(self, start: str) -> None:
        """Make the group, unless it exists: then it goes on where it is, whatever `start` says."""
        if await self._group.exists():
            return
        if start == "now":
            place = Position(await self._source.end())
        elif start == "beginning":
            place = Position(await self._source.end(), 0, Stage.HISTORY)
        else:
            place = Position.parse(start)
        await self._group.open(dict.fromkeys(range(PARTITIONS), place))

    async def tend(self) -> None:
        """Say that we are alive, keep what we hold, and share it with those who are too."""
        roll = await self._group.beat()
        if roll is None:
            known = {n: partition.committed for n, partition in self._shelf.partitions.items()}
            _log.warning("subscription %s: its group has vanished and is made again", self._who)
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

    async def hand_back(self) -> None:
        """Let others have the partitions, with all that was acknowledged recorded."""
        for partition in self._shelf.partitions.values():
            self._shelf.shed(partition)
        held = sorted(self._shelf.partitions)
        with contextlib.suppress(AresError):
            await self._shelf.flush()
            await self._group.release(held)
            await self._group.leave()
        for number in held:
            self._shelf.lose(number)

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
