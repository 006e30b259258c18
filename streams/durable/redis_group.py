"""The state of a group in Redis, written only under the leases of its partitions.

The leases a member holds are watched all the time between two commits: a commit is then one
packet, MULTI to EXEC, which ends by watching them again and reading their owners. Whoever takes
over a lapsed lease sets its key, and so voids whatever the late holder still sends.
At `maxmemory` scripts do the same: a group that stood still would keep the feed from being trimmed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from redis.exceptions import ExecAbortError

from streams.errors import TransientError
from streams.event import Event
from streams.forced import Read, conclude, insist
from streams.keys import Keys
from streams.subscription.position import ORIGIN, Id, Position
from streams.wire import Command, Reply, Wire, as_map, checked

from .group import Change, Roll, Taken, Tried
from .plan import PARTITIONS

_ATTEMPTS: Final = 10
_MOST_DEAD: Final = 10_000
_FORGET_MEMBER: Final = 10
"""Times its lease's life after which a silent member's name is removed."""


class GroupContention(TransientError):
    """The leases of a group changed during each attempt at a commit; nothing was written."""

    def __init__(self, group: str) -> None:
        super().__init__(f"the leases of group {group!r} changed during {_ATTEMPTS} attempts")
        self.group = group


class RedisGroup:
    """One member of a group, on a wire of its own; calls may overlap and take turns."""

    def __init__(self, wire: Wire, keys: Keys, name: str, *, member: str, ttl_ms: int) -> None:
        self._wire, self._keys, self._name = wire, keys, name
        self._member, self._ttl_ms = member, ttl_ms
        self._key = keys.group(name)
        self._held: set[int] = set()
        self._watching = False
        self._turn = asyncio.Lock()

    async def open(self, positions: Mapping[int, Position]) -> None:
        """Create the group with these positions, where it doesn't exist."""
        missing: list[Command] = [
            ("HSETNX", self._key, f"pos:{number}", str(position))
            for number, position in positions.items()
        ]
        async with self._turn:
            ((seconds, micros),) = await self._exchange([("TIME",)])
            created = int(seconds) * 1000 + int(micros) // 1000
            await self._exchange([*missing, ("HSETNX", self._key, "created", created)])

    async def exists(self) -> bool:
        """Whether the group has been created."""
        async with self._turn:
            (found,) = await self._exchange([("HEXISTS", self._key, "created")])
        return bool(found)

    async def beat(self) -> Roll | None:
        """Say that this member is alive; None when the group has vanished."""
        async with self._turn:
            leases = map(self._lease, range(PARTITIONS))
            look: list[Command] = [("TIME",), ("HGETALL", self._key), ("MGET", *leases)]
            (seconds, micros), raw, owners = await self._exchange(look)
            fields = as_map(raw)
            if b"created" not in fields:
                return None
            now_ms = int(seconds) * 1000 + int(micros) // 1000
            seen = {
                name.removeprefix(b"member:").decode(): int(value)
                for name, value in fields.items()
                if name.startswith(b"member:")
            }
            long_gone = now_ms - _FORGET_MEMBER * self._ttl_ms
            stale = [f"member:{name}" for name, ms in seen.items() if ms < long_gone]
            packet: list[Command] = [
                ("HSET", self._key, f"member:{self._member}", now_ms),
                ("HDEL", self._key, "dropped", "dropped_ms", *stale),
                ("ZADD", self._keys.groups, now_ms, self._name),
            ]
            await insist(self._wire, packet)
        alive = {name for name, ms in seen.items() if ms > now_ms - self._ttl_ms}
        free = [number for number, owner in enumerate(owners) if owner is None]
        return Roll(len(alive | {self._member}), free)

    async def acquire(self, partitions: Sequence[int]) -> dict[int, Taken]:
        """Take those of `partitions` that are free."""
        if not partitions:
            return {}
        async with self._turn:
            self._watching = False
            take: list[Command] = [
                ("SET", self._lease(number), self._member, "NX", "PX", self._ttl_ms)
                for number in partitions
            ]
            replies = await insist(self._wire, take)
            got = [n for n, reply in zip(partitions, replies, strict=True) if reply is not None]
            packet: list[Command] = []
            for number in got:
                wanted = (f"pos:{number}", f"try:{number}", f"holder:{number}")
                packet += [
                    ("HMGET", self._key, *wanted),
                    ("HSET", self._key, f"holder:{number}", self._member),
                ]
            found = (await insist(self._wire, packet))[::2] if packet else []
            self._held |= set(got)
        return {number: self._taken(*raw) for number, raw in zip(got, found, strict=True)}

    async def renew(self) -> set[int]:
        """Renew every lease held; return the partitions that turned out to be lost."""
        async with self._turn:
            before = set(self._held)
            await self._commit({}, renewed=before)
            return before - self._held

    async def commit(self, changes: Mapping[int, Change]) -> set[int]:
        """Apply `changes`; return those of their partitions that turned out to be lost."""
        async with self._turn:
            await self._commit(changes, renewed=set(changes))
            return set(changes) - self._held

    async def release(self, partitions: Sequence[int]) -> None:
        """Let other members have these partitions at once."""
        async with self._turn:
            for number in partitions:
                if number in self._held:
                    free: list[Command] = [
                        ("DEL", self._lease(number)),
                        ("HDEL", self._key, f"holder:{number}"),
                    ]
                    await self._commit({}, renewed=set(), last={number: free})
                    self._held.discard(number)
                    self._watching = False

    async def leave(self) -> None:
        """Stop counting as a member."""
        async with self._turn:
            await self._exchange([("HDEL", self._key, f"member:{self._member}")])

    async def losses(self) -> dict[str, int]:
        """Stream → first version that was trimmed from the feed before the group had it."""
        async with self._turn:
            (raw,) = await self._exchange([("HGETALL", self._keys.group_losses(self._name))])
        return {name.decode(): int(value) for name, value in as_map(raw).items()}

    async def floor(self) -> Id:
        """The feed entry up to which all partitions are done."""
        async with self._turn:
            fields = [f"pos:{number}" for number in range(PARTITIONS)]
            (raw,) = await self._exchange([("HMGET", self._key, *fields)])
        return min((Position.parse(text.decode()).id for text in raw if text), default=ORIGIN)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _commit(
        self,
        changes: Mapping[int, Change],
        *,
        renewed: set[int],
        last: Mapping[int, Sequence[Command]] | None = None,
    ) -> None:
        """Run the commands of those partitions that are still held, in one transaction."""
        for _ in range(_ATTEMPTS):
            if not self._watching:
                await self._watch([])
            commands: list[Command] = []
            for number in sorted(self._held & {*renewed, *(last or ())}):
                commands.append(("PEXPIRE", self._lease(number), self._ttl_ms))
                commands += self._commands(number, changes[number]) if number in changes else ()
                commands += (last or {}).get(number, ())
            if not commands or await self._watch(commands):
                return
        raise GroupContention(self._name)

    async def _watch(self, commands: Sequence[Command]) -> bool:
        """Run `commands`, watch the leases again and see which are still ours; whether they ran."""
        leases = [self._lease(number) for number in sorted(self._held)]
        packet: list[Command] = [("MULTI",), *commands, ("EXEC",)] if commands else []
        executed = len(packet)
        if leases:
            packet += [("WATCH", *leases), ("MGET", *leases)]
        self._watching, results, mine = False, None, self._member.encode()
        replies = await self._wire.exchange(packet) if packet else []
        if commands:
            reads: list[Read] = [(("GET", lease), mine) for lease in leases]
            results = await conclude(self._wire, reads, commands, replies[:executed])
        if leases:
            owners = zip(sorted(self._held), checked(replies[-1]), strict=True)
            self._held = {number for number, owner in owners if owner == mine}
        # A script that took a transaction's place has touched what the packet's end watches.
        self._watching = not (commands and isinstance(replies[executed - 1], ExecAbortError))
        return results is not None

    def _commands(self, number: int, change: Change) -> list[Command]:
        key, tried = self._key, f"try:{number}"
        commands: list[Command] = [("HSET", key, f"pos:{number}", str(change.position))]
        if change.tried is not None:
            commands.append(("HSET", key, tried, str(change.tried)))
        else:
            commands.append(("HDEL", key, tried))
        if change.buried is not None:
            commands.append(self._burial(change.buried.event, change.buried.attempts))
        return commands

    def _burial(self, event: Event, attempts: int) -> Command:
        """A reference: the event itself stays in its log."""
        reason = f"not acknowledged in {attempts} attempts"
        return (
            *("XADD", self._keys.group_dead(self._name), "MAXLEN", "~", _MOST_DEAD, "*"),
            *("stream", event.stream_id, "version", event.version, "type", event.type),
            *("id", event.id, "code", "attempts", "attempts", attempts, "reason", reason),
        )

    def _taken(self, position: bytes | None, tried: bytes | None, holder: bytes | None) -> Taken:
        return Taken(
            position=Position.parse(position.decode()) if position else Position(),
            tried=Tried.parse(tried.decode()) if tried else None,
            unbroken=holder == self._member.encode(),
        )

    def _lease(self, number: int) -> bytes:
        return self._keys.lease(f"group:{self._name}:{number}")

    async def _exchange(self, commands: Sequence[Command]) -> list[Reply]:
        """Outside a transaction. What is watched stays so: none of these touches a lease."""
        return [checked(reply) for reply in await self._wire.exchange(commands)]
