"""Pure. One look at everything that `top` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ops.metrics_shared import TenantFacts
    from streams.overview import StreamLook


@dataclass(frozen=True, slots=True)
class RedisLook:
    """The server; what it doesn't tell, or an ACL forbids to ask, is None. 0 is no maximum."""

    version: str | None = None
    uptime_s: int | None = None
    memory_bytes: int | None = None
    max_bytes: int | None = None
    calls_per_s: int | None = None


SILENT_MS: Final = 30_000
"""A living worker, busy or not, is heard of every five seconds."""


@dataclass(frozen=True, slots=True)
class WorkerLook:
    """A consumer of the feed: entries it has not acknowledged, and when it was last heard of."""

    name: str
    pending: int
    idle_ms: int

    @property
    def is_silent(self) -> bool:
        """Whether it must be dead, frozen or cut off from Redis."""
        return self.idle_ms >= SILENT_MS


@dataclass(frozen=True, slots=True)
class LeaseLook:
    """A lease: its owner's name, None when it is free; it lapses in `left_ms` unless renewed."""

    name: str
    owner: str | None
    left_ms: int


@dataclass(frozen=True, slots=True)
class TenantLook:
    """One tenant. `streams` are those written last, of `stream_count`."""

    name: str
    facts: TenantFacts
    workers: Sequence[WorkerLook]
    leases: Sequence[LeaseLook]
    streams: Sequence[StreamLook]
    stream_count: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything at one moment: `at_ms` since the epoch, `taken_s` by a clock that only grows."""

    at_ms: int
    taken_s: float
    redis: RedisLook
    tenants: Sequence[TenantLook]
