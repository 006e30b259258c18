"""Live subscriptions beside foreign hands: lost feeds, missing events, keys of another type."""

from __future__ import annotations

import asyncio

import pytest

from streams.errors import CorruptionError
from support.subscribers import events, nothing_more, numbered, places, take
from support.waiting import eventually


@pytest.mark.parametrize("mode", ["drop", "block"])
async def test_after_everything_was_deleted_it_says_so_and_begins_anew(
    start_server, open_store, mode
):
    server = start_server()
    store = await open_store(server.url)
    async with store.subscribe(on_overflow=mode) as subscription:
        await store.append("s", events(3))
        await take(subscription, 3)
        with server.admin() as admin:
            admin.flushall()
        await store.append("s", events(2))

        seen = places(await take(subscription, 3))
        assert seen == [("reset", "trimmed"), *numbered("s", 1, 2)]
        await store.append("s", events(1))
        assert places(await take(subscription, 1)) == [("s", 3)]
        assert await nothing_more(subscription)


async def test_a_deleted_feed_costs_nothing_but_a_reset(start_server, open_store):
    server = start_server()
    store = await open_store(server.url)
    async with store.subscribe(on_overflow="block") as subscription:
        await store.append("s", events(2))
        await take(subscription, 2)
        with server.admin() as admin:
            admin.delete(store.keys.feed)
        await store.append("s", events(2))
        await store.append("t", events(1))

        seen = places(await take(subscription, 4))
        assert seen[0] == ("reset", "trimmed")
        assert sorted(seen[1:]) == [("s", 3), ("s", 4), ("t", 1)]
        assert await nothing_more(subscription)


@pytest.mark.parametrize("waits", [False, True])
async def test_a_feed_set_back_to_an_earlier_time_repeats_nothing_that_was_had(
    start_server, open_store, waits
):
    """As after a failover to a replica that had not seen the last commits."""
    server = start_server()
    store = await open_store(server.url)
    await store.append("s", events(1))
    await store.append("t", events(2))
    async with store.subscribe(on_overflow="block", start="0-0") as subscription:
        await take(subscription, 3)
        keys = store.keys
        with server.admin() as admin:
            saved = {key: admin.dump(key) for key in admin.scan_iter()}
        await store.append("s", events(1))
        assert places(await take(subscription, 1)) == [("s", 2)]
        with server.admin() as admin:
            reading = asyncio.create_task(take(subscription, 3)) if waits else None
            if waits:
                await eventually(lambda: admin.info("clients")["blocked_clients"] == 1)
            for key, value in saved.items():
                admin.restore(key, 0, value, replace=True)
            assert admin.xlen(keys.feed) == 2
        await store.append("s", events(2))
        await store.append("t", events(1))

        seen = places(await (reading or take(subscription, 3)))
        assert seen[0] == ("reset", "reset")
        assert set(seen[1:]) <= {("s", 2), ("s", 3), ("t", 3)}
        assert ("t", 3) in seen or places(await take(subscription, 1)) == [("t", 3)]


@pytest.mark.parametrize("harm", ["deleted", "wrong type", "hole"])
async def test_events_a_foreign_hand_took_are_a_gap_and_its_neighbours_arrive(
    server, open_store, tenant, harm
):
    store = await open_store(server.url, tenant)
    await store.append("s", events(4))
    await store.append("t", events(2))
    log = store.keys.log("s")
    with server.admin() as admin:
        if harm == "hole":
            admin.xdel(log, admin.xrange(log)[1][0])
        else:
            admin.delete(log)
        if harm == "wrong type":
            admin.set(log, "x")

    async with store.subscribe(start="0-0") as subscription:
        seen = places(await take(subscription, 6 if harm == "hole" else 3))
    expected = [("s", 1), ("gap", "s", 2, 2, 1), ("s", 3), ("s", 4)]
    assert seen == [
        *(expected if harm == "hole" else [("gap", "s", 1, 4, 4)]),
        *numbered("t", 1, 2),
    ]


async def test_an_entry_in_the_feed_that_is_none_of_ours_is_passed_over(server, open_store, tenant):
    store = await open_store(server.url, tenant)
    async with store.subscribe() as subscription:
        await store.append("s", events(1))
        with server.admin() as admin:
            admin.xadd(store.keys.feed, {"hello": "world"})
        await store.append("s", events(1))
        assert places(await take(subscription, 2)) == numbered("s", 1, 2)


@pytest.mark.parametrize("mode", ["drop", "block"])
async def test_a_feed_of_another_type_is_raised_not_retried_for_ever(
    server, open_store, tenant, mode
):
    store = await open_store(server.url, tenant)
    async with store.subscribe(on_overflow=mode) as subscription:
        with server.admin() as admin:
            admin.set(store.keys.feed, "x")
        with pytest.raises(CorruptionError):
            await take(subscription, 1)
