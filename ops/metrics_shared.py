"""What Redis and the volume say, the same from every worker: dashboards take the maximum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from .facts import FactsCache
from .metrics_kinds import OTHER

MOST_NAMES: Final = 50
"""Tenants, and subscribers, with series of their own; the rest share `other`."""

_LONGEST_NAME: Final = 128

Number = int | float
_Fold = Callable[[Iterable[Number]], Number]


def _fact(name: str, description: str, fold: _Fold) -> Any:
    """Declare one metric; `fold` makes the value of `other` from those of many."""
    return field(default=None, metadata={"name": name, "help": description, "fold": fold})


def _oldest_success(times: Iterable[Number]) -> Number:
    """Of tenants that share a series: one that never had a success doesn't hide how old others'."""
    return min((time for time in times if time > 0), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantFacts:
    """Facts of one tenant; `None` is not known and leaves the series out."""

    inbox_events: int | None = _fact("ares_inbox_events", "Entries waiting in the inbox.", sum)
    inbox_oldest_seconds: float | None = _fact(
        "ares_inbox_oldest_seconds", "Age of the oldest entry in the inbox.", max
    )
    dead_letter_events: int | None = _fact(
        "ares_dead_letter_events", "Entries in the dead stream.", sum
    )
    feed_lag_entries: int | None = _fact(
        "ares_feed_lag_entries", "Feed entries the archivers have not read.", sum
    )
    feed_lag_seconds: float | None = _fact(
        "ares_feed_lag_seconds", "Age of the oldest feed entry not yet read.", max
    )
    feed_pending_entries: int | None = _fact(
        "ares_feed_pending_entries", "Feed entries read and not yet acknowledged.", sum
    )
    feed_oldest_pending_seconds: float | None = _fact(
        "ares_feed_oldest_pending_seconds", "Age of the oldest entry not yet acknowledged.", max
    )
    feed_consumers: int | None = _fact(
        "ares_feed_consumers", "Consumers in the group of the archivers.", max
    )
    verify_last_success_timestamp: float | None = _fact(
        "ares_verify_last_success_timestamp_seconds",
        "When verify last finished without findings, seconds since the epoch; 0 for never.",
        _oldest_success,
    )
    verify_findings: int | None = _fact(
        "ares_verify_findings", "Findings of the last verify; 0 before the first.", sum
    )
    compaction_lag_events: int | None = _fact(
        "ares_compaction_lag_events", "Events that could be compacted and are not.", sum
    )
    compaction_lag_seconds: float | None = _fact(
        "ares_compaction_lag_seconds", "How long the oldest such stream has been waiting.", max
    )
    compaction_lagging_streams: int | None = _fact(
        "ares_compaction_lagging_streams", "Streams over the compaction threshold.", sum
    )
    subscribers: int | None = _fact("ares_subscribers", "Subscribers seen lately.", sum)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberFacts:
    """Facts of one named subscriber, over all processes that run it."""

    delivered_events: int | None = _fact(
        "ares_subscriber_delivered_events_total", "Events handed to the subscriber.", sum
    )
    dropped_events: int | None = _fact(
        "ares_subscriber_dropped_events_total",
        "Events dropped because the subscriber was too slow.",
        sum,
    )
    lag_entries: int | None = _fact(
        "ares_subscriber_lag_entries", "Feed entries the subscriber is behind.", max
    )


NOBODY: Final = SubscriberFacts(delivered_events=0, dropped_events=0, lag_entries=0)
"""What subscribers without a series of their own add up to when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeFacts:
    """Facts of the archive's volume."""

    free_bytes: int | None = _fact(
        "ares_archive_volume_free_bytes", "Bytes the worker may still write.", min
    )
    size_bytes: int | None = _fact("ares_archive_volume_size_bytes", "Size of the volume.", min)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFacts:
    """One reading of Redis."""

    tenants: Mapping[str, TenantFacts] = field(default_factory=dict)
    subscribers: Mapping[str, SubscriberFacts] = field(default_factory=dict)


class SharedGauges:
    """Collector of the shared series; register it with `Metrics.share`."""

    def __init__(
        self,
        redis: FactsCache[SharedFacts] | None = None,
        volume: FactsCache[VolumeFacts] | None = None,
    ) -> None:
        self._redis, self._volume = redis, volume

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not read facts."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The series known now; both readings run side by side."""
        for cache in (self._redis, self._volume):
            if cache is not None:
                cache.start()
        if self._redis is not None and (facts := self._redis.get()) is not None:
            yield from _families(TenantFacts, "tenant", facts.tenants)
            yield from _families(SubscriberFacts, "subscriber", facts.subscribers, (NOBODY,))
        if self._volume is not None and (volume := self._volume.get()) is not None:
            yield from _families(VolumeFacts, None, {"": volume})


def _families(
    kind: type[Any], label: str | None, named: Mapping[str, Any], others: Sequence[Any] = ()
) -> Iterator[Metric]:
    own = [name for name in sorted(named) if _may_be_label(name)][:MOST_NAMES]
    rest = [*others, *(named[name] for name in named.keys() - set(own))]
    for declared in fields(kind):
        name = declared.metadata["name"]
        family_of = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        family = family_of(name, declared.metadata["help"], labels=[label] if label else [])
        for owner in own:
            value = _clean(getattr(named[owner], declared.name))
            if value is not None:
                family.add_metric([owner] if label else [], value)
        values = [v for facts in rest if (v := _clean(getattr(facts, declared.name))) is not None]
        if values:
            family.add_metric([OTHER], declared.metadata["fold"](values))
        if family.samples:
            yield family


def _may_be_label(name: str) -> bool:
    """Names come from Redis: one that is called `other`, endless or not text joins the others."""
    return name != OTHER and len(name) <= _LONGEST_NAME and name.isprintable()


def _clean(value: Number | None) -> Number | None:
    """Ages and counts are never negative, whatever two clocks say; NaN is not known."""
    if value is None or math.isnan(value):
        return None
    return max(value, 0)
