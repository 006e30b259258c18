"""What the members of a durable subscription share: positions, attempts, who works on what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from streams.errors import UsageError
from streams.event import Event
from streams.subscription.position import Id, Position

INCOMPLETE: Final = ""
"""Among a group's losses: there are more streams than were noted."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def check_group(name: str) -> str:
    """Return a group's name; raise `UsageError` unless it is 1-64 of `[A-Za-z0-9_.-]`."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"group {name!r} is not 1-64 characters of A-Z, a-z, 0-9, '_', '.', '-'")
    return name


@dataclass(frozen=True, slots=True)
class Tried:
    """The event at `position` was handed over `count` times."""

    position: Position
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.position}"

    @classmethod
    def parse(cls, text: str) -> Tried:
        """From its text."""
        count, _, position = text.partition(" ")
        return cls(Position.parse(position), int(count))


@dataclass(frozen=True, slots=True)
class Taken:
    """A partition taken over. `unbroken`: nobody else had it since this member last did."""

    position: Position
    tried: Tried | None
    unbroken: bool


@dataclass(frozen=True, slots=True)
class Buried:
    """An event given up after `attempts` deliveries."""

    event: Event
    attempts: int


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit sets for one partition."""

    position: Position
    tried: Tried | None
    buried: Buried | None = None


@dataclass(frozen=True, slots=True)
class Roll:
    """Members alive, this one among them, and the partitions nobody holds."""

    members: int
    free: Sequence[int]


class GroupState(Protocol):
    """One member's way to the state of its group. Every method may raise `StoreUnavailable`.

    A commit changes only partitions whose lease this member holds at that moment.
    """

    async def open(self, positions: Mapping[int, Position]) -> None:
        """Create the group with these positions, where it doesn't exist."""
        ...

    async def exists(self) -> bool:
        """Whether the group has been created."""
        ...

    async def beat(self) -> Roll | None:
        """Say that this member is alive; None when the group has vanished."""
        ...

    async def acquire(self, partitions: Sequence[int]) -> dict[int, Taken]:
        """Take those of `partitions` that are free."""
        ...

    async def renew(self) -> set[int]:
        """Renew every lease held; return the partitions that turned out to be lost."""
        ...

    async def commit(self, changes: Mapping[int, Change]) -> set[int]:
        """Apply `changes`; return those of their partitions that turned out to be lost."""
        ...

    async def release(self, partitions: Sequence[int]) -> None:
        """Let other members have these partitions at once."""
        ...

    async def leave(self) -> None:
        """Stop counting as a member."""
        ...

    async def losses(self) -> dict[str, int]:
        """Stream → first version that was trimmed from the feed before the group had it."""
        ...

    async def floor(self) -> Id:
        """The feed entry up to which all partitions are done."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...
