"""Ways to treat a tenant's feed as a worker, an accident or a careless hand would."""

from __future__ import annotations

from collections.abc import Sequence

from streams.durable.upkeep import GroupsTended, note_losses, tend_groups
from streams.feed_upkeep import trim_feed as trim_unneeded
from streams.memory_store import MemoryEventStore
from streams.store import EventStore
from streams.wire import Reply

WEEK_MS = 7 * 86_400_000


async def trim_feed(store: EventStore, keep: int) -> None:
    """Forget all but the newest `keep` entries, whoever may still need the others."""
    if isinstance(store, MemoryEventStore):
        store.trim_feed(keep)
    else:
        await store.wires.exchange([("XTRIM", store.keys.feed, "MAXLEN", "=", keep)])


async def drop_groups(store: EventStore, keep: int) -> None:
    """Trim the feed as a worker does that has dropped every group which is in the way."""
    if isinstance(store, MemoryEventStore):
        store.trim_feed(keep)
    else:
        await tend(store, keep=keep, feed_max=keep)


async def tend(
    store: EventStore, *, keep: int, feed_max: int = 1_000_000, group_ttl_ms: int = WEEK_MS
) -> GroupsTended:
    """What a worker's janitor does with the feed, once."""
    async with store.wires.borrow() as wire:
        tended = await tend_groups(wire, store.keys, group_ttl_ms=group_ttl_ms, feed_max=feed_max)

        async def note(going: Sequence[Reply]) -> None:
            await note_losses(wire, store.keys, tended.behind, going)

        while await trim_unneeded(wire, store.keys, keep=keep, floors=tended.floors, before=note):
            pass
    return tended
