"""The one place that builds and connects every object of a worker."""

from __future__ import annotations

import asyncio
import os
import socket
import time
import uuid
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Final, cast

from archive.storage.disk import Modes
from archive.storage.probe import probe as probe_volume
from ops.health import Heartbeat, Readiness
from ops.metrics import Metrics
from ops.metrics_process import RedisError
from ops.redact import Redactor
from ops.repeats import CauseLimiter
from streams.backoff import Backoff
from streams.clock import system_clock
from streams.connection import ConnectionOptions, open_client
from streams.redis_store import RedisEventStore
from streams.wire import Client
from worker.running.parts import (
    ArchiverPart,
    CompactionPart,
    DueStreams,
    JanitorPart,
    ReliefPart,
    SequencerPart,
)
from worker.running.pipeline import TenantPipeline
from worker.running.probe import EVICTION, REDIS, VOLUME, Probe
from worker.running.reporter import TenantReporter
from worker.running.revision import revision
from worker.running.runner import Runner
from worker.running.supervisor import Worker
from worker.running.wire_metrics import WireMetrics
from worker.settings.load import Settings
from worker.shared_facts import SharedFactsReader, shared_gauges
from worker.stores import store_options

from .tenant import (
    build_archiver,
    build_compactor,
    build_janitor,
    build_relief,
    build_sequencer,
    compaction_policy,
)

_CONNECTIONS_A_TENANT: Final = 12
_CONNECTIONS_BESIDE: Final = 4


@dataclass(frozen=True, slots=True)
class BuiltWorker:
    """A worker and what its operations server shows."""

    worker: Worker
    metrics: Metrics
    readiness: Readiness
    heartbeat: Heartbeat
    redactor: Redactor


def build_worker(settings: Settings) -> BuiltWorker:
    """A worker for `settings`; connects to nothing yet.

    Raises `SettingsError` for what only shows now: a secret's file, a summarizer's name.
    """
    client = open_client(settings.redis.read_url(), _connection_options(settings))
    metrics = Metrics(version=metadata.version("ares-worker"), revision=revision())
    name = settings.worker.name or _unique_name()
    pipelines = [_pipeline(client, tenant, settings, metrics, name) for tenant in settings.tenants]
    metrics.process.inflight(lambda: sum(pipeline.in_hand for pipeline in pipelines))
    parts = [part.name for pipeline in pipelines for part in pipeline.parts()]
    readiness = Readiness(REDIS, EVICTION, VOLUME, *parts)
    for pipeline in pipelines:
        readiness.check(f"memory {pipeline.store.tenant}", pipeline.relief.why_stuck)
    heartbeat = Heartbeat(stall_after=settings.metrics.stall_after.total_seconds())

    def redis_failed(kind: str) -> None:
        metrics.redis.failed(cast(RedisError, kind))
        if kind == "oom":
            for pipeline in pipelines:
                pipeline.relief.refused()

    runner = Runner(
        readiness,
        Backoff(settings.worker.backoff_min_ms / 1000, settings.worker.backoff_max_ms / 1000),
        redis_failed=redis_failed,
        limiter=CauseLimiter(time.monotonic),
    )
    wire = pipelines[0].store.wires.dedicated()
    probe = Probe(wire, readiness, metrics, lambda: _volume_problem(settings))

    stores = [pipeline.store for pipeline in pipelines]
    reader = SharedFactsReader(stores, compaction_policy(settings), system_clock)

    def start() -> None:
        metrics.share(shared_gauges(asyncio.get_running_loop(), reader, settings))

    async def close() -> None:
        await reader.close()
        for pipeline in pipelines:
            await pipeline.store.close()
        await client.aclose()

    worker = Worker(
        pipelines,
        probe,
        runner,
        metrics=metrics,
        readiness=readiness,
        heartbeat=heartbeat,
        drain_timeout_s=settings.worker.drain_timeout.total_seconds(),
        start=start,
        close=close,
    )
    return BuiltWorker(worker, metrics, readiness, heartbeat, Redactor(settings.redis.secrets()))


def _connection_options(settings: Settings) -> ConnectionOptions:
    """Enough connections for every tenant at once: a part without one could only wait."""
    options = settings.redis.connection_options()
    needed = _CONNECTIONS_A_TENANT * len(settings.tenants) + _CONNECTIONS_BESIDE
    return replace(options, max_connections=max(options.max_connections, needed))


def _pipeline(
    client: Client, tenant: str, settings: Settings, metrics: Metrics, worker: str
) -> TenantPipeline:
    store = RedisEventStore(
        client,
        tenant,
        options=store_options(settings),
        clock=system_clock,
        observer=WireMetrics(metrics.redis),
    )
    due = DueStreams(settings.compaction.threshold)
    reporter = TenantReporter(metrics, tenant, CauseLimiter(time.monotonic))
    return TenantPipeline(
        store=store,
        sequencer=SequencerPart(build_sequencer(store, settings, worker), reporter),
        archiver=ArchiverPart(build_archiver(store, settings, worker), reporter, due),
        compactor=CompactionPart(build_compactor(store, settings), reporter, due),
        relief=ReliefPart(build_relief(store, settings), reporter),
        janitor=JanitorPart(
            build_janitor(store, settings, worker),
            reporter,
            due,
            interval_s=settings.worker.scan_interval.total_seconds(),
        ),
    )


def _unique_name() -> str:
    """A name nobody else has, or ever had: the feed entries of the dead are not taken for ours."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"


def _volume_problem(settings: Settings) -> str | None:
    """Why the archive's volume can't take rounds; None when it can."""
    archive = settings.archive
    modes = Modes(file=archive.file_mode, folder=archive.dir_mode)
    facts = probe_volume(archive.dir, sentinel=archive.sentinel_file or "", modes=modes)
    return None if facts.usable else f"{facts.reason}: {facts.detail}"
