"""What this process did to take events in: from the inbox and by appends into logs.

Seconds are clamped at 0: clocks of two machines differ, ages are never negative.
"""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram

from .metrics_kinds import FAST, SLOW, ClosedCounter

Door = Literal["sdk", "inbox"]
Rejection = Literal["invalid", "too_large", "corrupt_stream", "unknown_outcome"]
DeadReason = Literal["schema", "encoding", "too_large", "limits", "poison"]
LossReason = Literal["trimmed_unread", "foreign_delete", "failover"]


class AppendMetrics:
    """Appends to logs, by the SDK's door and the inbox's.

    Producers that append by themselves show no metrics: a worker counts their events when it
    reads what the feed announces. Commits, conflicts and times are those of this process.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._events = ClosedCounter(
            registry,
            "ares_events_appended_total",
            "Events appended to logs: from the inbox by this process, by producers as announced.",
            label="door",
            values=get_args(Door),
        )
        self._commits = Counter(
            "ares_append_commits_total", "Commits that appended events.", registry=registry
        )
        self._conflicts = Counter(
            "ares_append_conflicts_total",
            "Commits that another writer of a stream overtook; they were tried again.",
            registry=registry,
        )
        self._rejections = ClosedCounter(
            registry,
            "ares_append_rejections_total",
            "Appends refused for another reason than a conflict.",
            label="reason",
            values=get_args(Rejection),
        )
        self._seconds = Histogram(
            "ares_append_seconds",
            "Time of one commit, from first command to last reply.",
            registry=registry,
            buckets=FAST,
        )

    def committed(self, events: int, *, seconds: float) -> None:
        """One commit appended `events` events of the inbox within `seconds`."""
        self._events.add("inbox", events)
        self._commits.inc()
        self._seconds.observe(max(seconds, 0.0))

    def announced(self, events: int) -> None:
        """The feed tells of `events` events that producers appended by themselves."""
        self._events.add("sdk", events)

    def overtaken(self, times: int) -> None:
        """Another writer changed a stream before a commit to it, `times` times."""
        self._conflicts.inc(times)

    def rejected(self, reason: Rejection) -> None:
        """An append was refused."""
        self._rejections.add(reason)


class SequencerMetrics:
    """The way from the inbox into the logs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sequenced = Counter(
            "ares_events_sequenced_total", "Inbox entries moved into logs.", registry=registry
        )
        self._deduplicated = Counter(
            "ares_events_deduplicated_total",
            "Inbox entries dropped because their event was already recorded.",
            registry=registry,
        )
        self._dead = ClosedCounter(
            registry,
            "ares_events_dead_lettered_total",
            "Inbox entries moved to the dead stream.",
            label="reason",
            values=get_args(DeadReason),
        )
        self._lost = ClosedCounter(
            registry,
            "ares_events_lost_total",
            "Events found missing: removed by somebody else, or by a failover.",
            label="reason",
            values=get_args(LossReason),
        )
        self._delay = Histogram(
            "ares_sequence_delay_seconds",
            "Time from XADD into the inbox to the commit into the log.",
            registry=registry,
            buckets=SLOW,
        )

    def sequenced(self, events: int, *, deduplicated: int = 0) -> None:
        """`events` entries reached their logs, `deduplicated` were known already."""
        self._sequenced.inc(events)
        self._deduplicated.inc(deduplicated)

    def dead_lettered(self, reason: DeadReason, count: int = 1) -> None:
        """`count` entries went to the dead stream."""
        self._dead.add(reason, count)

    def lost(self, reason: LossReason, count: int) -> None:
        """`count` events are gone without having been worked on."""
        self._lost.add(reason, count)

    def delayed(self, seconds: float) -> None:
        """An entry waited `seconds` in the inbox."""
        self._delay.observe(max(seconds, 0.0))
