"""Walks a tenant's inbox page by page, and waits for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from streams.clock import Clock
from streams.keys import Keys
from streams.wire import Command, Wire, checked

from .inbox_page import Entry

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

    def __init__(self, wire: Wire, keys: Keys, policy: PagePolicy, clock: Clock) -> None:
        self._wire, self._inbox, self._policy, self._clock = wire, keys.inbox, policy, clock
        self.left_out: set[str] = set()
        self._left_behind = False
        self._cursor = _START
        self._pass_began_ms = 0
        self._count, self._pages_to_sample = _UNKNOWN_COUNT, 0

    async def first(self) -> Entry | None:
        """The oldest entry of the inbox, wherever the cursor is."""
        page = await self._read(_START, 1)
        return page[0] if page else None

    async def page(self, *, count: int | None = None) -> list[Entry]:
        """The entries behind the cursor; empty at the end of the pass."""
        if self.holds_back:
            since_ms = self._clock() - self._pass_began_ms
            if not 0 <= since_ms <= self._policy.pass_ms:  # below 0: the clock was set back
                self.restart()
        return await self._read(self._cursor, count or await self._page_count())

    def passed(self, page: list[Entry]) -> None:
        """The entries of `page` have been dealt with: go on behind them."""
        self._cursor = b"(" + page[-1][0]

    @property
    def holds_back(self) -> bool:
        """Whether this pass has left entries in the inbox."""
        return self._left_behind or bool(self.left_out)

    def leave_behind(self) -> None:
        """Entries were passed that had to stay, whatever their stream."""
        self._left_behind = True

    def restart(self) -> None:
        """Begin a new pass."""
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
            *("STREAMS", self._inbox, b"0-0" if after == _START else after),
        )
        timeout_s = block_ms / 1000 + _BLOCK_MARGIN_S
        (reply,) = await self._wire.exchange([command], timeout_s=timeout_s)
        checked(reply)

    async def _read(self, start: bytes, count: int) -> list[Entry]:
        command: Command = ("XRANGE", self._inbox, start, "+", "COUNT", count)
        (reply,) = await self._wire.exchange([command])
        page: list[Entry] = checked(reply)
        size = sum(sum(map(len, fields)) for _, fields in page)
        if size > self._policy.bytes:
            self._count = max(1, len(page) // 2)
        return page

    async def _page_count(self) -> int:
        """Entries to read at once, so that a page has about as many bytes as the policy says."""
        if self._pages_to_sample <= 0:
            self._pages_to_sample = _SAMPLE_EVERY
            looks: list[Command] = [("MEMORY", "USAGE", self._inbox), ("XLEN", self._inbox)]
            usage, length = await self._wire.exchange(looks)
            self._count = _UNKNOWN_COUNT
            if isinstance(usage, int) and isinstance(length, int) and length:
                fitting = self._policy.bytes * length // max(usage, 1)
                self._count = max(1, min(self._policy.entries, fitting))
        self._pages_to_sample -= 1
        return min(self._count, self._policy.entries)
