"""The parts of a worker: each runs one component and turns its facts into metrics and logs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, cast

from archive.failures import FailureReason
from ops.logs import fields
from ops.metrics import Metrics
from ops.metrics_pipeline import CompactionResult, DeadReason
from streams.errors import AresError, StreamCorrupted, TransientError

from .archiver import Archiver
from .archiving import Archived
from .compactor import Compactor
from .janitor import Janitor
from .runner import pause
from .sequencer import LEASE, Sequencer

_log = logging.getLogger("ares.worker")

_MOST_DUE: Final = 10_000


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
    """Inbox → logs for one tenant."""

    def __init__(self, sequencer: Sequencer, metrics: Metrics, tenant: str) -> None:
        self._sequencer, self._metrics, self._tenant = sequencer, metrics, tenant
        self.name = f"sequencer {tenant}"

    @property
    def held(self) -> bool:
        """Whether this worker sequences the tenant."""
        return self._sequencer.held

    async def work(self) -> bool:
        """Sequence one page."""
        began = time.perf_counter()
        facts = await self._sequencer.run_once()
        metrics = self._metrics
        if facts.lease == "acquired":
            metrics.leases.acquired(LEASE, self._tenant)
            _log.info("sequencing", extra=fields(tenant=self._tenant))
        elif facts.lease == "lost":
            metrics.leases.lost(LEASE, self._tenant)
            _log.warning("the sequencer's lease was lost", extra=fields(tenant=self._tenant))
        if facts.events:
            seconds = time.perf_counter() - began
            metrics.appends.committed("inbox", facts.events, seconds=seconds)
        metrics.sequencer.sequenced(facts.events, deduplicated=facts.repeats)
        for delay_ms in facts.delays_ms:
            metrics.sequencer.delayed(delay_ms / 1000)
        for code, count in facts.dead.items():
            metrics.sequencer.dead_lettered(cast(DeadReason, code), count)
        if facts.dead:
            told = fields(tenant=self._tenant, **facts.dead)
            _log.warning("inbox entries were dead-lettered", extra=told)
        for stream, reason in facts.quarantined.items():
            metrics.appends.rejected("corrupt_stream")
            told = fields(tenant=self._tenant, stream=stream, reason=reason)
            _log.error("a stream is quarantined", extra=told)
        return facts.more

    async def rest(self, stop: asyncio.Event) -> None:
        """Until something is XADDed, or the lease may be had."""
        await self._sequencer.wait(stop)

    async def close(self) -> None:
        """Release the lease, so that another worker goes on at once."""
        try:
            await self._sequencer.release()
            self._metrics.leases.released(LEASE, self._tenant)
        finally:
            await self._sequencer.close()


class ArchiverPart:
    """Feed → round files for one tenant."""

    def __init__(self, archiver: Archiver, metrics: Metrics, tenant: str, due: DueStreams) -> None:
        self._archiver, self._metrics, self._tenant = archiver, metrics, tenant
        self._due = due
        self._started = self._block = False
        self.name = f"archiver {tenant}"

    async def work(self) -> bool:
        """Archive one batch of feed entries, waiting for it when the last call found none."""
        if not self._started:
            await self._archiver.start()
            self._started = True
        facts = await self._archiver.run_once(block=self._block)
        self._metrics.archive.claimed(facts.claimed)
        if facts.recreated:
            _log.warning(
                "the group of the archivers had vanished", extra=fields(tenant=self._tenant)
            )
        if facts.vanished:
            told = fields(tenant=self._tenant, entries=facts.vanished)
            _log.warning("feed entries had vanished", extra=told)
        report_archived(facts.archived, self._metrics, self._tenant)
        self._due.note(facts.archived.unfolded)
        if facts.blocked is not None:
            raise facts.blocked
        self._block = not facts.more
        return facts.more

    async def rest(self, stop: asyncio.Event) -> None:
        """Nothing to wait for here: the next read blocks until the feed has something."""

    async def close(self) -> None:
        """Close the connections."""
        await self._archiver.close()


class CompactionPart:
    """Compaction of the streams that are due, one tenant's."""

    def __init__(
        self, compactor: Compactor, metrics: Metrics, tenant: str, due: DueStreams
    ) -> None:
        self._compactor, self._metrics, self._tenant = compactor, metrics, tenant
        self._due = due
        self.name = f"compactor {tenant}"

    async def work(self) -> bool:
        """Compact one window of one stream."""
        stream = self._due.take()
        if stream is None:
            return False
        began = time.perf_counter()
        try:
            done = await self._compactor.compact(stream)
        except AresError as exc:
            self._metrics.compaction.ran("error", events=0, seconds=time.perf_counter() - began)
            if isinstance(exc, TransientError):
                raise
            told = fields(tenant=self._tenant, stream=stream, error=str(exc))
            _log.error("a stream can't be compacted", extra=told)
            return True
        seconds = time.perf_counter() - began
        if done.result in ("compacted", "conflict"):
            result = cast(CompactionResult, done.result)
            self._metrics.compaction.ran(result, events=done.events, seconds=seconds)
        if done.summarizer_failed:
            self._metrics.compaction.summarizer_failed()
        if done.more:
            self._due.again(stream)
        return True

    async def rest(self, stop: asyncio.Event) -> None:
        """Until a stream is due."""
        try:
            async with asyncio.timeout(1.0):
                await self._due.added.wait()
        except TimeoutError:
            return

    async def close(self) -> None:
        """Close the connection."""
        await self._compactor.close()


