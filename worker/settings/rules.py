"""Pure. Settings that are fine alone and wrong together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from .types import format_duration

if TYPE_CHECKING:
    from .model import Settings

BLOCK_MARGIN_MS: Final = 1_000
"""A blocking read must come back this much before the client gives up on its reply."""


def contradictions(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield key and reason of every value that another one rules out."""
    yield from _timers(settings)
    yield from _limits(settings)
    redis, segments = settings.redis, settings.segments
    if (redis.tls_cert is None) != (redis.tls_key is None):
        missing = "tls_cert" if redis.tls_cert is None else "tls_key"
        yield f"redis.{missing}", "a client certificate needs both tls_cert and tls_key"
    if segments.enabled and segments.base is None:
        yield "segments.base", "must be set while segments.enabled is true"
    if segments.base is not None and not _safe_base(str(segments.base)):
        yield "segments.base", "must be an absolute folder other than / and without .."
    if len(set(settings.tenants)) != len(settings.tenants):
        yield "tenants", "names a tenant twice"


def _timers(settings: Settings) -> Iterator[tuple[str, str]]:
    block, socket = settings.redis.block_ms, settings.redis.socket_timeout_ms
    if block + BLOCK_MARGIN_MS > socket:
        yield (
            "redis.block_ms",
            f"{block} must be at least {BLOCK_MARGIN_MS} below redis.socket_timeout_ms ({socket}), "
            "or an idle read would count as a dead connection",
        )
    lease = settings.sequencer.lease_ttl_ms
    if lease < 2 * block:
        yield (
            "sequencer.lease_ttl_ms",
            f"{lease} must be at least twice redis.block_ms ({block}), "
            "or the lease would lapse while its holder waits for events",
        )
    drain = settings.worker.drain_timeout
    if drain < timedelta(milliseconds=block):
        yield (
            "worker.drain_timeout",
            f"{format_duration(drain)} must not be below redis.block_ms ({block})",
        )
    if settings.archive.claim_idle_ms <= socket:
        yield (
            "archive.claim_idle_ms",
            f"{settings.archive.claim_idle_ms} must be above redis.socket_timeout_ms ({socket}), "
            "or a living worker's entries would be claimed",
        )
    if settings.worker.backoff_min_ms > settings.worker.backoff_max_ms:
        yield "worker.backoff_min_ms", "must not be above worker.backoff_max_ms"


def _limits(settings: Settings) -> Iterator[tuple[str, str]]:
    compaction, retention = settings.compaction, settings.retention
    if compaction.keep_recent >= compaction.threshold:
        yield (
            "compaction.keep_recent",
            f"{compaction.keep_recent} must be below compaction.threshold "
            f"({compaction.threshold}), or a run would have nothing to compact",
        )
    if retention.feed_keep > retention.feed_max:
        yield "retention.feed_keep", "must not be above retention.feed_max"
    if timedelta(0) < retention.forget_after < retention.stream_ttl:
        yield (
            "retention.forget_after",
            "must not be below retention.stream_ttl, which comes first",
        )


def _safe_base(base: str) -> bool:
    return base.startswith("/") and base.strip("/") != "" and ".." not in base.split("/")
