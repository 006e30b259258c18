"""Walks a tenant's inbox page by page, and waits for more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from streams.clock import Clock
from streams.codec import Limits
from streams.keys import Keys
from streams.wire import Command, Wire, checked

from .page import Entry, Page, PageSorter

_UNKNOWN_COUNT: Final = 100
_SAMPLE_EVERY: Final = 10
_START: Final = b"-"
_BLOCK_MARGIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class PagePolicy:
    """Bounds of a page; `pass_ms` is how long a stream left behind is left out at most."""

    entries: int = 500
    bytes: int = 16 * 1024 * 1024
    pass_ms: int = 60_000


class InboxReader:
    """A cursor over the inbox. A pass begins at its start and ends where nothing follows.

    Entries of `left_out` streams stay in the inbox, and so do bad ones that the dead stream has
    no room for; the pass goes on behind them, and the next one takes them up again.
    """

    def __init__(
        self, wire: Wire, keys: Keys, policy: PagePolicy, limits: Limits, clock: Clock
    ) -> None:
        self._wire, self._ahead_wire = wire, wire.sibling()
        self._keys, self._policy, self._limits, self._clock = keys, policy, limits, clock
        self.left_out: set[str] = set()
        self._left_behind = False
        self._cursor = _START
        self._pass_began_ms = 0
        self._count, self._pages_to_sample = _UNKNOWN_COUNT, 0
        self._ahead: tuple[bytes, asyncio.Task[Page]] | None = None
        self._dropped: asyncio.Task[Page] | None = None

    async def first(self) -> Entry | None:
        """The oldest entry of the inbox, wherever the cursor is."""
        page = await self._read(self._wire, _START, 1)
        return page[0] if page else None

    async def page(self) -> Page:
        """The entries behind the cursor; none at the end of the pass."""
        self._watch_pass()
        if self._ahead is not None and self._ahead[0] == self._cursor:
            (_, reading), self._ahead = self._ahead, None
            return await reading
        self._drop_ahead()
        return Page(await self._next(self._wire, self._cursor))

    async def entry(self) -> Page:
        """The one entry behind the cursor, not parsed; none at the end of the pass."""
        self._watch_pass()
        return Page(await self._read(self._wire, self._cursor, 1))

    def read_ahead(self, page: Page) -> None:
        """Begin to read and parse what follows a full `page`, while that one is committed."""
        if len(page.entries) >= self._count and self._ahead_is_free():
            start = _behind(page)
            self._ahead = (start, asyncio.create_task(self._parsed(start)))

    def passed(self, page: Page) -> None:
        """The entries of `page` have been dealt with: go on behind them."""
        self._cursor = _behind(page)

    @property
    def holds_back(self) -> bool:
        """Whether this pass has left entries in the inbox."""
        return self._left_behind or bool(self.left_out)

    def leave_behind(self) -> None:
        """Entries were passed that had to stay, whatever their stream."""
        self._left_behind = True

    def restart(self) -> None:
        """Begin a new pass."""
        self._drop_ahead()
        self._left_behind = False
        self._cursor, self._pass_began_ms = _START, self._clock()
        self.left_out.clear()

    async def wait(self, *, block_ms: int) -> None:
        """Wake at the next XADD, at the latest after `block_ms`.

        Entries left behind would wake it at once, so it waits behind them.
        """
        after = self._cursor.lstrip(b"(") if self.holds_back else _START
        command: Command = (
            *("XREAD", "COUNT", 1, "BLOCK", block_ms),
            *("STREAMS", self._keys.inbox, b"0-0" if after == _START else after),
        )
        timeout_s = block_ms / 1000 + _BLOCK_MARGIN_S
        (reply,) = await self._wire.exchange([command], timeout_s=timeout_s)
        checked(reply)

    async def close(self) -> None:
        """Close the connection for reading ahead; the other belongs to the caller."""
        self._drop_ahead()
        if self._dropped is not None:
            await asyncio.wait([self._dropped])
        await self._ahead_wire.close()

    def _watch_pass(self) -> None:
        """Begin anew where entries have been held back for long."""
        since_ms = self._clock() - self._pass_began_ms
        if self.holds_back and not 0 <= since_ms <= self._policy.pass_ms:
            self.restart()  # below 0: the clock was set back

    async def _parsed(self, start: bytes) -> Page:
        entries = await self._next(self._ahead_wire, start)
        return Page(entries, PageSorter(entries, self._limits, self._keys))

    async def _next(self, wire: Wire, start: bytes) -> list[Entry]:
        page = await self._read(wire, start, await self._page_count(wire))
        size = sum(sum(map(len, fields)) for _, fields in page)
        if size > self._policy.bytes:
            self._count = max(1, len(page) // 2)
        return page

    async def _read(self, wire: Wire, start: bytes, count: int) -> list[Entry]:
        command: Command = ("XRANGE", self._keys.inbox, start, "+", "COUNT", count)
        (reply,) = await wire.exchange([command])
        page: list[Entry] = checked(reply)
        return page

    async def _page_count(self, wire: Wire) -> int:
        """Entries to read at once, so that a page has about as many bytes as the policy says."""
        if self._pages_to_sample <= 0:
            self._pages_to_sample = _SAMPLE_EVERY
            inbox = self._keys.inbox
            usage, length = await wire.exchange([("MEMORY", "USAGE", inbox), ("XLEN", inbox)])
            self._count = min(_UNKNOWN_COUNT, self._policy.entries)
            if isinstance(usage, int) and isinstance(length, int) and length:
                fitting = self._policy.bytes * length // max(usage, 1)
                self._count = max(1, min(self._policy.entries, fitting))
        self._pages_to_sample -= 1
        return self._count

    def _drop_ahead(self) -> None:
        """Give up what is being read ahead; until that has ended, its wire is taken."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            self._dropped = ahead[1]
            self._dropped.cancel()
            self._dropped.add_done_callback(_forget)

    def _ahead_is_free(self) -> bool:
        return self._dropped is None or self._dropped.done()


def _behind(page: Page) -> bytes:
    """The start of what follows `page`."""
    return b"(" + page.entries[-1][0]


def _forget(task: asyncio.Task[Page]) -> None:
    """Nobody wants the outcome of a dropped reading, nor to hear of its failure."""
    if not task.cancelled():
        task.exception()
