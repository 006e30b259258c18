"""One exclusive connection on which commands travel as packets: several commands, one write.

redis-py's pipeline objects cost more than Redis itself does. A `Wire` sends a list of commands
in one write on a connection that redis-py opened (URL, TLS, AUTH, Sentinel and Cluster stay its
business) and returns one reply a command. It never sends anything twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, cast

import hiredis
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection, Connection
from redis.exceptions import (
    MovedError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    SlotNotCoveredError,
)

from .deadline import Deadline
from .failures import translate
from .link import Link, link_over
from .reaching import unreachable

Argument = bytes | str | int
Command = tuple[Argument, ...]
Reply = Any
Client = Redis | RedisCluster

DEFAULT_TIMEOUT_S: Final = 5.0


class WireObserver(Protocol):
    """Told what wires do, between two packets: it must be quick and not raise."""

    def exchanged(self, commands: Sequence[Command], seconds: float) -> None:
        """A packet got all its replies, `seconds` after it was sent."""
        ...

    def reconnected(self) -> None:
        """A wire that had lost or given up its connection has opened another."""
        ...


class Wire:
    """An exclusive connection to the node serving `key`; not for concurrent use.

    Every failure to get all replies closes the connection, so a late reply can never be taken
    for the answer to a later command.
    """

    def __init__(
        self,
        client: Client,
        key: bytes,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        observer: WireObserver | None = None,
    ) -> None:
        self._client, self._key, self._timeout_s = client, key, timeout_s
        self._observer = observer
        self._connection: AbstractConnection | None = None
        self._link: Link | None = None
        self._opened_before = False
        self._node: ClusterNode | None = None
        self._pool_timeout: float | None = None
        self._deadline = Deadline()
        self._watching = False

    def sibling(self) -> Wire:
        """Another wire to the same node, with a connection of its own; the caller closes it."""
        return Wire(self._client, self._key, timeout_s=self._timeout_s, observer=self._observer)

    async def exchange(
        self, commands: Sequence[Command], *, timeout_s: float | None = None
    ) -> list[Reply]:
        """Send `commands` in one packet; return their replies, error replies as exceptions.

        Raises `StoreUnavailable` when the connection fails. Whether the commands were executed
        is then unknown.
        """
        packet = b"".join([hiredis.pack_command(cast(Any, command)) for command in commands])
        began = self._deadline.begin(timeout_s or self._timeout_s)
        try:
            link = await self._usable()
            self._deadline.check()
            replies = await link.roundtrip(packet, len(commands))
            self._deadline.check()
        except (RedisError, OSError) as exc:
            await self.close()
            raise translate(exc) from exc
        except asyncio.CancelledError:
            await self.close()
            if self._deadline.expired():
                raise translate(TimeoutError("Redis did not answer in time")) from None
            raise
        except BaseException:
            await self.close()
            raise
        finally:
            self._deadline.end()
        if self._observer is not None:
            self._observer.exchanged(commands, asyncio.get_running_loop().time() - began)
        self._watching = _watches(commands, self._watching)
        if any(isinstance(reply, MovedError | ReadOnlyError) for reply in replies):
            await self._forget_topology()
        return replies

    async def _usable(self) -> Link:
        """The link, opened anew when its connection has ended while nobody used it.

        Nothing has been sent on it yet, so this repeats no command. But a new connection watches
        nothing: what follows a WATCH fails with the connection that holds it.
        """
        if self._link is not None:
            if not self._link.has_ended:
                return self._link
            if self._watching:
                raise ConnectionError("the connection ended while it watched keys")
            await self.close()
        return await self._open()

    async def _open(self) -> Link:
        try:
            connection = await self._connect()
        except (RedisError, RedisClusterException, OSError) as exc:
            raise unreachable(exc, self._client) from exc
        # The deadline of `exchange` covers all of a packet; redis-py's would start a task a write.
        self._pool_timeout, connection.socket_timeout = connection.socket_timeout, None
        self._connection = connection
        if self._opened_before and self._observer is not None:
            self._observer.reconnected()
        self._opened_before = True
        self._link = link_over(connection)
        return self._link

    async def _connect(self) -> AbstractConnection:
        if not isinstance(self._client, RedisCluster):
            pool = self._client.connection_pool
            return cast(AbstractConnection, await pool.get_connection())  # type: ignore[no-untyped-call]
        await self._client.initialize()
        self._node = self._client.get_node_from_key(cast(str, self._key))
        if self._node is None:
            raise SlotNotCoveredError("no node serves the slot of this tenant")
        connection = self._node.acquire_connection()
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            self._node.release(connection)
            raise
        return connection

    async def _forget_topology(self) -> None:
        await self.close()
        if isinstance(self._client, RedisCluster):
            await self._client.aclose()

    async def close(self) -> None:
        """Close the connection and give its place back to the pool; safe to repeat."""
        connection, self._connection, self._link = self._connection, None, None
        self._watching = False
        if connection is None:
            return
        connection.socket_timeout = self._pool_timeout
        await connection.disconnect(nowait=True)
        if self._node is not None:
            self._node.release(cast(Connection, connection))
        else:
            await cast(Redis, self._client).connection_pool.release(connection)


def _watches(commands: Sequence[Command], before: bool) -> bool:
    """Whether a connection watches keys after `commands`."""
    for command in reversed(commands):
        if command[0] == "WATCH":
            return True
        if command[0] in ("EXEC", "UNWATCH"):
            return False
    return before


class Wires:
    """A pool of wires for one tenant: readers borrow, blocking readers and writers keep one."""

    def __init__(
        self,
        client: Client,
        key: bytes,
        *,
        limit: int = 8,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        observer: WireObserver | None = None,
    ) -> None:
        self._client, self._key, self._timeout_s = client, key, timeout_s
        self._observer = observer
        self._idle: list[Wire] = []
        self._places = asyncio.Semaphore(limit)

    def dedicated(self) -> Wire:
        """A wire of the caller's own, outside the limit; the caller closes it."""
        return Wire(self._client, self._key, timeout_s=self._timeout_s, observer=self._observer)

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[Wire]:
        """An idle wire, or a new one; waits while `limit` are borrowed."""
        async with self._places:
            wire = self._idle.pop() if self._idle else self.dedicated()
            try:
                yield wire
            finally:
                self._idle.append(wire)

    async def exchange(self, commands: Sequence[Command]) -> list[Reply]:
        """`Wire.exchange` on a borrowed wire, raising the first error reply."""
        async with self.borrow() as wire:
            return [checked(reply) for reply in await wire.exchange(commands)]

    async def close(self) -> None:
        """Close the idle wires."""
        while self._idle:
            await self._idle.pop().close()


def checked(reply: Reply) -> Reply:
    """Return `reply`; raise it, translated, when it is an error."""
    if isinstance(reply, Exception):
        raise translate(reply) from reply
    return reply


def as_map(reply: Reply) -> dict[Any, Reply]:
    """A reply of names and values: a flat list in RESP2, a map in RESP3."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def exec_replies(replies: Sequence[Reply]) -> list[Reply]:
    """Replies of the commands of a MULTI packet; raises the first error among all of them."""
    for reply in replies:
        checked(reply)
    return [checked(reply) for reply in replies[-1]]
