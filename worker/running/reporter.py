"""Turns the facts of one tenant into metrics and logs; one line a cause, not a retry."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, cast

from archive.failures import FAILURE_REASONS, FailureReason
from ops.logs import fields
from ops.metrics import Metrics
from ops.metrics_archive import CompactionResult
from ops.metrics_intake import DeadReason, LossReason
from ops.repeats import CauseLimiter
from streams.errors import AresError, StreamCorrupted
from worker.archiving.archiver import ArchiverFacts
from worker.archiving.facts import Archived, UnbuildableRound
from worker.compacting.compactor import Compacted
from worker.sequencing.commit import Sequenced
from worker.sequencing.sequencer import LEASE
from worker.upkeep.janitor import Tidied
from worker.upkeep.relief import Relieved

_log = logging.getLogger("ares.worker")

_UNROTATED: Final = "rounds beyond archive.max_rounds can't be removed"
_SHORT: Final = "Redis is short of memory: what is archived leaves it"


class TenantReporter:
    """Tells what happened to one tenant."""

    def __init__(self, metrics: Metrics, tenant: str, limiter: CauseLimiter) -> None:
        self.metrics, self.tenant, self._limiter = metrics, tenant, limiter

    def sequenced(self, facts: Sequenced) -> None:
        """One page of the inbox."""
        sequencer = self.metrics.sequencer
        if facts.lease == "acquired":
            self.metrics.leases.acquired(LEASE, self.tenant)
            _log.info("sequencing", extra=self._fields())
        elif facts.lease == "lost":
            self.metrics.leases.lost(LEASE, self.tenant)
            _log.warning("the sequencer's lease was lost", extra=self._fields())
        for commit in facts.commits:
            self.metrics.appends.committed(commit.events, seconds=commit.seconds)
        self.metrics.appends.overtaken(facts.lost_races)
        sequencer.sequenced(facts.events, deduplicated=facts.repeats)
        for delay_ms in facts.delays_ms:
            sequencer.delayed(delay_ms / 1000)
        for code, count in facts.dead.items():
            sequencer.dead_lettered(cast(DeadReason, code), count)
        if facts.dead:
            self._repeated(logging.WARNING, "inbox entries were dead-lettered", facts.dead)
        if facts.dead_full:
            self._repeated(logging.ERROR, "the dead stream is full; bad entries stay put", {})
        for reason, count in facts.lost.items():
            sequencer.lost(cast(LossReason, reason), count)
        if facts.lost:
            _log.error("entries of the inbox were lost", extra=self._fields(**facts.lost))
        for stream, reason in facts.quarantined.items():
            self.metrics.appends.rejected("corrupt_stream")
            self._quarantined(stream, reason)

    def released(self) -> None:
        """The sequencer's lease was given up."""
        self.metrics.leases.released(LEASE, self.tenant)

    def archiver(self, facts: ArchiverFacts) -> None:
        """One batch of the feed."""
        self.metrics.appends.announced(facts.direct_events)
        self.metrics.archive.claimed(facts.claimed)
        if facts.recreated:
            _log.warning("the group of the archivers had vanished", extra=self._fields())
        if facts.vanished:
            told = self._fields(entries=facts.vanished)
            _log.warning("feed entries had vanished", extra=told)
        self.metrics.sequencer.lost("trimmed_unread", facts.trimmed)
        self.archived(facts.archived)

    def archived(self, archived: Archived) -> None:
        """Rounds published and segments sealed, and what could not be."""
        for item in archived.rounds:
            self.metrics.archive.archived(
                item.outcome,
                events=item.events,
                written_bytes=item.written_bytes,
                write_seconds=item.write_s,
            )
            self.metrics.archive.delayed(item.delay_ms / 1000)
            if item.forked:
                self.metrics.archive.failed("conflict")
                told = self._fields(stream=item.stream, round=item.round, epoch=item.epoch)
                _log.error("the archive forked: see verify", extra=told)
        for seal in archived.seals:
            for _ in range(seal.sealed):
                self.metrics.segments.sealed()
            if seal.reason is not None:
                self.metrics.segments.refused(seal.reason)
                told = {"stream": seal.stream, "reason": seal.reason, "detail": seal.detail}
                self._repeated(logging.WARNING, "a segment was not sealed", told, seal.reason)
            if seal.dropped:
                _log.error("rounds stay unsealed", extra=self._fields(rounds=seal.dropped))
        for stream, failure in archived.failures.items():
            self._not_archived(stream, failure)
        for stream, failure in archived.unrotated.items():
            facts = {"stream": stream, "error": str(failure)}
            self._repeated(logging.WARNING, _UNROTATED, facts, getattr(failure, "reason", ""))

    def compacted(self, done: Compacted, *, seconds: float) -> None:
        """One run of compaction."""
        if done.result in ("compacted", "conflict"):
            result = cast(CompactionResult, done.result)
            self.metrics.compaction.ran(result, events=done.events, seconds=seconds)
        if done.summarizer_error:
            self.metrics.compaction.summarizer_failed()
            told = {"error": done.summarizer_error}
            self._repeated(logging.WARNING, "the summarizer failed; rules stood in for it", told)

    def not_compacted(self, stream: str, failure: AresError, *, seconds: float) -> None:
        """A run of compaction that failed."""
        self.metrics.compaction.ran("error", events=0, seconds=seconds)
        facts = {"stream": stream, "error": str(failure)}
        self._repeated(logging.ERROR, "a stream can't be compacted", facts, stream)

    def relieved(self, relieved: Relieved) -> None:
        """One page of streams whose archived events left Redis, or nothing to do."""
        for run in relieved.runs:
            result: CompactionResult = "relief" if run.done.events else "conflict"
            self.metrics.compaction.ran(result, events=run.done.events, seconds=run.seconds)
        for stream, failure in relieved.failures.items():
            self.not_compacted(stream, failure, seconds=0.0)
        memory = relieved.memory
        facts = {"used_bytes": memory.used, "maxmemory": memory.limit}
        if relieved.short:
            freed = {"events": relieved.events, "feed_entries": relieved.feed_trimmed}
            self._repeated(logging.WARNING, _SHORT, facts | freed)
        elif told := self._limiter.recovered(self._cause(_SHORT)):
            after = self._fields(after_s=round(told.seconds, 1), **facts)
            _log.info("Redis has memory again", extra=after)
        if relieved.stuck:
            self._repeated(logging.ERROR, "nothing more can be freed", {"reason": relieved.stuck})

    def tidied(self, tidied: Tidied) -> None:
        """One round of the janitor."""
        self.archived(tidied.archived)
        if tidied.feed_lost:
            self.metrics.sequencer.lost("trimmed_unread", tidied.feed_lost)
            told = self._fields(entries=tidied.feed_lost)
            _log.error("feed entries were lost before they were read", extra=told)
        for group, reason in tidied.groups_dropped.items():
            told = self._fields(group=group, reason=reason)
            _log.error("a durable subscription was dropped", extra=told)

    def _not_archived(self, stream: str, failure: AresError) -> None:
        reason = getattr(failure, "reason", None)
        known = reason in FAILURE_REASONS
        self.metrics.archive.failed(cast(FailureReason, reason) if known else "io")
        if isinstance(failure, StreamCorrupted):
            self._quarantined(stream, failure.reason)
        elif isinstance(failure, UnbuildableRound):
            cause = type(failure.cause).__name__
            if told := self._limiter.failed(f"{self.tenant} unbuildable {cause}"):
                facts = self._fields(stream=stream, repeats=told.repeats)
                _log.error("a round can't be built", extra=facts, exc_info=failure.cause)

    def _quarantined(self, stream: str, reason: str) -> None:
        facts = {"stream": stream, "reason": reason}
        self._repeated(logging.ERROR, "a stream is quarantined", facts, stream)

    def _repeated(
        self, level: int, message: str, facts: Mapping[str, object], which: str = ""
    ) -> None:
        """Log what may come again and again: the first time, then ever more rarely."""
        if told := self._limiter.failed(self._cause(message, which)):
            _log.log(level, message, extra=self._fields(**facts, repeats=told.repeats))

    def _cause(self, message: str, which: str = "") -> str:
        return f"{self.tenant} {message} {which}"

    def _fields(self, **facts: object) -> dict[str, object]:
        return fields(tenant=self.tenant, **facts)
