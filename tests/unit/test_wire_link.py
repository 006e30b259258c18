"""What a link over a transport makes of the bytes that arrive."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import BusyLoadingError, InvalidResponse, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from streams.link import TransportLink


class Transport(asyncio.Transport):
    """Keeps what is written; its reader is whatever protocol was set."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.protocol: asyncio.BaseProtocol = asyncio.Protocol()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return False


@pytest.fixture
def link() -> TransportLink:
    return TransportLink(Transport())


async def answered(link: TransportLink, count: int, *pieces: bytes) -> list[object]:
    """The replies of a packet of `count` commands answered by `pieces`."""
    asked = asyncio.create_task(link.roundtrip(b"packet", count))
    await asyncio.sleep(0)
    for piece in pieces:
        link.data_received(piece)
    return await asked


async def test_a_packet_gets_its_replies_in_order_however_they_are_cut(link):
    stream = b"+OK\r\n:7\r\n$5\r\nhello\r\n*2\r\n:1\r\n$-1\r\n"
    pieces = [stream[n : n + 1] for n in range(len(stream))]
    assert await answered(link, 4, *pieces) == [b"OK", 7, b"hello", [1, None]]


async def test_a_later_packet_gets_its_own_replies(link):
    assert await answered(link, 1, b":1\r\n") == [1]
    assert await answered(link, 2, b":2\r\n:3\r\n") == [2, 3]


async def test_an_error_reply_is_one_of_the_replies(link):
    refused, fine = await answered(link, 2, b"-WRONGTYPE not a stream\r\n:1\r\n")
    assert isinstance(refused, ResponseError)
    assert fine == 1


async def test_what_a_server_pushes_is_no_reply(link):
    assert await answered(link, 1, b">2\r\n+invalidate\r\n*1\r\n+k\r\n", b":1\r\n") == [1]


async def test_a_server_that_refuses_to_serve_ends_the_link(link):
    with pytest.raises(BusyLoadingError):
        await answered(link, 1, b"-LOADING Redis is loading the dataset in memory\r\n")
    assert link.has_ended


async def test_bytes_that_are_no_reply_end_the_link(link):
    with pytest.raises(InvalidResponse):
        await answered(link, 1, b"HTTP/1.1 400 Bad Request\r\n")
    assert link.has_ended


async def test_a_reply_nobody_waits_for_ends_the_link(link):
    link.data_received(b":1\r\n")
    assert link.has_ended
    with pytest.raises(InvalidResponse):
        await link.roundtrip(b"packet", 1)


async def test_more_replies_than_commands_end_the_link_for_the_next_packet(link):
    with pytest.raises(InvalidResponse):
        await answered(link, 1, b":1\r\n:2\r\n")
    assert link.has_ended


async def test_a_lost_connection_fails_the_packet_under_way_and_each_later_one(link):
    asked = asyncio.create_task(link.roundtrip(b"packet", 1))
    await asyncio.sleep(0)
    link.connection_lost(None)
    with pytest.raises(RedisConnectionError):
        await asked
    assert link.has_ended
    with pytest.raises(RedisConnectionError):
        await link.roundtrip(b"packet", 1)


async def test_a_reply_behind_a_cancelled_packet_harms_nobody(link):
    asked = asyncio.create_task(link.roundtrip(b"packet", 1))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    link.data_received(b":1\r\n")
