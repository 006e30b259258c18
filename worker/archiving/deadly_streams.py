"""Finds the stream whose archiving kills its worker, by counts that outlive the worker.

Who takes up what a dead worker left archives stream by stream, and counts each before it touches
it: who is alive afterwards takes the count back, so only the killer's grows. Past its limit a
stream is set aside, by every worker, until nobody has died of it for a day.
"""

from __future__ import annotations

from typing import Final

from streams.clock import Clock
from streams.errors import StoreFull, StreamCorrupted
from streams.keys import Keys
from streams.wire import Command, Wire, as_map, checked, exec_replies

_FORGET_S: Final = 86_400
_LOOK_EVERY_MS: Final = 10_000


class DeadlyStream(StreamCorrupted):
    """Archiving it has killed worker after worker; its events stay in its log."""

    def __init__(self, stream: str, deaths: int) -> None:
        super().__init__(stream, f"its worker died {deaths} times while archiving it")
        self.deaths = deaths


class DeadlyStreams:
    """Counts of one tenant, kept in Redis."""

    def __init__(self, wire: Wire, keys: Keys, clock: Clock, *, limit: int) -> None:
        self._wire, self._key, self._clock, self._limit = wire, keys.deadly, clock, limit
        self._deaths: dict[str, int] = {}
        self._looked_ms: int | None = None
        self._counted: str | None = None

    async def find(self) -> dict[str, DeadlyStream]:
        """The streams set aside; seldom looks anew."""
        await self._take_back()
        now_ms = self._clock()
        if self._looked_ms is None or not 0 <= now_ms - self._looked_ms < _LOOK_EVERY_MS:
            (found,) = await self._wire.exchange([("HGETALL", self._key)])
            pairs = as_map(checked(found)).items()
            counts = {name.decode(errors="replace"): int(count) for name, count in pairs}
            self._deaths = {name: n for name, n in counts.items() if n >= self._limit}
            self._looked_ms = now_ms
        return {stream: DeadlyStream(stream, deaths) for stream, deaths in self._deaths.items()}

    async def count(self, stream: str) -> None:
        """Count an attempt, before it begins; raises `DeadlyStream` when it must not.

        Where Redis is full it can't be counted, and is made all the same.
        """
        packet: list[Command] = [
            ("MULTI",),
            ("HINCRBY", self._key, stream, 1),
            ("EXPIRE", self._key, _FORGET_S),
            ("EXEC",),
        ]
        try:
            attempts = int(exec_replies(await self._wire.exchange(packet))[0])
        except StoreFull:
            return
        if attempts > self._limit:
            raise DeadlyStream(stream, attempts - 1)
        self._counted = stream

    async def survived(self, stream: str) -> None:
        """The attempt counted last has killed nobody."""
        (reply,) = await self._wire.exchange([("HDEL", self._key, stream)])
        checked(reply)
        self._counted = None

    async def _take_back(self) -> None:
        """An attempt that ended by a failure, of the network say, was none."""
        if self._counted is not None:
            (reply,) = await self._wire.exchange([("HINCRBY", self._key, self._counted, -1)])
            checked(reply)
            self._counted = None
