"""Ways to treat a tenant's feed as a worker, an accident or a careless hand would."""

from __future__ import annotations

from streams.memory_store import MemoryEventStore
from streams.store import EventStore


async def trim_feed(store: EventStore, keep: int) -> None:
    """Forget all but the newest `keep` entries, whoever may still need the others."""
    if isinstance(store, MemoryEventStore):
        store.trim_feed(keep)
    else:
        await store.wires.exchange([("XTRIM", store.keys.feed, "MAXLEN", "=", keep)])
