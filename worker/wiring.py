"""The one place that builds and connects every object of a worker."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import metadata
from typing import cast

from archive.files import Modes
from archive.probe import probe as probe_volume
from archive.writer import FileArchiveWriter
from ops.health import Heartbeat, Readiness
from ops.metrics import Metrics
from ops.metrics_process import RedisError
from ops.redact import Redactor
from ops.repeats import CauseLimiter
from streams.backoff import Backoff
from streams.clock import system_clock
from streams.commit import Committer
from streams.connection import open_client
from streams.feed import ARCHIVERS, FeedGroup
from streams.redis_store import RedisEventStore
from streams.wire import Client, Wire

from .archiver import Archiver, ArchiverPolicy
from .archiving import ArchivingPolicy, StreamArchiver
from .compaction_plan import CompactionPolicy
from .compactor import Compactor
from .inbox_commit import InboxPolicy
from .inbox_reader import PagePolicy
from .janitor import Janitor, JanitorPolicy
from .parts import (
    ArchiverPart,
    CompactionPart,
    DueStreams,
    JanitorPart,
    ReliefPart,
    SequencerPart,
)
from .pipeline import TenantPipeline
from .probe import EVICTION, REDIS, VOLUME, Probe
from .relief import Relief
from .reporter import TenantReporter
from .retirement import Retirement, RetirementPolicy
from .revision import revision
from .rounds import RoundLimits
from .runner import Runner
from .sealing import SegmentSealer, is_erased_in, load_redactor
from .sequencer import Sequencer, SequencerPolicy
from .settings.load import Settings
from .shared_facts import SharedFactsReader, shared_gauges
from .stores import store_options
from .summarizer import load_summarizer
from .supervisor import Worker
from .wire_metrics import WireMetrics


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
    client = open_client(settings.redis.read_url(), settings.redis.connection_options())
    metrics = Metrics(version=metadata.version("ares-worker"), revision=revision())
    name = settings.worker.name or _unique_name()
    pipelines = [_pipeline(client, tenant, settings, metrics, name) for tenant in settings.tenants]
    metrics.process.inflight(lambda: sum(pipeline.in_hand for pipeline in pipelines))
    parts = [part.name for pipeline in pipelines for part in pipeline.parts()]
    readiness = Readiness(REDIS, EVICTION, VOLUME, *parts)
    for pipeline in pipelines:
        readiness.check(f"memory {pipeline.store.tenant}", pipeline.relief.why_stuck)
    heartbeat = Heartbeat(stall_after=settings.metrics.stall_after.total_seconds())
    runner = Runner(
        readiness,
        Backoff(settings.worker.backoff_min_ms / 1000, settings.worker.backoff_max_ms / 1000),
        redis_failed=lambda kind: metrics.redis.failed(cast(RedisError, kind)),
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


def build_compactor(
    store: RedisEventStore, settings: Settings, wire: Wire | None = None
) -> Compactor:
    """A compactor on a connection of its own unless `wire` is given; the caller closes it."""
    compaction = settings.compaction
    return Compactor(
        wire or store.wires.dedicated(),
        store.keys,
        compaction_policy(settings),
        store.clock,
        summarizer=load_summarizer(compaction.summarizer),
        summarizer_timeout_s=compaction.summarizer_timeout.total_seconds(),
    )


def compaction_policy(settings: Settings) -> CompactionPolicy:
    """When and how far to compact, from the settings."""
    compaction = settings.compaction
    return CompactionPolicy(
        threshold=compaction.threshold,
        keep_recent=compaction.keep_recent,
        max_summaries=compaction.max_summaries_per_stream,
        summary_ttl_ms=_ms(compaction.summary_ttl),
    )


def build_writer(settings: Settings, tenant: str) -> FileArchiveWriter:
    """A writer of round files for one tenant."""
    archive = settings.archive
    return FileArchiveWriter(
        archive.dir,
        archive.max_rounds,
        tenant=tenant,
        modes=Modes(file=archive.file_mode, folder=archive.dir_mode),
    )


def build_stream_archiver(store: RedisEventStore, settings: Settings) -> StreamArchiver:
    """An archiver of given streams, on a connection of its own; the caller closes it."""
    archive = settings.archive
    return StreamArchiver(
        store.wires.dedicated(),
        store.keys,
        build_writer(settings, store.tenant),
        ArchivingPolicy(
            store.tenant,
            screen=archive.screen,
            deaths=settings.sequencer.poison_attempts,
            limits=_round_limits(settings),
        ),
        store.clock,
        sealer=_sealer(settings),
    )


def _sealer(settings: Settings) -> SegmentSealer | None:
    segments = settings.segments
    if not segments.enabled or segments.base is None:
        return None
    redactor = load_redactor(segments.redactor) if segments.redactor else None
    return SegmentSealer(segments.base, redactor, is_erased=is_erased_in(settings.archive.dir))


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
        sequencer=SequencerPart(_sequencer(store, settings, worker), reporter),
        archiver=ArchiverPart(_archiver(store, settings, worker), reporter, due),
        compactor=CompactionPart(build_compactor(store, settings), reporter, due),
        relief=ReliefPart(_relief(store, settings), reporter),
        janitor=JanitorPart(
            _janitor(store, settings, worker),
            reporter,
            due,
            interval_s=settings.worker.scan_interval.total_seconds(),
        ),
    )


def _sequencer(store: RedisEventStore, settings: Settings, worker: str) -> Sequencer:
    # Lease and commits share a connection: a renewal can't fall between WATCH and EXEC.
    wire = store.wires.dedicated()
    sequencer = settings.sequencer
    policy = SequencerPolicy(
        inbox=InboxPolicy(
            limits=store.options.limits,
            batch=store.options.batch,
            seen_window_s=sequencer.seen_window_s,
            dead_max=settings.retention.dead_max,
        ),
        page=PagePolicy(sequencer.page, sequencer.max_page_bytes),
        lease_ttl_ms=sequencer.lease_ttl_ms,
        owner=worker,
        poison_attempts=sequencer.poison_attempts,
        block_ms=settings.redis.block_ms,
    )
    commits = replace(store.options.commit, overdraft=sequencer.overdraft)
    committer = Committer(wire, store.keys, store.clock, commits)
    return Sequencer(wire, committer, store.keys, policy, store.clock)


def _archiver(store: RedisEventStore, settings: Settings, worker: str) -> Archiver:
    group = FeedGroup(store.wires.dedicated(), store.keys, ARCHIVERS, worker)
    policy = ArchiverPolicy(
        batch=settings.archive.batch,
        claim_idle_ms=settings.archive.claim_idle_ms,
        block_ms=settings.redis.block_ms,
    )
    return Archiver(group, build_stream_archiver(store, settings), policy)


def _relief(store: RedisEventStore, settings: Settings) -> Relief:
    wire = store.wires.dedicated()
    return Relief(wire, store.keys, build_compactor(store, settings, wire), random.shuffle)


def _janitor(store: RedisEventStore, settings: Settings, worker: str) -> Janitor:
    interval_ms = _ms(settings.worker.scan_interval)
    policy = JanitorPolicy(
        lease_ttl_ms=max(2 * interval_ms, 60_000),
        owner=worker,
        feed_keep=settings.retention.feed_keep,
        feed_max=settings.retention.feed_max,
        group_ttl_ms=_ms(settings.retention.group_ttl),
        max_round_bytes=settings.archive.max_round_bytes,
    )
    wire = store.wires.dedicated()
    archiver = build_stream_archiver(store, settings)
    compactor = build_compactor(store, settings)
    idle = RetirementPolicy(
        stream_ttl_ms=_ms(settings.retention.stream_ttl),
        forget_after_ms=_ms(settings.retention.forget_after),
    )
    retirement = Retirement(wire, store.keys, archiver, compactor, idle, store.clock)
    return Janitor(wire, store.keys, archiver, compactor, retirement, policy)


def _round_limits(settings: Settings) -> RoundLimits:
    return RoundLimits(settings.archive.max_round_events, settings.archive.max_round_bytes)


def _unique_name() -> str:
    """A name nobody else has, or ever had: the feed entries of the dead are not taken for ours."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"


def _volume_problem(settings: Settings) -> str | None:
    """Why the archive's volume can't take rounds; None when it can."""
    archive = settings.archive
    modes = Modes(file=archive.file_mode, folder=archive.dir_mode)
    facts = probe_volume(archive.dir, sentinel=archive.sentinel_file or "", modes=modes)
    return None if facts.usable else f"{facts.reason}: {facts.detail}"


def _ms(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
