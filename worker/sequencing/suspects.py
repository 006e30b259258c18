"""Finds the inbox entry that kills its worker, by counts that outlive the worker.

A holder of the lease that follows a dead one counts that death against the inbox's first entry.
As long as an entry is under suspicion, the next ones go entry by entry and count each before it
is decoded: who is alive behind an entry takes its count back, so only the killer's grows. Who
comes to the end of the inbox alive clears them all.
"""

from __future__ import annotations

from streams.keys import Keys
from streams.lease import Lease
from streams.wire import Command, Wire, checked

from .page import Entry


class Suspects:
    """Suspicion in one tenant, written under the sequencer's lease only.

    `wary` says that it is not cleared yet; `careful` how many entries are still to be taken one
    by one.
    """

    def __init__(self, wire: Wire, lease: Lease, keys: Keys, *, most_entries: int) -> None:
        self._wire, self._lease, self._attempts = wire, lease, keys.attempts
        self._most_entries = most_entries
        self._counted: bytes | None = None
        self.wary = False
        self.careful = 0

    def begin(self) -> None:
        """The lease was taken over from a living holder."""
        self._counted, self.careful = None, 0

    async def follow_the_dead(self, first: Entry | None) -> None:
        """The last holder died: its page may have killed it. `first` is the oldest entry."""
        self.begin()
        self.wary = True
        (fields,) = await self._wire.exchange([("HLEN", self._attempts)])
        if int(checked(fields)) > 1:  # the first field is the holder
            self.careful = self._most_entries
        elif first is not None:
            await self.count(first[0])

    async def count(self, entry_id: bytes) -> int:
        """Count an attempt at an entry, before it is decoded; how many there were."""
        (attempts,) = await self._lease.transaction([("HINCRBY", self._attempts, entry_id, 1)])
        self._counted = entry_id
        return int(attempts)

    def convicted(self) -> None:
        """What was counted last is what kills: its count stays, wherever it is put."""
        self._counted = None

    async def survived(self) -> None:
        """What was counted last has killed nobody."""
        if self._counted is not None:
            await self._lease.transaction([("HDEL", self._attempts, self._counted)])
            self._counted = None

    async def survived_a_failure(self) -> None:
        """The attempt counted last ended by no fault of its entry: it doesn't count."""
        if (counted := self._counted) is None:
            return
        (left,) = await self._lease.transaction([("HINCRBY", self._attempts, counted, -1)])
        if int(left) <= 0:
            await self.survived()
        self._counted = None

    async def clear(self) -> None:
        """Every entry has been met, and the worker lives: nobody is suspected any more."""
        self.begin()
        if self.wary:
            token = self._lease.guard.token
            forget: list[Command] = [
                ("DEL", self._attempts),
                ("HSET", self._attempts, "holder", token),
            ]
            await self._lease.transaction(forget)
            self.wary = False
