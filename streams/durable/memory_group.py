"""The state of the groups of a memory store. Leases lapse here too, by this process's clock."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streams.subscription.position import Id, Position
from streams.subscription.source import Announced

from .group import Buried, Change, Roll, Taken, Tried
from .plan import PARTITIONS, partition_of


@dataclass(slots=True)
class MemoryGroupState:
    """One group: what `group:<name>` holds in Redis. Times are of the monotonic clock, seconds."""

    positions: dict[int, Position] = field(default_factory=dict)
    tried: dict[int, Tried] = field(default_factory=dict)
    holders: dict[int, str] = field(default_factory=dict)
    leases: dict[int, tuple[str, float]] = field(default_factory=dict)
    members: dict[str, float] = field(default_factory=dict)
    losses: dict[str, int] = field(default_factory=dict)
    dead: list[Buried] = field(default_factory=list)

    def owner(self, number: int) -> str | None:
        """The member whose lease of a partition has not lapsed."""
        owner, until = self.leases.get(number, ("", 0.0))
        return owner if until > time.monotonic() else None

    def passed(self, trimmed: Sequence[Announced]) -> None:
        """Note what is trimmed from the feed before the group had it."""
        if not trimmed:
            return
        oldest = trimmed[0].at
        told = {number for number, place in self.positions.items() if place.has_passed(oldest)}
        for stream in [s for s in self.losses if partition_of(s) in told]:
            del self.losses[stream]
        for entry in trimmed:
            position = self.positions.get(partition_of(entry.stream), Position())
            first = position.first_not_had(entry.at, entry.first, entry.last)
            if self.positions and first is not None:
                self.losses.setdefault(entry.stream, first)


class MemoryGroup:
    """One member of a group of a memory store."""

    def __init__(self, state: MemoryGroupState, *, member: str, ttl_ms: int) -> None:
        self._state, self._member, self._ttl_s = state, member, ttl_ms / 1000
        self._held: set[int] = set()

    async def open(self, positions: Mapping[int, Position]) -> None:
        """Create the group with these positions, where it doesn't exist."""
        for number, position in positions.items():
            self._state.positions.setdefault(number, position)

    async def exists(self) -> bool:
        """Whether the group has been created."""
        return bool(self._state.positions)

    async def beat(self) -> Roll | None:
        """Say that this member is alive."""
        now = time.monotonic()
        self._state.members[self._member] = now
        alive = sum(seen > now - self._ttl_s for seen in self._state.members.values())
        free = [number for number in range(PARTITIONS) if self._state.owner(number) is None]
        return Roll(alive, free)

    async def acquire(self, partitions: Sequence[int]) -> dict[int, Taken]:
        """Take those of `partitions` that are free."""
        taken: dict[int, Taken] = {}
        for number in partitions:
            if self._state.owner(number) is None:
                unbroken = self._state.holders.get(number) == self._member
                position, tried = self._state.positions[number], self._state.tried.get(number)
                taken[number] = Taken(position, tried, unbroken)
                self._state.holders[number] = self._member
                self._hold(number)
        return taken

    async def renew(self) -> set[int]:
        """Renew every lease held; return the partitions that turned out to be lost."""
        lost = self._lost(self._held)
        for number in self._held:
            self._hold(number)
        return lost

    async def commit(self, changes: Mapping[int, Change]) -> set[int]:
        """Apply `changes`; return those of their partitions that turned out to be lost."""
        lost = self._lost(changes)
        for number, change in changes.items():
            if number in lost:
                continue
            self._hold(number)
            self._state.positions[number] = change.position
            self._state.tried.pop(number, None)
            if change.tried is not None:
                self._state.tried[number] = change.tried
            if change.buried is not None:
                self._state.dead.append(change.buried)
        return lost

    async def release(self, partitions: Sequence[int]) -> None:
        """Let other members have these partitions at once."""
        self._lost(partitions)
        for number in self._held & set(partitions):
            del self._state.leases[number], self._state.holders[number]
            self._held.discard(number)

    async def leave(self) -> None:
        """Stop counting as a member."""
        self._state.members.pop(self._member, None)

    async def losses(self) -> dict[str, int]:
        """Stream → first version that was trimmed from the feed before the group had it."""
        return dict(self._state.losses)

    async def floor(self) -> Id:
        """The feed entry up to which all partitions are done."""
        return min(position.id for position in self._state.positions.values())

    async def close(self) -> None:
        """Nothing to close."""

    def _hold(self, number: int) -> None:
        self._held.add(number)
        self._state.leases[number] = (self._member, time.monotonic() + self._ttl_s)

    def _lost(self, partitions: Sequence[int] | Mapping[int, Change] | set[int]) -> set[int]:
        lost = {n for n in partitions if n in self._held and self._state.owner(n) != self._member}
        lost |= {n for n in partitions if n not in self._held}
        self._held -= lost
        return lost
