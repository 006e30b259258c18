"""Live subscriptions through cut connections, crashes of Redis, lost replies, withdrawn rights."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict

import pytest

from streams import (
    Gap,
)
from streams.errors import StoreAccessDenied, StoreUnavailable
from support.lossy_proxy import Fault, LossyProxy
from support.publisher import publish
from support.subscribers import events, nothing_more, numbered, places, take
from support.waiting import eventually


async def collect(subscription, count: int) -> dict[str, list[int]]:
    """Versions by stream, gaps unfolded, until `count` events are accounted for."""
    versions: dict[str, list[int]] = defaultdict(list)
    total = 0
    async with asyncio.timeout(60):
        async for item in subscription:
            if isinstance(item, Gap):
                assert item.count == item.to_version - item.from_version + 1
                versions[item.stream] += range(item.from_version, item.to_version + 1)
                total += item.count
            else:
                versions[item.stream_id].append(item.version)
                total += 1
            if total >= count:
                return dict(versions)
    raise AssertionError("the subscription ended")


@pytest.mark.parametrize("start", ["now", "beginning"])
async def test_connections_killed_twenty_times_leave_neither_hole_nor_repeat(
    start_server, open_store, start
):
    server = start_server()
    reading, writing = await open_store(server.url), await open_store(server.url)
    streams, each = 4, 60

    async def cut_connections() -> None:
        with server.admin() as admin:
            for n in range(20):
                await eventually(lambda n=n: subscription.delivered >= n * 10, 30)
                admin.execute_command("CLIENT KILL TYPE normal SKIPME yes")

    async with reading.subscribe(on_overflow="block", start=start) as subscription:
        publishing = asyncio.gather(publish(writing, streams, each), cut_connections())
        seen = await collect(subscription, streams * each)
        await publishing

        assert seen == {f"s{n}": list(range(1, each + 1)) for n in range(streams)}
        assert await nothing_more(subscription)


@pytest.mark.parametrize("crashes", [2, pytest.param(8, marks=pytest.mark.chaos)])
async def test_crashes_of_redis_cost_no_event_and_a_sleeper_accounts_for_all(
    start_server, open_store, crashes
):
    """`appendfsync always`: what was acknowledged is there again after a crash."""
    server = start_server(aof="always")
    reading, writing = await open_store(server.url), await open_store(server.url)
    streams, each = 5, 40 * crashes
    everything = {f"s{n}": list(range(1, each + 1)) for n in range(streams)}

    async def crash() -> None:
        for number in range(crashes):
            await eventually(lambda n=number: eager.delivered > n * streams * 30 + 50, 60)
            await asyncio.to_thread(server.restart)

    async with (
        reading.subscribe(on_overflow="block") as eager,
        reading.subscribe(buffer=10) as sleeper,
        reading.subscribe(buffer=50) as hasty,
    ):
        publishing = asyncio.gather(publish(writing, streams, each), crash())
        hurrying = asyncio.create_task(collect(hasty, streams * each))
        assert await collect(eager, streams * each) == everything
        await publishing
        assert await hurrying == everything
        assert hasty.delivered + hasty.dropped == streams * each

        await eventually(lambda: sleeper.dropped == streams * each - 10)
        assert await collect(sleeper, streams * each) == everything
        assert sleeper.delivered == 10


async def test_lost_and_late_replies_to_its_reads_cost_nothing(server, open_store, tenant):
    writing = await open_store(server.url, tenant)
    async with LossyProxy(server.port) as proxy:
        reading = await open_store(proxy.url, tenant)
        async with reading.subscribe(on_overflow="block", start="beginning") as subscription:
            taking = asyncio.create_task(take(subscription, 18, 30))
            for word, fault in itertools.product(
                ("XREAD", "XRANGE"), (Fault.DROP, Fault.REFUSE, Fault.DELAY)
            ):
                hits = proxy.hits
                proxy.fail(word, fault, delay_s=0.2)
                await writing.append("s", events(3))
                await eventually(lambda h=hits: proxy.hits > h)
            assert places(await taking) == numbered("s", 1, 18)
            assert await nothing_more(subscription)


async def test_a_connection_that_went_dead_without_a_word_is_given_up(
    server, open_store, tenant, monkeypatch
):
    monkeypatch.setattr("streams.subscription.redis_source._BLOCK_MARGIN_S", 0.5)
    writing = await open_store(server.url, tenant)
    async with LossyProxy(server.port) as proxy:
        reading = await open_store(proxy.url, tenant)
        async with reading.subscribe(on_overflow="block") as subscription:
            proxy.fail("XREAD", Fault.BLACKHOLE)
            await eventually(lambda: proxy.hits == 1)
            await writing.append("s", events(2))
            assert places(await take(subscription, 2, 15)) == numbered("s", 1, 2)


async def test_credentials_withdrawn_are_raised(start_server, open_store):
    server = start_server()
    with server.admin() as admin:
        admin.acl_setuser("reader", enabled=True, passwords=["+x"], keys=["*"], commands=["+@all"])
    url = f"redis://reader:x@127.0.0.1:{server.port}/0"
    store = await open_store(url)
    async with store.subscribe() as subscription:
        with server.admin() as admin:
            admin.acl_deluser("reader")  # ends its connections too
        with pytest.raises(StoreAccessDenied):
            await take(subscription, 1)


async def test_a_store_without_a_server_fails_at_the_beginning(start_server, open_store):
    server = start_server()
    store = await open_store(server.url)
    server.kill()
    for more in ({}, {"start": "beginning"}, {"group": "g"}):
        with pytest.raises(StoreUnavailable):
            async with store.subscribe(**more):
                pass
