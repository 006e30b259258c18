"""How a subscription begins and how it ends, whatever it reads in between."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Self

from streams.errors import UsageError

from .roster import Counted, Roster


class Lifecycle(Counted):
    """An async context manager and iterator that begins once and ends once.

    It begins when its `async with` is entered, or else with the first item asked for: `__anext__`
    calls `_begin` unless it has `_begun`. Once `_stop` is set, by `close` alone, it ends.
    """

    def __init__(self, name: str, roster: Roster, stop: asyncio.Event, *, readers: int = 0) -> None:
        self.name = name
        self._roster, self._readers, self._stop = roster, readers, stop
        self._begun, self._beginning = False, asyncio.Lock()

    @abstractmethod
    async def _enter(self) -> None:
        """Take a place among others. Where it fails or is cancelled, `_leave` is called."""

    @abstractmethod
    async def _leave(self) -> None:
        """Stop what runs, and give back whatever `_enter` took up to where it came."""

    async def _let_go(self) -> None:
        """Close what the last report may have asked."""

    async def close(self) -> None:
        """End the iteration; safe to repeat."""
        if self._stop.is_set():
            return
        self._stop.set()
        async with self._beginning:  # one that is under way comes to its end first
            if self._begun:
                await self._leave()
        await self._roster.ended(self)
        await self._let_go()

    async def __aenter__(self) -> Self:
        if self._stop.is_set():
            raise UsageError("this subscription is closed: subscribe again")
        try:
            await self._begin()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def _begin(self) -> None:
        """Once. What fails, or is cancelled on the way, is undone and can be tried again."""
        async with self._beginning:
            if self._begun or self._stop.is_set():
                return
            self._roster.admit(self, readers=self._readers)
            try:
                await self._enter()
            except BaseException:
                await self._leave()
                self._roster.dismiss(self)
                raise
            self._begun = True
        await self._roster.begun(self)
