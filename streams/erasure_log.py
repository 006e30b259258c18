"""Takes what a stream itself holds out of Redis, for erasure: events, summaries, or one round's.

Each step is one transaction that only runs on the state it was decided on, so it may meet
archivers, compactions and appends at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .forced import Read, execute
from .keys import Keys
from .plan import COMPACTED, Head
from .state import StreamState, read_command
from .wire import Command, Reply, Wire, checked


@dataclass(frozen=True, slots=True)
class Removed:
    """How many events and summaries left Redis."""

    events: int
    summaries: int


async def forget_archived(
    wire: Wire, keys: Keys, stream: str, state: StreamState, head: int
) -> Removed | None:
    """Take every archived event and every summary out; None when state or head have moved.

    Head and state stay, so versions go on. Where nothing is left the log's key goes, whatever
    else somebody may have put there; events appended since stay.
    """
    log, summaries, version = keys.log(stream), keys.summaries(stream), state.archived_version
    whole = head == version
    watched = [keys.state(stream), *([keys.head(stream), log] if whole else [])]
    looks: list[Command] = [
        read_command(keys, stream),
        ("GET", keys.head(stream)),
        ("LLEN", summaries),
    ]
    _, *found = await wire.exchange([("WATCH", *watched), *looks])
    values, raw, count = found
    moved = whole and Head.parse(checked(raw)).version != head
    if moved or StreamState.parse(checked(values)) != state:
        await wire.exchange([("UNWATCH",)])
        return None
    fields = (COMPACTED, version, "forgotten_version", version, "compacting_to", 0)
    commands: list[Command] = [
        ("DEL", log) if whole else ("XTRIM", log, "MINID", "=", version + 1),
        ("DEL", summaries),
        ("HSET", keys.state(stream), *fields),
    ]
    reads: list[Read] = list(zip(looks, found, strict=True))
    if await execute(wire, reads if whole else reads[:1], commands) is None:
        return None
    return Removed(version - state.compacted_version, _number(count))


async def drop_stream(wire: Wire, keys: Keys, stream: str, *, headless: bool) -> Removed | None:
    """Take everything of a stream out, its name too; None when somebody wrote meanwhile.

    For a stream without a usable head or state: what is appended later begins at version 1. With
    `headless` only where there is no head at all.
    """
    log, summaries = keys.log(stream), keys.summaries(stream)
    everything = (keys.head(stream), keys.state(stream), summaries, log)
    looks: list[Command] = [
        ("GET", keys.head(stream)),
        ("XLEN", log),
        ("LLEN", summaries),
        read_command(keys, stream),
    ]
    _, *found = await wire.exchange([("WATCH", *everything), *looks])
    head, events, count, _ = found
    if headless and head is not None:
        await wire.exchange([("UNWATCH",)])
        return None
    gone: list[Command] = [
        ("DEL", *everything),
        ("ZREM", keys.streams, stream),
        ("HDEL", keys.deadly, stream),
    ]
    if await execute(wire, list(zip(looks, found, strict=True)), gone) is None:
        return None
    return Removed(_number(events), _number(count))


async def replace_summaries(
    wire: Wire,
    keys: Keys,
    stream: str,
    state: StreamState,
    old: Sequence[bytes],
    new: Sequence[bytes],
    *,
    through: int = 0,
) -> bool:
    """Put summaries `new` in the place of `old`; whether state and summaries were still so.

    With `through` beyond the compacted version the events up to it leave the log, for which
    `new` must stand. The caller has proved them archived.
    """
    key = keys.summaries(stream)
    looks: list[Command] = [read_command(keys, stream), ("LRANGE", key, 0, -1)]
    packet: list[Command] = [("WATCH", keys.state(stream), key), *looks]
    _, values, found = map(checked, await wire.exchange(packet))
    if StreamState.parse(values) != state or list(found) != list(old):
        await wire.exchange([("UNWATCH",)])
        return False
    commands: list[Command] = [("DEL", key), ("RPUSH", key, *new)]
    if through > state.compacted_version:
        commands += [
            ("HSET", keys.state(stream), COMPACTED, through, "compacting_to", 0),
            ("XTRIM", keys.log(stream), "MINID", "=", through + 1),
        ]
    reads: list[Read] = list(zip(looks, (values, found), strict=True))
    return await execute(wire, reads, commands) is not None


async def read_summaries(wire: Wire, keys: Keys, stream: str) -> list[bytes]:
    """The packed summaries of a stream, oldest first."""
    (reply,) = await wire.exchange([("LRANGE", keys.summaries(stream), 0, -1)])
    return list(checked(reply))


def _number(reply: Reply) -> int:
    """A count; 0 where the key holds another type."""
    return reply if isinstance(reply, int) else 0
