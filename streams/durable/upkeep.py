"""Which feed entries durable subscriptions still need, and the end of those nobody takes part in.

A group that is unseen for long, or too far behind, is dropped: the feed is no longer kept for
it. Its state stays for a while, and what is trimmed past it is noted there, stream by stream, so
that a member that comes back can be told exactly what it missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from streams.errors import CorruptionError
from streams.feed import parse_feed_entry
from streams.feed_upkeep import parse_id
from streams.forced import execute
from streams.keys import Keys
from streams.subscription.position import ORIGIN, Id, Position, show_id
from streams.wire import Command, Reply, Wire, checked

from .group import INCOMPLETE
from .plan import PARTITIONS, partition_of

_MOST_LOSSES: Final = 10_000
_CHUNK: Final = 1_000


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group at one moment; `positions` by partition, times in milliseconds."""

    name: str
    positions: Mapping[int, Position]
    seen_ms: int
    dropped: str
    dropped_ms: int

    @property
    def floor(self) -> Id:
        """The feed entry up to which all partitions are done."""
        return min((position.id for position in self.positions.values()), default=ORIGIN)


@dataclass(slots=True)
class GroupsTended:
    """Facts of one look at all groups: `dropped` is name → reason of those dropped just now."""

    floors: list[bytes] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)
    behind: list[GroupFacts] = field(default_factory=list)


async def tend_groups(wire: Wire, keys: Keys, *, group_ttl_ms: int, feed_max: int) -> GroupsTended:
    """Drop groups unseen for `group_ttl_ms` or behind `feed_max` entries; forget them later.

    The caller is alone at it in its tenant. Raises `StoreUnavailable`.
    """
    tended = GroupsTended()
    now_ms, groups = await read_groups(wire, keys)
    if not groups:
        return tended
    oldest, limit = await _bounds(wire, keys, feed_max)
    for group in groups:
        await _forget_told(wire, keys, group, oldest)
        reason = _reason(group, now_ms, group_ttl_ms, limit)
        if group.dropped and now_ms - group.dropped_ms > group_ttl_ms:
            await _forget(wire, keys, group.name)
            tended.forgotten.append(group.name)
        elif group.dropped or reason or ORIGIN < group.floor < oldest:
            tended.behind.append(group)
            if reason and not group.dropped:
                await _drop(wire, keys, group.name, reason, now_ms)
                tended.dropped[group.name] = reason
        else:
            tended.floors.append(show_id(group.floor).encode())
    return tended


async def read_groups(wire: Wire, keys: Keys) -> tuple[int, list[GroupFacts]]:
    """The server's time in milliseconds, and all groups of a tenant."""
    time, raw = await wire.exchange([("TIME",), ("ZRANGE", keys.groups, 0, -1, "WITHSCORES")])
    seconds, micros = checked(time)
    names = list(_scores(checked(raw)))
    fields = [*(f"pos:{number}" for number in range(PARTITIONS)), "dropped", "dropped_ms"]
    packet: list[Command] = [("HMGET", keys.group(name), *fields) for name, _ in names]
    found = await wire.exchange(packet) if packet else []
    groups = [
        _facts(name, seen_ms, checked(values))
        for (name, seen_ms), values in zip(names, found, strict=True)
    ]
    return int(seconds) * 1000 + int(micros) // 1000, groups


async def note_losses(
    wire: Wire, keys: Keys, groups: Sequence[GroupFacts], trimmed: Sequence[Reply]
) -> None:
    """Note for `groups` what they have not had of feed entries about to be trimmed.

    Safe to repeat: the first version noted of a stream stays.
    """
    for group in groups:
        losses = keys.group_losses(group.name)
        packet: list[Command] = []
        for entry_id, fields in trimmed:
            try:
                entry = parse_feed_entry(entry_id, fields)
            except CorruptionError:
                continue
            position = group.positions.get(partition_of(entry.stream), Position())
            first = position.first_not_had(parse_id(entry_id), entry.first, entry.last)
            if first is not None:
                packet.append(("HSETNX", losses, entry.stream, first))
        (length,) = await wire.exchange([("HLEN", losses)])
        if int(checked(length)) + len(packet) > _MOST_LOSSES:
            packet = [("HSETNX", losses, INCOMPLETE, 1)]
        if packet:
            await execute(wire, [], packet)  # also on a full Redis: the feed is freed by it


async def _forget_told(wire: Wire, keys: Keys, group: GroupFacts, oldest: Id) -> None:
    """Forget the losses of partitions that have gone on in the feed: they were told."""
    told = {number for number, place in group.positions.items() if place.has_passed(oldest)}
    losses = keys.group_losses(group.name)
    (reply,) = await wire.exchange([("HKEYS", losses)])
    streams = [name for name in checked(reply) if name and partition_of(name.decode()) in told]
    if len(told) == PARTITIONS:
        streams.append(INCOMPLETE.encode())
    if streams:
        (reply,) = await wire.exchange([("HDEL", losses, *streams)])
        checked(reply)


def _reason(group: GroupFacts, now_ms: int, ttl_ms: int, limit: Id) -> str:
    """Why a group is to be dropped; empty when it isn't."""
    if now_ms - group.seen_ms > ttl_ms:
        return "unseen"
    return "behind" if group.floor < limit else ""


async def _bounds(wire: Wire, keys: Keys, feed_max: int) -> tuple[Id, Id]:
    """The oldest entry, and the one that is `feed_max` entries before the end."""
    length, first = await wire.exchange(
        [("XLEN", keys.feed), ("XRANGE", keys.feed, "-", "+", "COUNT", 1)]
    )
    found = checked(first)
    oldest = parse_id(found[0][0]) if found else ORIGIN
    limit, excess = ORIGIN, int(checked(length)) - feed_max
    while excess > 0:
        start = "-" if limit == ORIGIN else f"({show_id(limit)}"
        command: Command = ("XRANGE", keys.feed, start, "+", "COUNT", min(excess, _CHUNK))
        (reply,) = await wire.exchange([command])
        page = checked(reply)
        if not page:
            break
        limit = parse_id(page[-1][0])
        excess -= len(page)
    return oldest, limit


async def _drop(wire: Wire, keys: Keys, name: str, reason: str, now_ms: int) -> None:
    """Mark a group as dropped; a member that is seen again takes the mark off."""
    mark: Command = ("HSET", keys.group(name), "dropped", reason, "dropped_ms", now_ms)
    await execute(wire, [], [mark])


async def _forget(wire: Wire, keys: Keys, name: str) -> None:
    gone: Command = ("DEL", keys.group(name), keys.group_losses(name), keys.group_dead(name))
    for reply in await wire.exchange([("ZREM", keys.groups, name), gone]):
        checked(reply)


def _facts(name: str, seen_ms: int, values: Sequence[bytes | None]) -> GroupFacts:
    *positions, dropped, dropped_ms = values
    return GroupFacts(
        name=name,
        positions={n: Position.parse(p.decode()) for n, p in enumerate(positions) if p},
        seen_ms=seen_ms,
        dropped=(dropped or b"").decode(),
        dropped_ms=int(dropped_ms or 0),
    )


def _scores(raw: Reply) -> Sequence[tuple[str, int]]:
    """Members and scores: a flat list in RESP2, pairs in RESP3."""
    pairs = raw if raw and isinstance(raw[0], list) else zip(raw[::2], raw[1::2], strict=True)
    return [(name.decode(), int(float(score))) for name, score in pairs]
