"""How far each stream is archived and compacted; advanced by compare-and-set only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .errors import MalformedKey
from .forced import execute
from .keys import Keys
from .wire import Command, Reply, Wire, checked

FIELDS: Final = (
    "archived_version",
    "rounds",
    "epoch",
    "compacted_version",
    "compacting_to",
    "forgotten_version",
)


@dataclass(frozen=True, slots=True)
class StreamState:
    """State of one stream; all versions are 0 where nothing has happened yet.

    `compacting_to` is the end of the window a compaction has fixed, 0 when none is under way.
    """

    archived_version: int = 0
    rounds: int = 0
    epoch: int = 0
    compacted_version: int = 0
    compacting_to: int = 0
    forgotten_version: int = 0

    @classmethod
    def parse(cls, values: Sequence[bytes | None]) -> StreamState:
        """From the reply to `read_command`; raises `MalformedKey`."""
        try:
            return cls(*(int(value or 0) for value in values))
        except ValueError as exc:
            raise MalformedKey("its state holds something else than numbers") from exc


def read_command(keys: Keys, stream: str) -> Command:
    """Command whose reply `StreamState.parse` reads."""
    return ("HMGET", keys.state(stream), *FIELDS)


@dataclass(frozen=True, slots=True)
class Advance:
    """Change `fields` of a stream's state, provided `known` still holds; `extra` goes along."""

    stream: str
    known: Mapping[str, int]
    fields: Mapping[str, int]
    extra: Sequence[Command] = ()


async def advance(wire: Wire, keys: Keys, advances: Sequence[Advance]) -> set[str]:
    """Apply those of `advances`, one a stream, whose state is as known; return their streams.

    All that apply are one transaction. When one of them changes under it, each is tried alone,
    so that one busy stream doesn't hold up the others. At `maxmemory` it goes on: a state is
    small, and what it says lets events go.
    """
    watched: list[Command] = [("WATCH", *(keys.state(item.stream) for item in advances))]
    reads = [read_command(keys, item.stream) for item in advances]
    replies = [checked(reply) for reply in await wire.exchange([*watched, *reads])]
    applicable = [
        (item, values)
        for item, values in zip(advances, replies[1:], strict=True)
        if _holds(StreamState.parse(values), item.known)
    ]
    if not applicable:
        await wire.exchange([("UNWATCH",)])
        return set()
    if await _execute(wire, keys, applicable):
        return {item.stream for item, _ in applicable}
    if len(advances) == 1:
        return set()
    applied: set[str] = set()
    for item, _ in applicable:
        applied |= await advance(wire, keys, [item])
    return applied


async def _execute(wire: Wire, keys: Keys, advances: Sequence[tuple[Advance, Reply]]) -> bool:
    """Whether it was done; the reply beside each advance is its state as it was read."""
    commands: list[Command] = []
    for item, _ in advances:
        pairs = [part for pair in item.fields.items() for part in pair]
        commands += [("HSET", keys.state(item.stream), *pairs), *item.extra]
    reads = [(read_command(keys, item.stream), values) for item, values in advances]
    return await execute(wire, reads, commands) is not None


def _holds(state: StreamState, known: Mapping[str, int]) -> bool:
    return all(getattr(state, field) == value for field, value in known.items())