class JanitorPart:
    """The slow round through one tenant."""

    def __init__(
        self,
        janitor: Janitor,
        metrics: Metrics,
        tenant: str,
        due: DueStreams,
        *,
        interval_s: float,
    ) -> None:
        self._janitor, self._metrics, self._tenant = janitor, metrics, tenant
        self._due, self._interval_s = due, interval_s
        self.name = f"janitor {tenant}"

    async def work(self) -> bool:
        """One round, if no other worker is at it."""
        tidied = await self._janitor.run_once()
        report_archived(tidied.archived, self._metrics, self._tenant)
        self._due.note(tidied.archived.unfolded)
        blocked = [e for e in tidied.archived.failures.values() if isinstance(e, TransientError)]
        if blocked:
            raise blocked[0]
        return False

    async def rest(self, stop: asyncio.Event) -> None:
        """Until the next round is due."""
        await pause(stop, self._interval_s)

    async def close(self) -> None:
        """Let another worker go on."""
        try:
            await self._janitor.release()
        finally:
            await self._janitor.close()


def report_archived(archived: Archived, metrics: Metrics, tenant: str) -> None:
    """Metrics and logs of what was archived, and of what could not be."""
    for item in archived.rounds:
        metrics.archive.archived(
            item.outcome,
            events=item.events,
            written_bytes=item.written_bytes,
            write_seconds=item.write_s,
        )
        metrics.archive.delayed(item.delay_ms / 1000)
        if item.forked:
            _log.error("the archive forked: see verify", extra=fields(tenant=tenant))
    for seal in archived.seals:
        for _ in range(seal.sealed):
            metrics.segments.sealed()
        if seal.reason is not None:
            metrics.segments.refused(seal.reason)
            told = fields(tenant=tenant, reason=seal.reason, detail=seal.detail)
            _log.warning("a segment was not sealed", extra=told)
    for stream, failure in archived.failures.items():
        reason = getattr(failure, "reason", None)
        metrics.archive.failed(cast(FailureReason, reason) if reason in _REASONS else "io")
        if isinstance(failure, StreamCorrupted):
            told = fields(tenant=tenant, stream=stream, reason=failure.reason)
            _log.error("a stream is quarantined", extra=told)


_REASONS: Final = ("no_space", "permission", "read_only", "stale_handle", "conflict", "io")
