"""A durable subscription as a person looks at it: partition by partition, and what it gave up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams.keys import Keys
from streams.wire import Command, Reply, Wire, checked

from .group import Tried
from .plan import PARTITIONS


@dataclass(frozen=True, slots=True)
class PartitionView:
    """Up to where a partition is done, the member that works on it (empty for none).

    `attempts` is how often the event after `position` was handed over.
    """

    partition: int
    position: str
    member: str
    attempts: int


@dataclass(frozen=True, slots=True)
class GivenUp:
    """An event that was handed over too often; it stays in its stream."""

    id: str
    stream: str
    version: int
    type: str
    attempts: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group. `dropped` says why it was dropped, empty when it wasn't."""

    name: str
    dropped: str
    seen_ms: int
    partitions: Sequence[PartitionView]
    given_up: Sequence[GivenUp]
    given_up_total: int


async def read_group(wire: Wire, keys: Keys, name: str, *, newest: int) -> GroupView | None:
    """A group with the `newest` of what it gave up; None when there is no such group."""
    key, dead = keys.group(name), keys.group_dead(name)
    numbers = range(PARTITIONS)
    packet: list[Command] = [
        ("HMGET", key, "created", "dropped"),
        ("ZSCORE", keys.groups, name),
        ("HMGET", key, *(f"pos:{number}" for number in numbers)),
        ("HMGET", key, *(f"try:{number}" for number in numbers)),
        ("MGET", *(keys.lease(f"group:{name}:{number}") for number in numbers)),
        ("XLEN", dead),
        ("XREVRANGE", dead, "+", "-", "COUNT", newest),
    ]
    replies = [checked(reply) for reply in await wire.exchange(packet)]
    (created, dropped), seen, positions, tried, owners, total, letters = replies
    if created is None:
        return None
    return GroupView(
        name=name,
        dropped=_text(dropped),
        seen_ms=int(float(seen or 0)),
        partitions=[
            PartitionView(n, _text(positions[n]), _text(owners[n]), _attempts(tried[n]))
            for n in numbers
        ],
        given_up=[_given_up(entry_id, fields) for entry_id, fields in letters],
        given_up_total=int(total),
    )


def _given_up(entry_id: bytes, fields: Sequence[bytes]) -> GivenUp:
    values = {
        name.decode(): value.decode(errors="replace")
        for name, value in zip(fields[::2], fields[1::2], strict=True)
    }
    return GivenUp(
        id=entry_id.decode(),
        stream=values.get("stream", ""),
        version=int(values.get("version", 0)),
        type=values.get("type", ""),
        attempts=int(values.get("attempts", 0)),
        code=values.get("code", ""),
        reason=values.get("reason", ""),
    )


def _attempts(raw: Reply) -> int:
    return Tried.parse(raw.decode()).count if raw else 0


def _text(raw: Reply) -> str:
    return raw.decode(errors="replace") if raw else ""
