"""Takes entries of given streams out of the keys a tenant's streams share, for erasure.

Inbox, dead letters, feed and the notes of durable subscriptions. Every function may be repeated;
what arrives while it runs stays.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from .dead_letters import ORIGINAL
from .errors import CorruptionError, LeaseLost
from .feed import ARCHIVERS, FeedEntry, parse_feed_entry
from .feed_upkeep import parse_id
from .forced import execute
from .keys import Keys
from .lease import Acquired, Lease
from .wire import Command, Reply, Wire, checked

Concerns = Callable[[bytes | None], bool]
"""Whether an entry that names this stream is to go; None where it names none."""

Announces = Callable[[FeedEntry], bool]
"""Whether a feed entry announces events that are to go."""

_OWNER: Final = "erase"
_FIRST_PAGE: Final = 16
_MOST_ENTRIES: Final = 1_000
_PAGE_BYTES: Final = 4 * 1024 * 1024
_TAKEOVERS: Final = 20


async def take_over(wire: Wire, keys: Keys, name: str, *, ttl_ms: int, marks: bytes) -> Lease:
    """Take the lease `name` from whoever holds it.

    Nothing its holder still sends can commit from then on; once it is released another worker
    takes it as if nothing had happened. Raises `LeaseLost` where others are always faster.
    """
    lease = Lease(wire, keys, name, ttl_ms=ttl_ms, marks=marks, owner=_OWNER)
    for _ in range(_TAKEOVERS):
        (reply,) = await wire.exchange([("DEL", keys.lease(name))])
        checked(reply)
        if await lease.acquire() is not Acquired.NO:
            return lease
    raise LeaseLost(name)


async def waiting_entries(
    wire: Wire, keys: Keys, concerns: Concerns
) -> AsyncIterator[Sequence[bytes]]:
    """Ids of the inbox entries that are to go, page by page; a page may have none."""
    async for page in _pages(wire, keys.inbox):
        yield [name for name, fields in page if concerns(_value(fields, b"stream"))]


async def dead_letters(
    wire: Wire, keys: Keys, concerns: Concerns
) -> AsyncIterator[Sequence[bytes]]:
    """Ids of the dead letters that are to go, page by page; a page may have none."""
    async for page in _pages(wire, keys.dead):
        yield [name for name, fields in page if concerns(_value(fields, ORIGINAL + b"stream"))]


async def announcements(
    wire: Wire, keys: Keys, announces: Announces
) -> AsyncIterator[Sequence[bytes]]:
    """Ids of the feed entries that are to go, page by page; a page may have none."""
    async for page in _pages(wire, keys.feed):
        yield [name for name, fields in page if _announces(name, fields, announces)]


async def newest_announcement(wire: Wire, keys: Keys) -> tuple[int, int]:
    """The feed's newest id, as numbers; what is committed from now on has a greater one."""
    (found,) = await wire.exchange([("XREVRANGE", keys.feed, "+", "-", "COUNT", 1)])
    return parse_id(checked(found)[0][0]) if checked(found) else (0, 0)


async def count(pages: AsyncIterator[Sequence[bytes]]) -> int:
    """How many ids there are."""
    return sum([len(ids) async for ids in pages])


async def erase_waiting(lease: Lease, wire: Wire, keys: Keys, concerns: Concerns) -> int:
    """Take entries out of the inbox, while nobody else can sequence it; returns how many.

    `lease` is the sequencer's. Raises `LeaseLost`: call again.
    """
    erased = 0
    async for ids in waiting_entries(wire, keys, concerns):
        gone: list[Command] = [
            ("XDEL", keys.inbox, *ids),
            ("HDEL", keys.attempts, *ids),
            ("DEL", keys.intake),  # what is erased is not lost
        ]
        erased += await _under(lease, gone if ids else [])
    return erased


async def erase_dead(lease: Lease, wire: Wire, keys: Keys, concerns: Concerns) -> int:
    """Take dead letters away, while nobody adds to them; returns how many. As `erase_waiting`."""
    erased = 0
    async for ids in dead_letters(wire, keys, concerns):
        erased += await _under(lease, [("XDEL", keys.dead, *ids)] if ids else [])
    return erased


