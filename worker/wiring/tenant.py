"""Builds the components of one tenant from the settings, each on connections of its own."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

from archive.publishing.writer import FileArchiveWriter
from archive.storage.disk import Modes
from streams.committing.commit import Committer
from streams.feed import ARCHIVERS, FeedGroup
from streams.redis_store import RedisEventStore
from streams.wire import Wire
from worker.archiving.archiver import Archiver, ArchiverPolicy
from worker.archiving.rounds import RoundLimits
from worker.archiving.stream_archiver import ArchivingPolicy, StreamArchiver
from worker.compacting.compactor import Compactor
from worker.compacting.plan import CompactionPolicy
from worker.compacting.summarizer import load_summarizer
from worker.sealing.erased import is_erased_in
from worker.sealing.sealer import SegmentSealer, load_redactor
from worker.sequencing.commit import InboxPolicy
from worker.sequencing.reader import PagePolicy
from worker.sequencing.sequencer import Sequencer, SequencerPolicy
from worker.settings.load import Settings
from worker.upkeep.janitor import Janitor, JanitorPolicy
from worker.upkeep.relief import Relief
from worker.upkeep.retirement import Retirement, RetirementPolicy


def build_sequencer(store: RedisEventStore, settings: Settings, worker: str) -> Sequencer:
    """A sequencer that goes by the name of `worker`."""
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


def build_archiver(store: RedisEventStore, settings: Settings, worker: str) -> Archiver:
    """A consumer of the feed that goes by the name of `worker`."""
    group = FeedGroup(store.wires.dedicated(), store.keys, ARCHIVERS, worker)
    policy = ArchiverPolicy(
        batch=settings.archive.batch,
        claim_idle_ms=settings.archive.claim_idle_ms,
        block_ms=settings.redis.block_ms,
    )
    return Archiver(group, build_stream_archiver(store, settings), policy)


def build_relief(store: RedisEventStore, settings: Settings) -> Relief:
    """What frees memory while Redis is short of it."""
    wire = store.wires.dedicated()
    return Relief(wire, store.keys, build_compactor(store, settings, wire), random.shuffle)


def build_janitor(store: RedisEventStore, settings: Settings, worker: str) -> Janitor:
    """A janitor that goes by the name of `worker`."""
    policy = JanitorPolicy(
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
        sentinel=archive.sentinel_file or "",
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


def _ms(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
