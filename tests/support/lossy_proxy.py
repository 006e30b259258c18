"""A TCP proxy in front of a redis-server that loses, delays and cuts on demand.

It reads whole commands and replies, so a fault hits exactly the command named, whatever
packets it travels in, and a dropped reply belongs to a command Redis has executed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

import hiredis

from .waiting import eventually

_CHUNK: Final = 1 << 16


class Fault(Enum):
    """What happens to a matching command."""

    DROP = "the server executes it, the connection ends before its reply"
    DELAY = "its reply comes late"
    BLACKHOLE = "the connection stays open and carries nothing any more"
    REFUSE = "the connection ends before the server sees it"


@dataclass(slots=True)
class _Rule:
    word: bytes
    fault: Fault
    left: int
    delay_s: float


class LossyProxy:
    """`async with LossyProxy(server.port) as proxy:` then connect to `proxy.url`.

    `hits` counts the faults that happened.
    """

    def __init__(self, upstream_port: int) -> None:
        self.hits = 0
        self._upstream_port = upstream_port
        self._rules: list[_Rule] = []
        self._links: set[_Link] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        self.cut()
        await eventually(lambda: not self._links)

    @property
    def url(self) -> str:
        """Address for `connect`."""
        return f"redis://127.0.0.1:{self.port}/0"

    def fail(self, word: str, fault: Fault, *, times: int = 1, delay_s: float = 0.5) -> None:
        """Let the next `times` commands named `word` (any, when empty) meet `fault`."""
        self._rules.append(_Rule(word.upper().encode(), fault, times, delay_s))

    def heal(self) -> None:
        """Forget every fault still to come. Dead connections stay dead."""
        self._rules.clear()

    def cut(self) -> None:
        """End every connection now."""
        for link in tuple(self._links):
            link.close()

    def fault_for(self, command: list[bytes]) -> _Rule | None:
        """Take one fault for `command` off the list, if there is one for it."""
        for rule in self._rules:
            if rule.left > 0 and (not rule.word or command[0].upper() == rule.word):
                rule.left -= 1
                self.hits += 1
                return rule
        return None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        except OSError:
            writer.close()
            return
        link = _Link(self, (reader, writer), upstream)
        self._links.add(link)
        try:
            await link.relay()
        finally:
            self._links.discard(link)


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One client's connection and its twin to the server."""

    def __init__(self, proxy: LossyProxy, client: _Ends, server: _Ends) -> None:
        self._proxy = proxy
        self._client, self._server = client, server
        self._awaited: deque[_Rule | None] = deque()  # one a command in flight
        self._dead = False

    def close(self) -> None:
        self._client[1].close()
        self._server[1].close()

    async def relay(self) -> None:
        ways = [asyncio.create_task(self._commands()), asyncio.create_task(self._replies())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self.close()

    async def _commands(self) -> None:
        parser = hiredis.Reader()
        while data := await self._client[0].read(_CHUNK):
            parser.feed(data)
            while (command := parser.gets()) is not False:
                rule = self._proxy.fault_for(command)
                if rule and rule.fault is Fault.REFUSE:
                    return
                self._dead = self._dead or (rule is not None and rule.fault is Fault.BLACKHOLE)
                self._awaited.append(rule)
            if not self._dead:
                self._server[1].write(data)
                await self._server[1].drain()

    async def _replies(self) -> None:
        parser = hiredis.Reader()
        while data := await self._server[0].read(_CHUNK):
            parser.feed(data)
            while (reply := parser.gets()) is not False:
                if isinstance(reply, hiredis.PushNotification):
                    continue
                rule = self._awaited.popleft() if self._awaited else None
                if rule and rule.fault is Fault.DROP:
                    return
                if rule and rule.fault is Fault.DELAY:
                    await asyncio.sleep(rule.delay_s)
            if not self._dead:
                self._client[1].write(data)
                await self._client[1].drain()
