"""This process itself: its Redis, its leases, its state, its event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from .metrics_kinds import FAST, ClosedCounter, ClosedHistogram

RedisError = Literal[
    "connection", "timeout", "loading", "read_only", "oom", "auth", "cluster", "other"
]
RedisCommand = Literal["commit", "read_inbox", "read_feed", "read_log", "ack", "other"]
State = Literal["starting", "running", "degraded", "draining"]
Lease = Literal["sequencer"]

_STATES: Final[tuple[str, ...]] = get_args(State)
_LEASES: Final[tuple[str, ...]] = get_args(Lease)
_CHANGES: Final = ("acquired", "lost", "released")


class RedisMetrics:
    """Redis as this process sees it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._up = Gauge(
            "ares_redis_up", "1 while this process reaches its Redis.", registry=registry
        )
        self._errors = ClosedCounter(
            registry,
            "ares_redis_errors_total",
            "Failed calls to Redis.",
            label="kind",
            values=get_args(RedisError),
        )
        self._reconnects = Counter(
            "ares_redis_reconnects_total", "Connections opened again.", registry=registry
        )
        self._seconds = ClosedHistogram(
            registry,
            "ares_redis_command_seconds",
            "Time of one call to Redis, blocking waits left out.",
            label="command",
            values=get_args(RedisCommand),
        )

    def up(self, reachable: bool) -> None:
        """Redis answers, or doesn't."""
        self._up.set(int(reachable))

    def failed(self, kind: RedisError) -> None:
        """A call failed."""
        self._errors.add(kind)

    def reconnected(self) -> None:
        """A lost connection was opened again."""
        self._reconnects.inc()

    def took(self, command: RedisCommand, seconds: float) -> None:
        """A call took `seconds`."""
        self._seconds.observe(command, seconds)


class LeaseMetrics:
    """Leases of this process; held ones are counted over tenants."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauge = Gauge(
            "ares_lease_held", "Leases this process holds.", ["lease"], registry=registry
        )
        self._changes = Counter(
            "ares_lease_changes_total",
            "Leases acquired, lost and released.",
            ["lease", "change"],
            registry=registry,
        )
        self._holders: dict[str, set[str]] = {lease: set() for lease in _LEASES}
        for lease in _LEASES:
            self._gauge.labels(lease)
            for change in _CHANGES:
                self._changes.labels(lease, change)

    def acquired(self, lease: Lease, tenant: str) -> None:
        """This process now holds `lease` of `tenant`."""
        self._change(lease, "acquired", self._holders[lease] | {tenant})

    def lost(self, lease: Lease, tenant: str) -> None:
        """Somebody else took it, or it lapsed."""
        self._change(lease, "lost", self._holders[lease] - {tenant})

    def released(self, lease: Lease, tenant: str) -> None:
        """This process gave it back."""
        self._change(lease, "released", self._holders[lease] - {tenant})

    def _change(self, lease: Lease, change: str, holders: set[str]) -> None:
        if holders == self._holders[lease]:
            return
        self._holders[lease] = holders
        self._gauge.labels(lease).set(len(holders))
        self._changes.labels(lease, change).inc()


class ProcessMetrics:
    """State, event loop and work in hand."""

    def __init__(
        self, registry: CollectorRegistry, *, version: str, revision: str, python_version: str
    ) -> None:
        Gauge(
            "ares_build_info",
            "Version of this worker; always 1.",
            ["version", "revision", "python_version"],
            registry=registry,
        ).labels(version, revision, python_version).set(1)
        self._state = Gauge(
            "ares_worker_state",
            "1 for the state this worker is in, 0 for the others.",
            ["state"],
            registry=registry,
        )
        self._loop_delay = Histogram(
            "ares_event_loop_delay_seconds",
            "How late the event loop ran a timer.",
            registry=registry,
            buckets=FAST,
        )
        self._inflight = Gauge(
            "ares_inflight_events", "Events this process is working on.", registry=registry
        )
        self.state("starting")

    def state(self, state: State) -> None:
        """The worker is now in `state`."""
        for known in _STATES:
            self._state.labels(known).set(int(known == state))

    def loop_delayed(self, seconds: float) -> None:
        """The event loop ran a timer `seconds` late."""
        self._loop_delay.observe(max(seconds, 0.0))

    def inflight(self, events: Callable[[], int]) -> None:
        """Ask `events`, in the server's thread, how many events are being worked on."""
        self._inflight.set_function(events)
