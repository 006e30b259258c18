"""Subscriptions beside an erasure: nobody loses a place, nobody is handed what is gone."""

from __future__ import annotations

import asyncio

import pytest

from streams import SubscriptionOptions
from streams.event import Event
from streams.redis_store import StoreOptions
from streams.subscription.items import Gap


@pytest.fixture(autouse=True)
def quick(workshop) -> None:
    """Subscriptions that look often and hold their leases for a short time."""
    workshop.options = StoreOptions(
        subscriptions=SubscriptionOptions(block_ms=50, lease_ttl_ms=600)
    )


async def heard(subscription, last: str, *, acknowledge: bool = False) -> list[object]:
    """What is handed over, up to the event that says `last`."""
    items: list[object] = []
    async with asyncio.timeout(20):
        async for item in subscription:
            event = item.event if hasattr(item, "event") else item
            items.append(event)
            if acknowledge and event is not item:
                await item.ack()
            if isinstance(event, Event) and last in str(event.payload):
                return items
    raise AssertionError("the subscription ended")


def told(items: list[object]) -> list[str]:
    """Everything that events and summaries among `items` say."""
    return [str(item.payload) for item in items if isinstance(item, Event)]


async def test_a_subscriber_that_has_read_everything_goes_on_as_if_nothing_had_happened(past):
    async with past.shop.store().subscribe(start="now") as subscription:
        await past.append("s", "llm.call", told="before")
        await heard(subscription, "s-before.")

        # It waits at the end of the feed, on the entry that goes.
        going_on = asyncio.create_task(heard(subscription, "s-after."))
        await past.erase("s")
        await past.append("s", "llm.call", told="after")

        assert [item.version for item in await going_on] == [21]


async def test_a_group_that_has_read_everything_goes_on_as_if_nothing_had_happened(past):
    async with past.shop.store().subscribe(group="audit", start="now") as subscription:
        await past.append("s", "llm.call", told="before")
        await heard(subscription, "s-before.", acknowledge=True)

        going_on = asyncio.create_task(heard(subscription, "s-after.", acknowledge=True))
        await past.erase("s")
        await past.append("s", "llm.call", told="after")

        assert [item.version for item in await going_on] == [21]


async def test_who_starts_at_the_beginning_is_handed_nothing_of_an_erased_stream(past):
    await past.erase("s")
    await past.append("s", "llm.call", told="after")

    async with past.shop.store().subscribe(start="beginning") as subscription:
        items = await heard(subscription, "s-after.")

    assert [text for text in told(items) if " s-" in text] == told(items[-1:])
    assert any(" other-6." in text for text in told(items))


async def test_who_starts_at_the_beginning_is_handed_nothing_of_an_erased_round(past):
    await past.erase("s", 2)
    await past.erase("s", 5)
    await past.append("s", "llm.call", told="after")

    async with past.shop.store().subscribe(start="beginning") as subscription:
        items = await heard(subscription, "s-after.")

    assert not [text for text in told(items) if " s-2." in text or " s-5." in text]
    assert any(" s-6." in text for text in told(items))


async def test_a_subscriber_that_is_behind_is_handed_nothing_that_is_gone(past):
    async with past.shop.store().subscribe(start="0-0") as subscription:
        await past.erase("s")
        await past.append("s", "llm.call", told="after")
        items = await heard(subscription, "s-after.")

    assert [text for text in told(items) if " s-" in text] == told(items[-1:])


async def test_a_subscriber_behind_hears_of_the_other_streams_all_the_same(past):
    async with past.shop.store().subscribe(start="0-0") as subscription:
        await past.append("t", "llm.call", told="first")
        await past.erase("s")
        await past.append("t", "llm.call", told="second")
        items = await heard(subscription, "t-second.")

    assert any("t-first." in text for text in told(items))
    assert not [item for item in items if isinstance(item, Gap) and item.stream == "t"]


async def test_what_a_group_had_given_up_or_missed_of_the_stream_is_forgotten(past):
    client, keys = past.shop.client, past.keys
    await client.zadd(keys.groups, {"audit": 1})
    for stream in ("s", "other"):
        await client.hset(keys.group_losses("audit"), stream, 4)
        await client.xadd(keys.group_dead("audit"), {"stream": stream, "version": 4, "id": "x"})

    await past.erase("s")

    assert await client.hkeys(keys.group_losses("audit")) == [b"other"]
    dead = await client.xrange(keys.group_dead("audit"))
    assert [fields[b"stream"] for _, fields in dead] == [b"other"]
