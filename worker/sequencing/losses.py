"""Notices entries that somebody else took out of the inbox before they were sequenced.

Redis 7 counts the entries ever added to a stream, and the sequencer those it took out itself; the
rest must still be there. Redis 6.2 counts none: there such a loss stays unseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from redis.exceptions import ResponseError

from streams.clock import Clock
from streams.keys import Keys
from streams.lease import Lease
from streams.wire import Command, Wire

Reason = Literal["trimmed_unread", "foreign_delete"]

_EVERY_MS: Final = 10_000
_UNTOUCHED: Final = b"0-0"

# XINFO STREAM alone would bring the first and the last entry along, megabytes each perhaps.
_LOOK: Final = """
local info = redis.pcall('XINFO', 'STREAM', KEYS[1])
if info.err then return {0, 0, '0-0'} end
local facts = {}
for i = 1, #info, 2 do facts[info[i]] = info[i + 1] end
return {facts['entries-added'] or -1, facts['length'], facts['max-deleted-entry-id'] or ''}
"""


@dataclass(frozen=True, slots=True)
class Level:
    """Entries ever added to the inbox, and entries in it now."""

    added: int
    length: int


@dataclass(frozen=True, slots=True)
class Loss:
    """Entries that are gone; at least so many, where the whole inbox was deleted."""

    reason: Reason
    entries: int


def find_loss(before: Level, now: Level, *, taken: int) -> Loss | None:
    """What is missing between two looks, of which the sequencer itself took out `taken`."""
    removed = (now.added - before.added) - (now.length - before.length)
    if removed > taken:
        return Loss("trimmed_unread", removed - taken)
    if removed < taken and before.length > taken:  # the counts began anew: another key
        return Loss("foreign_delete", before.length - taken)
    return None


class InboxLosses:
    """Keeps the accounts of one inbox while its sequencer holds the lease.

    They are handed over from holder to holder in Redis; where one dies, or loses a connection
    with a commit on its way, they begin anew, and what was lost just then is not seen.
    """

    def __init__(self, wire: Wire, lease: Lease, keys: Keys, clock: Clock) -> None:
        self._wire, self._lease, self._clock = wire, lease, clock
        self._inbox, self._level_key = keys.inbox, keys.intake
        self._before: Level | None = None
        self._taken = 0
        self._looked_ms = 0

    async def begin(self) -> Loss | None:
        """Take the accounts over with the lease; what was lost since they were closed."""
        packet: list[Command] = [("GET", self._level_key), ("DEL", self._level_key)]
        handed_over, _ = await self._lease.transaction(packet)
        self._before, self._taken = _parse(handed_over), 0
        return await self._look(begin=True)

    def took(self, entries: int) -> None:
        """The sequencer took so many entries out."""
        self._taken += entries

    def unsure(self) -> None:
        """Something may have been taken out, or not: begin anew."""
        self._before = None

    async def look(self) -> Loss | None:
        """What was lost since the last look; looks now and then only."""
        if 0 <= self._clock() - self._looked_ms < _EVERY_MS:
            return None
        return await self._look()

    async def close(self) -> None:
        """Hand the accounts over to the next holder, before the lease is released."""
        if self._before is None:
            return
        left = Level(self._before.added, self._before.length - self._taken)
        value = f"{left.added} {left.length}"
        await self._lease.transaction([("SET", self._level_key, value)])

    async def _look(self, *, begin: bool = False) -> Loss | None:
        self._looked_ms = self._clock()
        (reply,) = await self._wire.exchange([("EVAL", _LOOK, 1, self._inbox)])
        before, taken = self._before, self._taken
        self._before, self._taken = None, 0
        if isinstance(reply, ResponseError) or reply[0] < 0:
            return None  # scripts are forbidden, or an old Redis
        now = Level(int(reply[0]), int(reply[1]))
        if begin and before is None and reply[2] == _UNTOUCHED:
            before = Level(0, 0)  # nobody has ever taken an entry out by its id: no sequencer
        self._before = now
        loss = None if before is None else find_loss(before, now, taken=taken)
        if loss is not None:
            await self._lease.renew()  # whoever has taken the lease, as `erase` does, took them
        return loss


def _parse(value: bytes | None) -> Level | None:
    """Accounts handed over; none where there is something else."""
    added, _, length = (value or b"").partition(b" ")
    return Level(int(added), int(length)) if added.isdigit() and length.isdigit() else None
