"""Metrics with closed label sets: every series is born at 0, none is born of data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

OTHER: Final = "other"
"""Label value of what the closed set doesn't name."""

FAST: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Buckets, seconds, of single calls: Redis commands, appends, file writes."""

SLOW: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)
"""Buckets, seconds, of what waits for others: delays through the pipeline, compactions."""


class ClosedCounter:
    """A counter by one label whose values are known; any other value counts as `other`."""

    def __init__(
        self,
        registry: CollectorRegistry,
        name: str,
        description: str,
        *,
        label: str,
        values: Sequence[str],
    ) -> None:
        self._counter = Counter(name, description, [label], registry=registry)
        self._children = {value: self._counter.labels(value) for value in values}

    def add(self, value: str, count: int = 1) -> None:
        """Count `count` under `value`."""
        child = self._children.get(value)
        (child if child is not None else self._counter.labels(OTHER)).inc(count)


class ClosedHistogram:
    """A histogram by one label whose values are known; any other value counts as `other`."""

    def __init__(
        self,
        registry: CollectorRegistry,
        name: str,
        description: str,
        *,
        label: str,
        values: Sequence[str],
    ) -> None:
        self._histogram = Histogram(name, description, [label], registry=registry, buckets=FAST)
        self._children = {value: self._histogram.labels(value) for value in values}

    def observe(self, value: str, seconds: float) -> None:
        """Note that `value` took `seconds`."""
        child = self._children.get(value)
        (child if child is not None else self._histogram.labels(OTHER)).observe(max(seconds, 0.0))
