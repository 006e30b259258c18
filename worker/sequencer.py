"""Inbox → logs: exactly once, in order, one worker at a time.

Appending an event and removing its inbox entry is one transaction fenced by the lease, so a crash
or a second worker at any point neither loses, repeats nor reorders anything. After a broken
connection the lease is rotated first: what was on its way is then done or void, and the inbox
says which.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from streams.clock import Clock
from streams.codec import Limits
from streams.commit import Committer, Outcome, TornCommit
from streams.errors import AresError, ConflictError, LeaseLost, StoreUnavailable, StreamCorrupted
from streams.keys import Keys
from streams.lease import Acquired, Lease
from streams.plan import BatchLimits, split_batches
from streams.wire import Command, Wire, checked

from .inbox_page import (
    POISON,
    Entry,
    PageSorter,
    Rejected,
    SortedPage,
    StreamPage,
    append_of,
    dead_letter,
    split_stream,
)

LEASE: Final = "sequencer"

_UNKNOWN_COUNT: Final = 100
_SAMPLE_EVERY: Final = 10
_START: Final = b"-"
_BLOCK_MARGIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class SequencerPolicy:
    """Bounds of the sequencer; see the settings of the same names."""

    page: int = 500
    max_page_bytes: int = 16 * 1024 * 1024
    lease_ttl_ms: int = 10_000
    seen_window_s: int = 3600
    poison_attempts: int = 5
    dead_max: int = 100_000
    pass_ms: int = 60_000
    block_ms: int = 1_000
    acquire_every_s: float = 0.5


@dataclass(slots=True)
class Sequenced:
    """Facts of one `run_once`; `delays_ms` are XADD-to-log times, one an event.

    `lease` is acquired or lost where that changed; `more` says that the inbox may hold more.
    """

    held: bool = True
    lease: str = ""
    events: int = 0
    repeats: int = 0
    dead: Counter[str] = field(default_factory=Counter)
    dead_full: bool = False
    quarantined: dict[str, str] = field(default_factory=dict)
    delays_ms: list[int] = field(default_factory=list)
    more: bool = False


class Sequencer:
    """Takes the inbox of one tenant in pages. One `run_once` at a time."""

    def __init__(
        self,
        wire: Wire,
        committer: Committer,
        keys: Keys,
        *,
        limits: Limits,
        batch: BatchLimits,
        policy: SequencerPolicy,
        clock: Clock,
    ) -> None:
        self._wire, self._committer, self._keys = wire, committer, keys
        self._limits, self._batch, self._policy, self._clock = limits, batch, policy, clock
        self._lease = Lease(wire, keys, LEASE, ttl_ms=policy.lease_ttl_ms, marks=keys.attempts)
        self._renewed_ms = 0
        self._cursor = _START
        self._pass_began_ms = 0
        self._left_out: set[str] = set()
        self._count, self._pages_to_sample = _UNKNOWN_COUNT, 0
        self._unsettled = False
        self._suspicious = False
        self._careful = 0
        self._orphans: list[Command] = []

    @property
    def held(self) -> bool:
        """Whether this worker sequences the tenant."""
        return self._lease.held

    async def run_once(self) -> Sequenced:
        """Sequence one page, if the lease can be had; never waits for entries.

        Raises `StoreUnavailable`: nothing is lost, call again after a pause.
        """
        facts = Sequenced()
        try:
            await self._settle()
            if not self._lease.held and not await self._acquire(facts):
                return Sequenced(held=False)
            if self._careful:
                await self._careful_entry(facts)
            else:
                await self._page(facts)
        except LeaseLost:
            facts.held, facts.lease = False, "lost"
        except StoreUnavailable:
            self._unsettled = True
            raise
        return facts

    async def wait(self, stop: asyncio.Event) -> None:
        """Until the inbox may hold something new, the lease may be had, or a while has passed."""
        if not self._lease.held:
            try:
                async with asyncio.timeout(self._policy.acquire_every_s):
                    await stop.wait()
            except TimeoutError:
                return
        if self._lease.held and not stop.is_set():
            await self._block()

    async def release(self) -> None:
        """Give up the lease, so that another worker goes on at once."""
        if self._lease.held:
            await self._settle()
            await self._lease.release()

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _block(self) -> None:
        """Wake at the next XADD. Entries left behind would wake it at once, so wait behind them."""
        after = self._cursor.lstrip(b"(") if self._left_out else b"0-0"
        block_ms = min(self._policy.block_ms, self._policy.lease_ttl_ms // 3)
        command: Command = (
            *("XREAD", "COUNT", 1, "BLOCK", block_ms),
            *("STREAMS", self._keys.inbox, b"0-0" if after == _START else after),
        )
        try:
            timeout_s = block_ms / 1000 + _BLOCK_MARGIN_S
            (reply,) = await self._wire.exchange([command], timeout_s=timeout_s)
            checked(reply)
        except StoreUnavailable:
            self._unsettled = True
            raise

    async def _settle(self) -> None:
        """After a broken connection: void what may still be on its way; keep what was torn."""
        if self._orphans:
            for reply in await self._wire.exchange(self._orphans):
                checked(reply)
            self._orphans.clear()
        if self._unsettled and self._lease.held:
            await self._lease.rotate()
            self._renewed_ms = self._clock()
            self._restart_pass()
        self._unsettled = False

    async def _acquire(self, facts: Sequenced) -> bool:
        how = await self._lease.acquire()
        if how is Acquired.NO:
            return False
        facts.lease = "acquired"
        self._renewed_ms = self._clock()
        self._restart_pass()
        self._careful = 0
        if how is Acquired.LAPSED:
            await self._suspect()
        return True

    async def _suspect(self) -> None:
        """The last holder died: its page may have killed it. Count that against its first id."""
        self._suspicious = True
        page = await self._read(_START, 1)
        if page and await self._count_attempt(page[0][0]) >= 2:
            self._careful = self._policy.page

    async def _count_attempt(self, entry_id: bytes) -> int:
        command: Command = ("HINCRBY", self._keys.attempts, entry_id, 1)
        (attempts,) = await self._lease.transaction([command])
        return int(attempts)

    async def _careful_entry(self, facts: Sequenced) -> None:
        """One entry, counted before it is decoded: the one that kills workers gives itself away."""
        self._careful -= 1
        page = await self._read(self._cursor, 1)
        if not page:
            self._careful = 0
            await self._end_pass()
            return
        attempts = await self._count_attempt(page[0][0])
        if attempts >= self._policy.poison_attempts:
            reason = f"its worker died {attempts} times before it was recorded"
            await self._bury([Rejected(page[0], reason, POISON, attempts)], facts)
        else:
            await self._sequence(page, facts)
        self._cursor = b"(" + page[0][0]
        facts.more = True

    async def _page(self, facts: Sequenced) -> None:
        now_ms = self._clock()
        if self._left_out and now_ms - self._pass_began_ms > self._policy.pass_ms:
            self._restart_pass()
        page = await self._read(self._cursor, await self._page_count())
        if not page:
            await self._end_pass()
            return
        await self._sequence(page, facts)
        self._cursor = b"(" + page[-1][0]
        facts.more = True

    async def _end_pass(self) -> None:
        """Nothing more behind the cursor."""
        if not self._left_out:
            self._restart_pass()
            if self._suspicious:
                await self._clear_suspicion()
        if self._clock() - self._renewed_ms > self._policy.lease_ttl_ms // 4:
            await self._lease.renew()
            self._renewed_ms = self._clock()

    async def _clear_suspicion(self) -> None:
        """The inbox is empty: whatever was suspected is sequenced or buried."""
        attempts = self._keys.attempts
        token = self._lease.guard.token
        await self._lease.transaction([("DEL", attempts), ("HSET", attempts, "holder", token)])
        self._suspicious = False

    def _restart_pass(self) -> None:
        self._cursor, self._pass_began_ms = _START, self._clock()
        self._left_out.clear()

    async def _read(self, start: bytes, count: int) -> list[Entry]:
        command: Command = ("XRANGE", self._keys.inbox, start, "+", "COUNT", count)
        (reply,) = await self._wire.exchange([command])
        page: list[Entry] = checked(reply)
        size = sum(len(value) for _, fields in page for value in fields)
        if size > self._policy.max_page_bytes:
            self._count = max(1, len(page) // 2)
        return page

    async def _page_count(self) -> int:
        """Entries to read at once, so that a page has about `max_page_bytes`."""
        if self._pages_to_sample <= 0:
            self._pages_to_sample = _SAMPLE_EVERY
            inbox = self._keys.inbox
            usage, length = await self._wire.exchange([("MEMORY", "USAGE", inbox), ("XLEN", inbox)])
            self._count = _UNKNOWN_COUNT
            if isinstance(usage, int) and isinstance(length, int) and length:
                fitting = self._policy.max_page_bytes * length // max(usage, 1)
                self._count = max(1, min(self._policy.page, fitting))
        self._pages_to_sample -= 1
        return min(self._count, self._policy.page)

    async def _sequence(self, page: Sequence[Entry], facts: Sequenced) -> None:
        sorter = PageSorter(page, self._limits, self._keys)
        seen: list[bytes] = []
        if keys := sorter.seen_keys:
            (values,) = await self._wire.exchange([("MGET", *keys)])
            found = zip(keys, checked(values), strict=True)
            seen = [key for key, value in found if value is not None]
        sorted_page = sorter.finish(seen, self._left_out)
        await self._commit(sorted_page, facts)
        await self._bury(sorted_page.rejected, facts)

    async def _commit(self, page: SortedPage, facts: Sequenced) -> None:
        repeats: list[bytes] = []
        pieces: list[StreamPage] = []
        for stream in page.streams.values():
            facts.repeats += len(stream.repeats)
            if stream.events:
                pieces += split_stream(stream, self._batch)
            else:
                repeats += stream.repeats
        if repeats:
            await self._lease.transaction([("XDEL", self._keys.inbox, *repeats)])
        window_s = self._policy.seen_window_s
        appends = [append_of(piece, self._keys, window_s=window_s) for piece in pieces]
        remaining = iter(pieces)
        for batch in split_batches(appends, self._batch):
            chosen = [next(remaining) for _ in batch]
            live = [
                (append, piece)
                for append, piece in zip(batch, chosen, strict=True)
                if piece.stream not in self._left_out
            ]
            if live:
                guard = self._lease.guard
                outcomes = await self._committer.commit([append for append, _ in live], guard=guard)
                await self._take_outcomes([piece for _, piece in live], outcomes, facts)

    async def _take_outcomes(
        self, pieces: Sequence[StreamPage], outcomes: Sequence[Outcome], facts: Sequenced
    ) -> None:
        """Turn outcomes into facts; raises the failure of lease or connection last of all."""
        now_ms = self._clock()
        self._renewed_ms = now_ms
        failure: AresError | None = None
        for piece, outcome in zip(pieces, outcomes, strict=True):
            if isinstance(outcome, int):
                facts.events += len(piece.events)
                facts.delays_ms += [
                    max(0, now_ms - int(name.partition(b"-")[0])) for name, _ in piece.entries
                ]
            elif isinstance(outcome, LeaseLost | StoreUnavailable):
                failure = outcome
            else:
                self._leave_out(piece, outcome, facts)
        if self._orphans:
            await self._settle()
        if isinstance(failure, LeaseLost):
            self._lease.forget()
        if failure is not None:
            raise failure

    def _leave_out(self, piece: StreamPage, outcome: AresError, facts: Sequenced) -> None:
        """A stream that can't take its events now; its neighbours go on."""
        self._left_out.add(piece.stream)
        if isinstance(outcome, StreamCorrupted):
            facts.quarantined[piece.stream] = outcome.reason
        elif not isinstance(outcome, ConflictError):
            raise outcome
        if isinstance(outcome, TornCommit):
            # The inbox has let go of these entries already: only this memory holds them.
            now_ms = self._clock()
            for entry in piece.entries:
                rejected = Rejected(entry, str(outcome), POISON)
                self._orphans.append(dead_letter(rejected, self._keys, now_ms=now_ms))
            facts.dead[POISON] += len(piece.entries)

    async def _bury(self, rejected: Sequence[Rejected], facts: Sequenced) -> None:
        """Move bad entries to the dead stream, one transaction each; leave them when it is full."""
        if not rejected:
            return
        (length,) = await self._wire.exchange([("XLEN", self._keys.dead)])
        room = self._policy.dead_max - int(checked(length))
        facts.dead_full = room < len(rejected)
        now_ms = self._clock()
        for item in rejected[: max(room, 0)]:
            entry_id = item.entry[0]
            await self._lease.transaction(
                [
                    dead_letter(item, self._keys, now_ms=now_ms),
                    ("XDEL", self._keys.inbox, entry_id),
                    ("HDEL", self._keys.attempts, entry_id),
                ]
            )
            facts.dead[item.code] += 1
