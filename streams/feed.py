"""The feed: one entry per stream per commit, read by consumer groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from redis.exceptions import OutOfMemoryError

from .consumers import retire_consumers
from .errors import CorruptionError
from .failures import error_code
from .forced import force
from .keys import Keys
from .wire import Command, Reply, Wire, checked

ARCHIVERS: Final = "archivers"
"""The group that archives; never dropped, made again whenever it vanishes."""

_BLOCK_MARGIN_S: Final = 5.0
_LOOK: Final = 1_000
_BEHIND_ALL: Final = "18446744073709551615-0"


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """Versions `first`..`last` of `stream` were committed; `types` are their events' types.

    `direct` where a producer appended them itself, not by way of the inbox.
    """

    id: bytes
    stream: str
    first: int
    last: int
    types: frozenset[str]
    direct: bool = False

    @property
    def events(self) -> int:
        """How many events were committed."""
        return self.last - self.first + 1


def parse_feed_entry(entry_id: bytes, fields: Sequence[bytes]) -> FeedEntry:
    """A feed entry; raises `CorruptionError` when somebody else wrote it."""
    try:
        values = dict(zip(fields[::2], fields[1::2], strict=True))
        return FeedEntry(
            id=entry_id,
            stream=values[b"s"].decode(),
            first=int(values[b"f"]),
            last=int(values[b"l"]),
            types=frozenset(values[b"t"].decode().split(" ")),
            direct=b"d" in values,
        )
    except (KeyError, ValueError) as exc:
        raise CorruptionError(f"feed entry {entry_id!r} is none of ours: {exc!r}") from exc


def entries_read(reply: Reply) -> Sequence[Reply]:
    """Entries in a reply to a read of one stream: a list of pairs in RESP2, a map in RESP3."""
    if not reply:
        return ()
    entries: Sequence[Reply] = (
        next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
    )
    return entries


@dataclass(frozen=True, slots=True)
class Delivery:
    """Feed entries taken on, and ids of entries that are gone or unreadable: only to be acked.

    `trimmed` of them are gone. `inherited` from somebody who may have died of them.
    """

    entries: tuple[FeedEntry, ...] = ()
    void: tuple[bytes, ...] = ()
    recreated: bool = False
    trimmed: int = 0
    inherited: bool = False

    @property
    def ids(self) -> list[bytes]:
        """Everything to acknowledge once it is dealt with."""
        return [*(entry.id for entry in self.entries), *self.void]


class FeedGroup:
    """One consumer of one group of a tenant's feed, on a wire of its own."""

    def __init__(self, wire: Wire, keys: Keys, group: str, consumer: str) -> None:
        self._wire, self._keys, self._feed = wire, keys, keys.feed
        self._group, self._consumer = group, consumer
        self._claim_cursor = b"0-0"
        # Under a name that was used before, or after a lost reply, entries may be ours already.
        self._may_hold = True

    async def ensure(self) -> bool:
        """Create the group at the beginning of the feed; whether it was missing."""
        create: Command = ("XGROUP", "CREATE", self._feed, self._group, "0", "MKSTREAM")
        (reply,) = await self._wire.exchange([create])
        if isinstance(reply, OutOfMemoryError):
            # Without its group nothing is archived, so nothing could ever be freed.
            reply = (await force(self._wire, [], [create]) or [reply])[0]
        if error_code(reply) == "BUSYGROUP":
            return False
        checked(reply)
        return True

    async def read(self, *, count: int, block_ms: int | None = None) -> Delivery:
        """Take on up to `count` new entries, waiting up to `block_ms` for the first.

        Entries that were handed to this consumer and never reached it come before. The caller
        holds none while it calls.
        """
        if self._may_hold:
            delivery = await self._read("0", count)
            if delivery.ids or delivery.recreated:
                return replace(delivery, inherited=True)
        self._may_hold = True
        delivery = await self._read(">", count, block_ms)
        self._may_hold = False
        return delivery

    async def _read(self, position: str, count: int, block_ms: int | None = None) -> Delivery:
        wait: Command = () if block_ms is None else ("BLOCK", block_ms)
        command: Command = (
            *("XREADGROUP", "GROUP", self._group, self._consumer, "COUNT", count, *wait),
            *("STREAMS", self._feed, position),
        )
        timeout_s = None if block_ms is None else block_ms / 1000 + _BLOCK_MARGIN_S
        (reply,) = await self._wire.exchange([command], timeout_s=timeout_s)
        # UNBLOCKED or NOGROUP: the key or the group was deleted under the reader.
        if error_code(reply) in ("NOGROUP", "UNBLOCKED"):
            return Delivery(recreated=await self.ensure())
        return _delivery(entries_read(checked(reply)))

    async def claim(self, *, idle_ms: int, count: int) -> Delivery:
        """Take on entries that another consumer left unacknowledged for `idle_ms`."""
        command: Command = (
            *("XAUTOCLAIM", self._feed, self._group, self._consumer, idle_ms),
            *(self._claim_cursor, "COUNT", count),
        )
        may_hold, self._may_hold = self._may_hold, True
        (reply,) = await self._wire.exchange([command])
        self._may_hold = may_hold
        if error_code(reply) == "NOGROUP":
            return Delivery(recreated=await self.ensure())
        self._claim_cursor, entries, *deleted = checked(reply)
        delivery = _delivery(entries)
        gone: Sequence[bytes] = deleted[0] if deleted else ()
        if None in entries:
            gone = await self._vanished()
        trimmed = delivery.trimmed + len(gone)
        void = (*delivery.void, *gone)
        return Delivery(delivery.entries, void, trimmed=trimmed, inherited=True)

    async def _vanished(self) -> list[bytes]:
        """Ids this consumer holds whose entries were trimmed: Redis 6.2 claims them as nil."""
        mine: Command = ("XPENDING", self._feed, self._group, "-", "+", _LOOK, self._consumer)
        (reply,) = await self._wire.exchange([mine])
        ids = [item[0] for item in checked(reply)]
        looks: list[Command] = [("XRANGE", self._feed, name, name) for name in ids]
        found = await self._wire.exchange(looks) if looks else []
        return [name for name, entry in zip(ids, found, strict=True) if not checked(entry)]

    async def renew(self, ids: Sequence[bytes]) -> None:
        """Say that these entries are still being worked on."""
        command: Command = ("XCLAIM", self._feed, self._group, self._consumer, 0, *ids, "JUSTID")
        (reply,) = await self._wire.exchange([command])
        checked(reply)

    async def ack(self, ids: Sequence[bytes]) -> None:
        """Acknowledge; an entry somebody else has acknowledged already is no error."""
        if ids:
            (reply,) = await self._wire.exchange([("XACK", self._feed, self._group, *ids)])
            checked(reply)

    async def appear(self) -> None:
        """Let the group's list of consumers show that this one is alive.

        A read that waits for new entries in vain leaves no trace there before Redis 7.2; one of
        the entries handed over before does, and there is none behind the last id there can be.
        """
        command: Command = (
            *("XREADGROUP", "GROUP", self._group, self._consumer, "COUNT", 1),
            *("STREAMS", self._feed, _BEHIND_ALL),
        )
        (reply,) = await self._wire.exchange([command])
        if error_code(reply) != "NOGROUP":
            checked(reply)

    async def leave(self) -> None:
        """Take this consumer off the list, unless it still holds entries."""
        await retire_consumers(
            self._wire, self._keys, group=self._group, idle_ms=-1, name=self._consumer
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()


def _delivery(raw: Sequence[Reply]) -> Delivery:
    entries: list[FeedEntry] = []
    void: list[bytes] = []
    trimmed = 0
    for item in raw:
        if item is None:  # 6.2 returns nil for an entry that was trimmed while pending
            continue
        entry_id, fields = item
        try:
            entries.append(parse_feed_entry(entry_id, fields or ()))
        except CorruptionError:
            void.append(entry_id)
            trimmed += not fields
    return Delivery(tuple(entries), tuple(void), trimmed=trimmed)
