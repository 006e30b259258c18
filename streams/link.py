"""How the packets of a wire travel on a connection that redis-py has opened.

redis-py walks four layers and wakes the loop for each reply; a commit has dozens. So the transport
of an open connection gets a protocol of ours in place of asyncio's streams: all replies of a packet
in one wake-up. What redis-py does with the connection afterwards is to close it; that is passed on.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol

import hiredis
from redis._parsers import BaseParser
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, RedisError, ResponseError

_MORE: Final = object()


class Link(Protocol):
    """Sends packets on one open connection and collects their replies; one packet at a time.

    Whoever gives up waiting for replies must close the connection.
    """

    @property
    def has_ended(self) -> bool:
        """Whether the connection is known to be of no more use."""
        ...

    async def roundtrip(self, packet: bytes, count: int) -> list[Any]:
        """Send `packet`; its `count` replies, those that say an error as exceptions.

        Raises redis-py's `ConnectionError` when the connection is lost or the server refuses to
        serve it, `InvalidResponse` for what is no reply.
        """
        ...


def link_over(connection: AbstractConnection) -> Link:
    """The fastest link over `connection`, which has nothing in flight."""
    # redis-py offers no way to its transport; where the attribute is gone, its own calls serve.
    transport = getattr(getattr(connection, "_writer", None), "transport", None)
    if isinstance(transport, asyncio.Transport):
        return TransportLink(transport)
    return ConnectionLink(connection)


class TransportLink(asyncio.Protocol):
    """A link that is its transport's protocol: it parses what arrives, when it arrives."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._streams = transport, transport.get_protocol()
        self._parser = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=BaseParser.parse_error,
            notEnoughData=_MORE,
        )
        self._replies: list[Any] = []
        self._due = 0
        self._waiter: asyncio.Future[None] | None = None
        self._failure: RedisError | None = None
        transport.set_protocol(self)

    @property
    def has_ended(self) -> bool:
        """Whether the connection was lost, or something came that nobody had asked for."""
        return self._failure is not None or self._transport.is_closing()

    async def roundtrip(self, packet: bytes, count: int) -> list[Any]:
        """See `Link.roundtrip`."""
        if self._waiter is not None:  # nobody could tell whose replies are whose
            self._fail(RedisConnectionError("two packets at once on one connection"))
        if self._failure is not None:
            raise self._failure
        self._due = count
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(packet)
        await self._waiter
        replies, self._replies = self._replies, []
        return replies

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; wake the waiting packet when it has all its replies."""
        replies, take = self._replies, self._parser.gets
        self._parser.feed(data)
        try:
            while (reply := take()) is not _MORE:
                if isinstance(reply, RedisError) and not isinstance(reply, ResponseError):
                    raise reply
                if type(reply) is not hiredis.PushNotification:
                    replies.append(reply)
        except RedisError as exc:
            self._fail(exc)
            return
        if len(replies) > self._due:
            self._fail(InvalidResponse("a reply to nothing that was asked"))
        elif len(replies) == self._due and self._waiter is not None:
            self._due = 0
            self._wake(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed, by whomever."""
        self._fail(RedisConnectionError(str(exc or "the server closed the connection")))
        self._streams.connection_lost(exc)

    def _fail(self, failure: RedisError) -> None:
        self._failure = self._failure or failure
        self._wake(self._failure)

    def _wake(self, failure: RedisError | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        if failure is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(failure)


class ConnectionLink:
    """A link by redis-py's own calls, one wake-up a reply: for connections without a transport."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection

    @property
    def has_ended(self) -> bool:
        """Whether redis-py has closed it."""
        return not self._connection.is_connected

    async def roundtrip(self, packet: bytes, count: int) -> list[Any]:
        """See `Link.roundtrip`."""
        await self._connection.send_packed_command([packet], check_health=False)
        replies: list[Any] = []
        for _ in range(count):
            try:
                replies.append(await self._connection.read_response())
            except ResponseError as exc:
                replies.append(exc)
        return replies
