"""Reads that are cancelled and subscriptions that are closed: nothing lost, nothing left."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress

import pytest

from streams import SubscriptionLimit, SubscriptionOptions, UsageError
from support.subscribers import events, numbered, places, take
from support.waiting import eventually, turns


@pytest.mark.parametrize("start", ["beginning", "0-0"])
async def test_a_read_that_is_cancelled_loses_nothing(store, start):
    for _ in range(40):
        await store.append("s", events(3))
    seen = []
    async with store.subscribe(start=start, buffer=2, on_overflow="block") as subscription:
        for patience in itertools.cycle(range(12)):
            reading = asyncio.create_task(anext(subscription))
            await turns(patience)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                seen.append(await reading)
            if len(seen) == 120:
                break

    assert places(seen) == numbered("s", 1, 120)


async def test_a_beginning_that_is_cancelled_begins_again(store):
    await store.append("s", events(3))
    subscription = store.subscribe(start="beginning", on_overflow="block")
    seen = []
    for patience in range(40):
        reading = asyncio.create_task(anext(subscription))
        await turns(patience)
        reading.cancel()
        with suppress(asyncio.CancelledError):
            seen.append(await reading)
        if len(seen) == 3:
            break
    seen += await take(subscription, 3 - len(seen))
    assert places(seen) == numbered("s", 1, 3)
    await subscription.close()


async def test_without_a_context_it_counts_as_one_and_ends_with_its_store(backend):
    options = SubscriptionOptions(block_ms=20, max_subscriptions=1)
    store = await backend.open(subscriptions=options)
    subscription = store.subscribe(on_overflow="block")
    waiting = asyncio.create_task(anext(subscription, "ended"))
    await eventually(lambda: subscription.position is not None)

    with pytest.raises(SubscriptionLimit):
        await anext(store.subscribe())

    await store.close()
    async with asyncio.timeout(5):
        assert await waiting == "ended"


@pytest.mark.parametrize("start", ["now", "beginning"])
async def test_closing_in_the_middle_of_the_beginning_leaves_nothing_behind(backend, start):
    options = SubscriptionOptions(block_ms=20, max_subscriptions=1)
    store = await backend.open(subscriptions=options)
    for patience in range(0, 30, 3):
        subscription = store.subscribe(start=start)
        beginning = asyncio.create_task(anext(subscription, "ended"))
        await turns(patience)
        await subscription.close()
        assert await beginning == "ended"

    await store.close()
    with pytest.raises(UsageError, match="closed"):
        await anext(store.subscribe())


async def test_a_closed_subscription_is_not_entered_again(store):
    subscription = store.subscribe()
    async with subscription:
        pass
    with pytest.raises(UsageError, match="subscribe again"):
        await subscription.__aenter__()


async def test_closing_ends_the_iteration_of_whoever_waits(store):
    subscription = store.subscribe()
    async with subscription:
        waiting = asyncio.create_task(anext(subscription, "ended"))
        await turns(10)
        assert not waiting.done()

    async with asyncio.timeout(5):
        assert await waiting == "ended"
    assert [item async for item in subscription] == []


async def test_closing_the_store_ends_its_subscriptions(store):
    async with store.subscribe() as subscription:
        waiting = asyncio.create_task(anext(subscription, "ended"))
        await turns(10)
        await store.close()

        async with asyncio.timeout(5):
            assert await waiting == "ended"
