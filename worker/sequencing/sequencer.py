"""Inbox → logs: exactly once, in order, one worker at a time.

Appending an event and removing its inbox entry is one transaction fenced by the lease, so a crash
or a second worker at any point neither loses, repeats nor reorders anything. After a broken
connection the lease is rotated first: what was on its way is then done or void, and the inbox
says which.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Final

from streams.clock import Clock
from streams.committing.commit import Committer
from streams.errors import LeaseLost, StoreUnavailable
from streams.keys import Keys
from streams.lease import Acquired, Lease
from streams.pausing import pause
from streams.wire import Wire

from .commit import InboxCommitter, InboxPolicy, Sequenced
from .losses import InboxLosses, Loss
from .page import POISON, Page, Rejected
from .reader import InboxReader, PagePolicy
from .suspects import Suspects

LEASE: Final = "sequencer"


@dataclass(frozen=True, slots=True)
class SequencerPolicy:
    """Bounds of the sequencer; see the settings of the same names."""

    inbox: InboxPolicy = field(default_factory=InboxPolicy)
    page: PagePolicy = field(default_factory=PagePolicy)
    lease_ttl_ms: int = 10_000
    owner: str = ""
    poison_attempts: int = 5
    block_ms: int = 1_000
    acquire_every_s: float = 0.5


class Sequencer:
    """Takes the inbox of one tenant in pages. One `run_once` at a time."""

    def __init__(
        self, wire: Wire, committer: Committer, keys: Keys, policy: SequencerPolicy, clock: Clock
    ) -> None:
        self._wire, self._policy, self._clock = wire, policy, clock
        self._lease = Lease(
            wire,
            keys,
            LEASE,
            ttl_ms=policy.lease_ttl_ms,
            marks=keys.attempts,
            owner=policy.owner,
        )
        self._inbox = InboxReader(wire, keys, policy.page, policy.inbox.limits, clock)
        self._commits = InboxCommitter(
            wire,
            committer,
            self._lease,
            keys,
            policy=policy.inbox,
            clock=clock,
            left_out=self._inbox.left_out,
        )
        self._losses = InboxLosses(wire, self._lease, keys, clock)
        # A dead worker may have died of the page it read ahead of the one it committed.
        most_entries = 2 * policy.page.entries
        self._suspects = Suspects(wire, self._lease, keys, most_entries=most_entries)
        self._renewed_ms = 0
        self._unsettled = False
        self._told_held = False
        self._poison_waits = False  # for room among the dead letters: nobody may decode it

    @property
    def held(self) -> bool:
        """Whether this worker sequences the tenant."""
        return self._lease.held

    @property
    def in_hand(self) -> int:
        """Events taken from the inbox and not yet in their logs."""
        return self._commits.in_hand

    async def run_once(self) -> Sequenced:
        """Sequence one page, if the lease can be had; never waits for entries.

        Raises `StoreUnavailable`: nothing is lost, call again after a pause.
        """
        facts = Sequenced()
        try:
            await self._settle()
            if not self._lease.held and not await self._acquire(facts):
                return Sequenced(held=False)
            await self._renew()
            _note(await self._losses.look(), facts)
            if self._suspects.careful:
                await self._careful_entry(facts)
            else:
                await self._page(facts)
            self._losses.took(facts.taken_out)
        except LeaseLost:
            self._losses.unsure()
            facts.held, facts.lease, self._told_held = False, "lost", False
        except BaseException:  # cancelled, too: a commit may be on its way
            self._losses.unsure()
            self._unsettled = True
            raise
        if facts.held and not self._told_held:
            facts.lease, self._told_held = "acquired", True
        return facts

    async def wait(self, stop: asyncio.Event) -> None:
        """Until the inbox may hold something new, the lease may be had, or a while has passed."""
        if not self._lease.held:
            await pause(stop, self._policy.acquire_every_s)
            return
        if stop.is_set():
            return
        try:
            block_ms = min(self._policy.block_ms, self._policy.lease_ttl_ms // 3)
            await self._inbox.wait(block_ms=block_ms)
        except StoreUnavailable:
            self._unsettled = True
            raise

    async def release(self) -> None:
        """Give up the lease, so that another worker goes on at once."""
        if self._lease.held:
            await self._settle()
            with contextlib.suppress(LeaseLost):
                await self._losses.close()
            await self._lease.release()

    async def close(self) -> None:
        """Close the connections."""
        await self._inbox.close()
        await self._wire.close()

    async def _settle(self) -> None:
        """After a broken connection: void what may still be on its way; keep what was torn."""
        await self._commits.save_orphans()
        if self._unsettled and self._lease.held:
            await self._lease.rotate()
            self._renewed_ms = self._clock()
            self._inbox.restart()
            await self._suspects.survived_a_failure()
        self._unsettled = False

    async def _acquire(self, facts: Sequenced) -> bool:
        how = await self._lease.acquire()
        if how is Acquired.NO:
            return False
        self._renewed_ms = self._clock()
        self._inbox.restart()
        self._suspects.begin()
        if how is Acquired.LAPSED:
            await self._suspects.follow_the_dead(await self._inbox.first())
        _note(await self._losses.begin(), facts)
        return True

    async def _renew(self) -> None:
        """Renew the lease where no commit has done it lately; never between WATCH and EXEC."""
        since_ms = self._clock() - self._renewed_ms
        if not 0 <= since_ms <= self._policy.lease_ttl_ms // 4:  # below 0: the clock was set back
            await self._lease.renew()
            self._renewed_ms = self._clock()

    async def _page(self, facts: Sequenced) -> None:
        page = await self._inbox.page()
        if not page.entries:
            await self._end_pass()
            return
        self._inbox.read_ahead(page)
        await self._commits.sequence(page, facts)
        if facts.events:
            self._renewed_ms = self._clock()  # every commit renews the lease
        self._pass(page, facts)

    async def _careful_entry(self, facts: Sequenced) -> None:
        """One entry, counted before it is decoded: the one that kills workers gives itself away."""
        page = await self._inbox.entry()
        if not page.entries:
            await self._end_pass()
            return
        entry = page.entries[0]
        attempts = await self._suspects.count(entry[0])
        if attempts >= self._policy.poison_attempts:
            reason = f"its worker died {attempts} times before it was recorded"
            self._suspects.convicted()
            await self._commits.bury([Rejected(entry, reason, POISON, attempts)], facts)
            self._poison_waits = facts.dead_full
        else:
            await self._commits.sequence(page, facts)
            await self._suspects.survived()
        if facts.taken_out:  # what stays in the inbox is met again, and stands before others
            self._suspects.careful -= 1
        self._pass(page, facts)

    def _pass(self, page: Page, facts: Sequenced) -> None:
        self._inbox.passed(page)
        if facts.dead_full:
            self._inbox.leave_behind()
        facts.more = True

    async def _end_pass(self) -> None:
        """Nothing more behind the cursor: whatever was met, nobody died of it."""
        if not self._inbox.holds_back:
            self._inbox.restart()
        if not self._poison_waits:
            await self._suspects.clear()


def _note(loss: Loss | None, facts: Sequenced) -> None:
    if loss is not None:
        facts.lost[loss.reason] += loss.entries