async def step_aside(wire: Wire, keys: Keys, announces: Announces) -> bool:
    """Where the newest feed entry is to go, put one behind it that announces nothing.

    Readers stand on the entry they have read last, and take its loss for a loss of their place:
    those who have read everything find a place to stand on. Whether that was needed.
    """
    newest: Command = ("XREVRANGE", keys.feed, "+", "-", "COUNT", 1)
    while True:
        _, found = map(checked, await wire.exchange([("WATCH", keys.feed), newest]))
        entry_id, fields = found[0] if found else (b"", ())
        if not _announces(entry_id, fields, announces):
            await wire.exchange([("UNWATCH",)])
            return False
        entry = parse_feed_entry(entry_id, fields)
        # As every commit announces itself, the stream's head is the last version of this entry.
        nothing = ("s", entry.stream, "f", entry.last + 1, "l", entry.last, "t", "")
        added: Command = ("XADD", keys.feed, "*", *nothing)
        if await execute(wire, [(newest, found)], [added]) is not None:
            return True


async def erase_announcements(wire: Wire, keys: Keys, announces: Announces) -> int:
    """Take entries out of the feed, pending ones from their group too; returns how many."""
    erased = 0
    async for ids in announcements(wire, keys, announces):
        packet: list[Command] = [
            ("XDEL", keys.feed, *ids),
            ("XACK", keys.feed, ARCHIVERS, *ids),
        ]
        erased += await _delete(wire, packet) if ids else 0
    return erased


async def erase_from_groups(wire: Wire, keys: Keys, concerns: Concerns) -> None:
    """Take streams out of what durable subscriptions note: events given up, and losses."""
    (reply,) = await wire.exchange([("ZRANGE", keys.groups, 0, -1)])
    for name in map(bytes.decode, checked(reply)):
        losses, dead = keys.group_losses(name), keys.group_dead(name)
        (reply,) = await wire.exchange([("HGETALL", losses)])
        # An empty name says that the notes are incomplete: that stays true.
        noted = [stream for stream in _names(checked(reply)) if stream and concerns(stream)]
        if noted:
            await _delete(wire, [("HDEL", losses, *noted)])
        async for page in _pages(wire, dead):
            ids = [entry for entry, fields in page if concerns(_value(fields, b"stream"))]
            if ids:
                await _delete(wire, [("XDEL", dead, *ids)])


async def _pages(wire: Wire, key: bytes) -> AsyncIterator[Sequence[Reply]]:
    """The entries of a Redis stream that are there now, in pages of a few megabytes."""
    (newest,) = await wire.exchange([("XREVRANGE", key, "+", "-", "COUNT", 1)])
    if not checked(newest):
        return
    start, last, size = b"-", newest[0][0], _FIRST_PAGE
    while True:
        (reply,) = await wire.exchange([("XRANGE", key, start, last, "COUNT", size)])
        page = checked(reply)
        if page:
            yield page
        if len(page) < size:
            return
        start = b"(" + page[-1][0]
        taken = sum(len(value) for _, fields in page for value in fields)
        size = max(1, min(2 * size, _MOST_ENTRIES, size * _PAGE_BYTES // max(taken, 1)))


def _announces(entry_id: bytes, fields: Sequence[bytes], announces: Announces) -> bool:
    try:
        entry = parse_feed_entry(entry_id, fields)
    except CorruptionError:
        return False
    return entry.first <= entry.last and announces(entry)


def _value(fields: Sequence[bytes], name: bytes) -> bytes | None:
    """The value of a field, the first where it is there twice."""
    return next((v for n, v in zip(fields[::2], fields[1::2], strict=True) if n == name), None)


def _names(raw: Reply) -> Sequence[bytes]:
    """Field names of a hash: every other one of a flat list in RESP2, keys of a map in RESP3."""
    return list(raw) if isinstance(raw, dict) else raw[::2]


async def _under(lease: Lease, commands: Sequence[Command]) -> int:
    """Run `commands`, none or several, if the lease is held; the number the first one answers."""
    replies = await lease.transaction(commands)
    return int(replies[0]) if replies else 0


async def _delete(wire: Wire, packet: Sequence[Command]) -> int:
    """Send `packet`; the number that its first command answers."""
    replies = [checked(reply) for reply in await wire.exchange(packet)]
    return int(replies[0])
