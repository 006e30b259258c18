"""Made-up looks at a fleet, for tests of what `top` shows."""

from __future__ import annotations

from typing import Any

from ops.metrics_shared import TenantFacts
from streams.overview import StreamLook
from streams.state import StreamState
from worker.top.sample import LeaseLook, RedisLook, Sample, TenantLook, WorkerLook

NOW_MS = 1_800_000_000_000

HEALTHY = TenantFacts(
    inbox_events=0,
    inbox_oldest_seconds=0.0,
    dead_letter_events=0,
    feed_lag_entries=0,
    feed_lag_seconds=0.0,
    feed_pending_entries=0,
    feed_oldest_pending_seconds=0.0,
    feed_consumers=2,
    compaction_lag_events=0,
    compaction_lag_seconds=0.0,
    compaction_lagging_streams=0,
    subscribers=0,
)
REDIS = RedisLook("7.0.15", 90_000, 12 * 2**20, 2**30, 1_234)
WORKERS = (WorkerLook("pod-a", 0, 200), WorkerLook("pod-b", 3, 1_100))
LEASES = (LeaseLook("sequencer", "pod-a", 9_000), LeaseLook("janitor", "pod-b", 90_000))


def stream(name: str, head: int = 10, **facts: Any) -> StreamLook:
    """A stream written a second ago whose log is whole; `facts` of the look or of its state."""
    state = {key: facts.pop(key) for key in list(facts) if key in StreamState.__dataclass_fields__}
    given = {"retained": head, "summaries": 0, "log_bytes": 4_096, "quarantined": ""}
    given |= {"last_commit_ms": NOW_MS - 1_000} | facts
    return StreamLook(stream=name, head=head, state=StreamState(**state), **given)


def tenant(name: str = "default", *streams: StreamLook, **given: Any) -> TenantLook:
    """A tenant in good health with these streams."""
    known = {"facts": HEALTHY, "workers": WORKERS, "leases": LEASES, "stream_count": len(streams)}
    return TenantLook(name=name, streams=streams, **known | given)


def sample(*tenants: TenantLook, taken_s: float = 0.0, redis: RedisLook = REDIS) -> Sample:
    """A look at these tenants, `taken_s` seconds after the beginning."""
    return Sample(NOW_MS, taken_s, redis, tenants)
