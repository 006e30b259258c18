"""What this process made of events: archived rounds, summaries, sealed segments.

Seconds are clamped at 0: clocks of two machines differ, ages are never negative.
"""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram

from .metrics_kinds import FAST, SLOW, ClosedCounter

Outcome = Literal["completed", "failed", "unfinished"]
ArchiveError = Literal["no_space", "permission", "read_only", "stale_handle", "conflict", "io"]
CompactionResult = Literal["compacted", "relief", "conflict", "error"]
SegmentRefusal = Literal["busy", "full", "denied", "corrupt", "invalid"]


class ArchiveMetrics:
    """The way from the feed into round files."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._claimed = Counter(
            "ares_feed_claimed_total",
            "Feed entries taken over from workers that fell silent.",
            registry=registry,
        )
        self._rounds = ClosedCounter(
            registry,
            "ares_rounds_archived_total",
            "Rounds whose file is durable.",
            label="outcome",
            values=get_args(Outcome),
        )
        self._events = Counter(
            "ares_events_archived_total", "Events of archived rounds.", registry=registry
        )
        self._bytes = Counter(
            "ares_archive_written_bytes_total", "Bytes of round files written.", registry=registry
        )
        self._write = Histogram(
            "ares_archive_write_seconds",
            "Time to write and fsync one round file.",
            registry=registry,
            buckets=FAST,
        )
        self._delay = Histogram(
            "ares_round_archive_delay_seconds",
            "Time from a round's terminal event to its durable file.",
            registry=registry,
            buckets=SLOW,
        )
        self._errors = ClosedCounter(
            registry,
            "ares_archive_errors_total",
            "Failed writes of round files.",
            label="reason",
            values=get_args(ArchiveError),
        )

    def claimed(self, entries: int) -> None:
        """`entries` pending feed entries were taken over."""
        self._claimed.inc(entries)

    def archived(
        self, outcome: Outcome, *, events: int, written_bytes: int, write_seconds: float
    ) -> None:
        """A round of `events` events became durable."""
        self._rounds.add(outcome)
        self._events.inc(events)
        self._bytes.inc(written_bytes)
        self._write.observe(max(write_seconds, 0.0))

    def delayed(self, seconds: float) -> None:
        """A round's file was durable `seconds` after its terminal event was committed."""
        self._delay.observe(max(seconds, 0.0))

    def failed(self, reason: ArchiveError) -> None:
        """A round could not be written; it stays in its log."""
        self._errors.add(reason)


class CompactionMetrics:
    """Old events that became summaries."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._runs = ClosedCounter(
            registry,
            "ares_compaction_runs_total",
            "Compaction runs.",
            label="result",
            values=get_args(CompactionResult),
        )
        self._seconds = Histogram(
            "ares_compaction_seconds",
            "Time of one compaction run.",
            registry=registry,
            buckets=SLOW,
        )
        self._events = Counter(
            "ares_events_compacted_total", "Events summarized and trimmed.", registry=registry
        )
        self._failures = Counter(
            "ares_summarizer_failures_total",
            "Runs of the configured summarizer that failed; the built-in rules stepped in.",
            registry=registry,
        )

    def ran(self, result: CompactionResult, *, events: int, seconds: float) -> None:
        """A run ended; `events` left the log."""
        self._runs.add(result)
        self._events.inc(events)
        self._seconds.observe(max(seconds, 0.0))

    def summarizer_failed(self) -> None:
        """The configured summarizer raised or took too long."""
        self._failures.inc()


class SegmentMetrics:
    """Sealed segments of conversations."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sealed = Counter("ares_segments_sealed_total", "Segments sealed.", registry=registry)
        self._refusals = ClosedCounter(
            registry,
            "ares_segment_refusals_total",
            "Segments the store refused; tried again with the next round.",
            label="reason",
            values=get_args(SegmentRefusal),
        )

    def sealed(self) -> None:
        """A segment was sealed."""
        self._sealed.inc()

    def refused(self, reason: SegmentRefusal) -> None:
        """A segment was not sealed."""
        self._refusals.add(reason)
