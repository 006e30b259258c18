"""Every metric of a worker, in a registry of its own; nothing is registered at import.

`Metrics(...)` has a typed method for each thing that can happen; `exposition()` is `/metrics`.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest

from .metrics_archive import ArchiveMetrics, CompactionMetrics, SegmentMetrics
from .metrics_intake import AppendMetrics, SequencerMetrics
from .metrics_process import LeaseMetrics, ProcessMetrics, RedisMetrics

if TYPE_CHECKING:
    from .metrics_shared import SharedGauges

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one process, every own series born at 0."""

    def __init__(self, *, version: str, revision: str = "unknown") -> None:
        self.registry = CollectorRegistry()
        self.appends = AppendMetrics(self.registry)
        self.sequencer = SequencerMetrics(self.registry)
        self.archive = ArchiveMetrics(self.registry)
        self.compaction = CompactionMetrics(self.registry)
        self.segments = SegmentMetrics(self.registry)
        self.redis = RedisMetrics(self.registry)
        self.leases = LeaseMetrics(self.registry)
        self.process = ProcessMetrics(
            self.registry,
            version=version,
            revision=revision,
            python_version=platform.python_version(),
        )
        ProcessCollector(registry=self.registry)

    def share(self, gauges: SharedGauges) -> None:
        """Export what Redis and the volume say, too; once."""
        self.registry.register(gauges)

    def exposition(self) -> bytes:
        """All series in the text format, `CONTENT_TYPE`. Called in the server's thread."""
        # generate_latest only ever calls collect(); its annotation asks for a whole registry.
        return generate_latest(cast(CollectorRegistry, _WithoutCreated(self.registry)))


class _WithoutCreated:
    """A registry without its `_created` series: twice the series, and nobody reads them.

    The library's own switch is a global one, and would change its other users in this process.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric
