"""The parts of a worker: each runs one component of one tenant, step by step."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from streams.errors import AresError, TransientError
from streams.pausing import pause
from worker.archiving.archiver import APPEAR_S, Archiver
from worker.compacting.compactor import Compactor
from worker.sequencing.sequencer import Sequencer
from worker.upkeep.janitor import Janitor
from worker.upkeep.relief import Relief

from .reporter import TenantReporter

_MOST_DUE: Final = 10_000
_LOOK_AT_MEMORY_S: Final = 1.0


class DueStreams:
    """Streams with more events than the threshold, waiting for compaction; bounded.

    What doesn't fit is found again by the scan.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._due: OrderedDict[str, None] = OrderedDict()
        self.added = asyncio.Event()

    def note(self, unfolded: Mapping[str, int]) -> None:
        """Take on those of `unfolded` (stream → events not compacted) that are over."""
        for stream, events in unfolded.items():
            if events > self._threshold and len(self._due) < _MOST_DUE:
                self._due[stream] = None
                self.added.set()

    def again(self, stream: str) -> None:
        """Put a stream back at the end of the line."""
        self._due[stream] = None

    def take(self) -> str | None:
        """The stream that has waited longest."""
        if not self._due:
            self.added.clear()
            return None
        return self._due.popitem(last=False)[0]


class SequencerPart:
    """Inbox → logs."""

    def __init__(self, sequencer: Sequencer, reporter: TenantReporter) -> None:
        self._sequencer, self._reporter = sequencer, reporter
        self.name = f"sequencer {reporter.tenant}"

    @property
    def held(self) -> bool:
        """Whether this worker sequences the tenant."""
        return self._sequencer.held

    @property
    def in_hand(self) -> int:
        """Events being sequenced."""
        return self._sequencer.in_hand

    async def work(self) -> bool:
        """Sequence one page."""
        facts = await self._sequencer.run_once()
        self._reporter.sequenced(facts)
        return facts.more

    async def rest(self, stop: asyncio.Event) -> None:
        """Until something is XADDed, or the lease may be had."""
        await self._sequencer.wait(stop)

    async def close(self) -> None:
        """Release the lease, so that another worker goes on at once."""
        try:
            await self._sequencer.release()
            self._reporter.released()
        finally:
            await self._sequencer.close()


class ArchiverPart:
    """Feed → round files. `failures` are those of the last step, by stream."""

    def __init__(self, archiver: Archiver, reporter: TenantReporter, due: DueStreams) -> None:
        self._archiver, self._reporter, self._due = archiver, reporter, due
        self._started = self._block = False
        self._appeared_s = -math.inf
        self.name = f"archiver {reporter.tenant}"
        self.failures: dict[str, AresError] = {}

    @property
    def in_hand(self) -> int:
        """Events being archived."""
        return self._archiver.in_hand

    async def work(self) -> bool:
        """Archive one batch of feed entries, waiting for it when the last call found none."""
        if not self._started:
            await self._archiver.start()
            self._started = True
        if time.monotonic() - self._appeared_s >= APPEAR_S:
            await self._archiver.appear()
            self._appeared_s = time.monotonic()
        facts = await self._archiver.run_once(block=self._block)
        self._reporter.archiver(facts)
        self._due.note(facts.archived.unfolded)
        self.failures = facts.archived.failures
        if facts.blocked is not None:
            raise facts.blocked
        self._block = not facts.more
        return facts.more

    async def rest(self, stop: asyncio.Event) -> None:
        """Nothing to wait for here: the next read blocks until the feed has something."""

    async def close(self) -> None:
        """Leave the group and close the connections."""
        await self._archiver.close()


class CompactionPart:
    """Compaction of the streams that are due. `failures` are those of the last step."""

    def __init__(self, compactor: Compactor, reporter: TenantReporter, due: DueStreams) -> None:
        self._compactor, self._reporter, self._due = compactor, reporter, due
        self.name = f"compactor {reporter.tenant}"
        self.failures: dict[str, AresError] = {}

    async def work(self) -> bool:
        """Compact one window of one stream."""
        self.failures = {}
        stream = self._due.take()
        if stream is None:
            return False
        began = time.perf_counter()
        try:
            done = await self._compactor.compact(stream)
        except AresError as exc:
            seconds = time.perf_counter() - began
            self._reporter.not_compacted(stream, exc, seconds=seconds)
            if isinstance(exc, TransientError):
                raise
            self.failures = {stream: exc}
            return True
        self._reporter.compacted(done, seconds=time.perf_counter() - began)
        if done.more:
            self._due.again(stream)
        return True

    async def rest(self, stop: asyncio.Event) -> None:
        """Until a stream is due."""
        waits = [asyncio.create_task(event.wait()) for event in (stop, self._due.added)]
        try:
            await asyncio.wait(waits, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def close(self) -> None:
        """Close the connection."""
        await self._compactor.close()


class ReliefPart:
    """Memory, while Redis is short of it. `failures` are those of the last step, by stream."""

    def __init__(self, relief: Relief, reporter: TenantReporter) -> None:
        self._relief, self._reporter = relief, reporter
        self.name = f"relief {reporter.tenant}"
        self.failures: dict[str, AresError] = {}
        self._stuck = ""
        self._refused = False

    def refused(self) -> None:
        """Redis has refused a write for want of memory: free some, whatever it says of it."""
        self._refused = True

    async def work(self) -> bool:
        """Free what one page of streams gives."""
        relieved = await self._relief.run_once(refused=self._refused)
        if relieved.ended:
            self._refused = False
        if relieved.ended or relieved.events or not relieved.short:
            self._stuck = relieved.stuck
        self._reporter.relieved(relieved)
        self.failures = relieved.failures
        return relieved.more

    def why_stuck(self) -> str | None:
        """For readiness: why Redis stays full; None when it has room, or is getting some."""
        return self._stuck or None

    async def rest(self, stop: asyncio.Event) -> None:
        """Until the next look at Redis' memory."""
        await pause(stop, _LOOK_AT_MEMORY_S)

    async def close(self) -> None:
        """Close the connection."""
        await self._relief.close()


class JanitorPart:
    """The slow round through the tenant. `failures` are those of the last round, by stream."""

    def __init__(
        self, janitor: Janitor, reporter: TenantReporter, due: DueStreams, *, interval_s: float
    ) -> None:
        self._janitor, self._reporter, self._due = janitor, reporter, due
        self._interval_s = interval_s
        self.name = f"janitor {reporter.tenant}"
        self.failures: dict[str, AresError] = {}

    async def work(self) -> bool:
        """One round, if no other worker is at it."""
        tidied = await self._janitor.run_once()
        self._reporter.tidied(tidied)
        self._due.note(tidied.archived.unfolded)
        self.failures = tidied.archived.failures
        _raise_transient(self.failures.values())
        return False

    async def rest(self, stop: asyncio.Event) -> None:
        """Until the next round is due."""
        await self._janitor.rest(stop, self._interval_s)

    async def close(self) -> None:
        """Let another worker go on."""
        try:
            await self._janitor.release()
        finally:
            await self._janitor.close()


def _raise_transient(failures: Iterable[AresError]) -> None:
    """Raise what makes a pause worth while, if there is any."""
    for failure in failures:
        if isinstance(failure, TransientError):
            raise failure
