"""Leases: one worker at a time does a job, and whoever lost its lease can't write.

The owner's token is compared by value in the packet that watches the lease, and every commit
guarded by it watches the key, so a holder that was paused past its time aborts instead of writing.
Leases work at `maxmemory`, too: what runs under them gets events on their way out of Redis.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from .errors import LeaseLost
from .forced import Read, execute, insist
from .keys import Keys
from .wire import Command, Reply, Wire, checked

_RENEWALS: Final = 4


class Acquired(Enum):
    """How a lease was obtained."""

    NO = "somebody else holds it"
    RELEASED = "its last holder had released it"
    LAPSED = "its last holder vanished"


@dataclass(frozen=True, slots=True)
class Guard:
    """A held lease, as a commit checks and renews it."""

    name: str
    key: bytes
    token: str
    ttl_ms: int

    def check(self, owner: bytes | None) -> None:
        """Raise `LeaseLost` unless `owner`, read under WATCH, is this holder."""
        if owner != self.token.encode():
            raise LeaseLost(self.name)

    @property
    def read(self) -> Read:
        """What a read of the lease's key answers as long as it is held."""
        return ("GET", self.key), self.token.encode()

    @property
    def renewal(self) -> Command:
        """The command that renews the lease, for the transaction it guards."""
        return ("PEXPIRE", self.key, self.ttl_ms)


class Lease:
    """One worker's hold on the lease `name`.

    `marks`, where given, is a hash whose field `holder` outlives the lease: a lease that is free
    while its holder is still marked was not released, its holder died. `owner` is a name for people
    to see, without `/`; what fences is a token of this one hold. Transactions may overlap and take
    turns.
    """

    def __init__(
        self,
        wire: Wire,
        keys: Keys,
        name: str,
        *,
        ttl_ms: int,
        marks: bytes | None = None,
        owner: str = "",
    ) -> None:
        self._wire, self._name, self._key = wire, name, keys.lease(name)
        self._ttl_ms, self._marks, self._owner = ttl_ms, marks, owner
        self._token: str | None = None
        self._turn = asyncio.Lock()

    @property
    def held(self) -> bool:
        """Whether this worker holds the lease as far as it knows."""
        return self._token is not None

    @property
    def guard(self) -> Guard:
        """The guard for commits; raises `LeaseLost` when the lease is not held."""
        if self._token is None:
            raise LeaseLost(self._name)
        return Guard(self._name, self._key, self._token, self._ttl_ms)

    @property
    def renewal_s(self) -> float:
        """Seconds after which a renewal is due: some may fail before the lease lapses."""
        return self._ttl_ms / 1000 / _RENEWALS

    async def acquire(self) -> Acquired:
        """Take the lease if it is free."""
        token = self._new_token()
        if not await self._take(token):
            return Acquired.NO
        self._token = token
        if self._marks is None:
            return Acquired.RELEASED
        packet: list[Command] = [
            ("HGET", self._marks, "holder"),
            ("HSET", self._marks, "holder", token),
        ]
        previous, _ = await self.transaction(packet)
        return Acquired.LAPSED if previous else Acquired.RELEASED

    async def renew(self) -> None:
        """Extend the lease; raises `LeaseLost`."""
        await self.transaction([])

    async def rotate(self) -> None:
        """Hold on under a new token, so that no packet sent under the old one can commit.

        For use after a connection broke around EXEC: once this returns, that EXEC has been
        executed or never will be.
        """
        token = self._new_token()
        packet: list[Command] = [("SET", self._key, token, "PX", self._ttl_ms)]
        if self._marks is not None:
            packet.append(("HSET", self._marks, "holder", token))
        await self.transaction(packet)
        self._token = token

    async def release(self) -> None:
        """Give the lease up so that another worker can take it at once; no error when it's gone."""
        if self._token is None:
            return
        try:
            with contextlib.suppress(LeaseLost):
                marks: list[Command] = [("HDEL", self._marks, "holder")] if self._marks else []
                await self.transaction([*marks, ("DEL", self._key)])
        finally:
            self._token = None

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """Run `commands` if and only if the lease is still held; raises `LeaseLost` if not."""
        async with self._turn:
            return await self._transaction(commands)

    async def _transaction(self, commands: Sequence[Command]) -> list[Reply]:
        guard = self.guard
        replies = await self._wire.exchange([("WATCH", guard.key), ("GET", guard.key)])
        try:
            guard.check(checked(replies[1]))
        except LeaseLost:
            self._token = None
            await self._wire.exchange([("UNWATCH",)])
            raise
        executed = await execute(self._wire, [guard.read], [guard.renewal, *commands])
        if executed is None:
            self._token = None
            raise LeaseLost(self._name)
        return executed[1:]

    def forget(self) -> None:
        """Stop believing the lease is held, without asking Redis."""
        self._token = None

    async def _take(self, token: str) -> bool:
        """Whether the lease was free, and is now held under `token`."""
        taken: Command = ("SET", self._key, token, "NX", "PX", self._ttl_ms)
        (reply,) = await insist(self._wire, [taken])
        return reply is not None

    def _new_token(self) -> str:
        token = uuid.uuid4().hex
        return f"{self._owner}/{token}" if self._owner else token


def owner_of(value: bytes | None) -> str | None:
    """The name in the value of a lease's key: None when nobody holds it, "" when it has none."""
    return None if value is None else value.decode(errors="replace").rpartition("/")[0]
