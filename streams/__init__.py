"""Event logs on Redis Streams: append, read, commit and their protocol."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    AresError,
    ConflictError,
    CorruptionError,
    InvalidEvent,
    NotFoundError,
    OutcomeUnknown,
    StoreUnavailable,
    StreamCorrupted,
    StreamIntegrityError,
    StreamNotFound,
    TransientError,
    UsageError,
    VersionConflict,
)
from .event import DEFAULT_TENANT_ID, Event, EventType, PayloadKey, new_event_id
from .filter import EventFilter
from .integrity import stream_hash, verify_stream_integrity
from .store import ANY, NO_STREAM, Direction, EventStore

if TYPE_CHECKING:
    from .durable.member import DurableSubscription
    from .durable.partition import Delivery
    from .emit import emit
    from .live.subscription import Subscription
    from .memory_store import MemoryEventStore
    from .redis_store import RedisEventStore, StoreOptions
    from .subscription.items import Gap, Reset
    from .subscription.options import SubscriptionLimit, SubscriptionOptions

# Loaded when first asked for: values and errors must not cost an import of redis.
_LAZY = {
    "Delivery": ".durable.partition",
    "DurableSubscription": ".durable.member",
    "Gap": ".subscription.items",
    "MemoryEventStore": ".memory_store",
    "RedisEventStore": ".redis_store",
    "Reset": ".subscription.items",
    "StoreOptions": ".redis_store",
    "Subscription": ".live.subscription",
    "SubscriptionLimit": ".subscription.options",
    "SubscriptionOptions": ".subscription.options",
    "emit": ".emit",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_LAZY[name], __name__), name)
    globals()[name] = found
    return found


__all__ = [
    "ANY",
    "DEFAULT_TENANT_ID",
    "NO_STREAM",
    "AresError",
    "ConflictError",
    "CorruptionError",
    "Delivery",
    "Direction",
    "DurableSubscription",
    "Event",
    "EventFilter",
    "EventStore",
    "EventType",
    "Gap",
    "InvalidEvent",
    "MemoryEventStore",
    "NotFoundError",
    "OutcomeUnknown",
    "PayloadKey",
    "RedisEventStore",
    "Reset",
    "StoreOptions",
    "StoreUnavailable",
    "StreamCorrupted",
    "StreamIntegrityError",
    "StreamNotFound",
    "Subscription",
    "SubscriptionLimit",
    "SubscriptionOptions",
    "TransientError",
    "UsageError",
    "VersionConflict",
    "emit",
    "new_event_id",
    "stream_hash",
    "verify_stream_integrity",
]
