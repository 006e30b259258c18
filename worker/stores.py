"""Event stores as the settings want them; apart from the wiring, whose worker is slow to load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams.codec import Limits
from streams.committing.commit import CommitPolicy
from streams.plan import BatchLimits
from streams.redis_store import RedisEventStore, StoreOptions

if TYPE_CHECKING:
    from .settings.load import Settings


async def open_store(settings: Settings, tenant: str) -> RedisEventStore:
    """A store of `tenant`, connected; the caller closes it. Raises `StoreUnavailable`."""
    return await RedisEventStore.connect(
        settings.redis.read_url(),
        tenant,
        options=store_options(settings),
        connection=settings.redis.connection_options(),
    )


def store_options(settings: Settings) -> StoreOptions:
    """Limits and policies of a store, from the settings."""
    limits, commit = settings.limits, settings.commit
    return StoreOptions(
        limits=Limits(
            max_stream_bytes=limits.max_stream_bytes,
            max_type_bytes=limits.max_type_bytes,
            max_payload_bytes=limits.max_payload_bytes,
            max_depth=limits.max_depth,
        ),
        batch=BatchLimits(commit.max_events, commit.max_streams, commit.max_bytes),
        commit=CommitPolicy(contention_attempts=commit.attempts),
        timeout_s=settings.redis.socket_timeout_ms / 1000,
    )
