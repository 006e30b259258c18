"""Live subscriptions through cut connections, crashes of Redis, lost feeds and foreign hands."""

from __future__ import annotations

import asyncio
import itertools
import resource
from collections import defaultdict
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from streams import (
    Event,
    EventFilter,
    Gap,
    RedisEventStore,
    SubscriptionLimit,
    SubscriptionOptions,
)
from streams.connection import ConnectionOptions, open_client
from streams.errors import CorruptionError, StoreAccessDenied, StoreUnavailable
from streams.redis_store import StoreOptions
from support.lossy_proxy import Fault, LossyProxy
from support.publisher import publish
from support.subscribers import events, nothing_more, numbered, place, places, take
from support.waiting import eventually

OPTIONS = StoreOptions(subscriptions=SubscriptionOptions(block_ms=100), timeout_s=2.0)


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


async def open_store(stack: AsyncExitStack, url: str, tenant: str = "t") -> RedisEventStore:
    return await stack.enter_async_context(
        await RedisEventStore.connect(url, tenant, options=OPTIONS)
    )


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
    start_server, stack, start
):
    server = start_server()
    reading, writing = await open_store(stack, server.url), await open_store(stack, server.url)
    streams, each = 4, 60

    async def cut_connections() -> None:
        with server.admin() as admin:
            for _ in range(20):
                admin.execute_command("CLIENT KILL TYPE normal SKIPME yes")
                await asyncio.sleep(0.03)

    async with reading.subscribe(on_overflow="block", start=start) as subscription:
        publishing = asyncio.gather(publish(writing, streams, each), cut_connections())
        seen = await collect(subscription, streams * each)
        await publishing

        assert seen == {f"s{n}": list(range(1, each + 1)) for n in range(streams)}
        assert await nothing_more(subscription)


@pytest.mark.parametrize("crashes", [2, pytest.param(8, marks=pytest.mark.chaos)])
async def test_crashes_of_redis_cost_no_event_and_a_sleeper_accounts_for_all(
    start_server, stack, crashes
):
    """`appendfsync always`: what was acknowledged is there again after a crash."""
    server = start_server(aof="always")
    reading, writing = await open_store(stack, server.url), await open_store(stack, server.url)
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


async def test_lost_and_late_replies_to_its_reads_cost_nothing(server, stack, tenant):
    writing = await open_store(stack, server.url, tenant)
    async with LossyProxy(server.port) as proxy:
        reading = await open_store(stack, proxy.url, tenant)
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


async def test_a_connection_that_went_dead_without_a_word_is_given_up(server, stack, tenant):
    writing = await open_store(stack, server.url, tenant)
    async with LossyProxy(server.port) as proxy:
        reading = await open_store(stack, proxy.url, tenant)
        async with reading.subscribe(on_overflow="block") as subscription:
            proxy.fail("XREAD", Fault.BLACKHOLE)
            await eventually(lambda: proxy.hits == 1)
            await writing.append("s", events(2))
            assert places(await take(subscription, 2, 15)) == numbered("s", 1, 2)


@pytest.mark.parametrize("mode", ["drop", "block"])
async def test_after_everything_was_deleted_it_says_so_and_begins_anew(start_server, stack, mode):
    server = start_server()
    store = await open_store(stack, server.url)
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


async def test_a_deleted_feed_costs_nothing_but_a_reset(start_server, stack):
    server = start_server()
    store = await open_store(stack, server.url)
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


@pytest.mark.parametrize("harm", ["deleted", "wrong type", "hole"])
async def test_events_a_foreign_hand_took_are_a_gap_and_its_neighbours_arrive(
    server, stack, tenant, harm
):
    store = await open_store(stack, server.url, tenant)
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


async def test_an_entry_in_the_feed_that_is_none_of_ours_is_passed_over(server, stack, tenant):
    store = await open_store(stack, server.url, tenant)
    async with store.subscribe() as subscription:
        await store.append("s", events(1))
        with server.admin() as admin:
            admin.xadd(store.keys.feed, {"hello": "world"})
        await store.append("s", events(1))
        assert places(await take(subscription, 2)) == numbered("s", 1, 2)


async def test_a_feed_set_back_to_an_earlier_time_repeats_nothing_that_was_had(start_server, stack):
    """As after a failover to a replica that had not seen the last commits."""
    server = start_server()
    store = await open_store(stack, server.url)
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
            for key, value in saved.items():
                admin.restore(key, 0, value, replace=True)
            assert admin.xlen(keys.feed) == 2
        await asyncio.sleep(0.2)
        await store.append("s", events(2))
        await store.append("t", events(1))

        seen = places(await take(subscription, 3))
        assert seen[0] == ("reset", "reset")
        assert set(seen[1:]) <= {("s", 2), ("s", 3), ("t", 3)}
        assert ("t", 3) in seen or places(await take(subscription, 1)) == [("t", 3)]


@pytest.mark.parametrize("mode", ["drop", "block"])
async def test_a_feed_of_another_type_is_raised_not_retried_for_ever(server, stack, tenant, mode):
    store = await open_store(stack, server.url, tenant)
    async with store.subscribe(on_overflow=mode) as subscription:
        with server.admin() as admin:
            admin.set(store.keys.feed, "x")
        with pytest.raises(CorruptionError):
            await take(subscription, 1)


async def test_credentials_withdrawn_are_raised(start_server, stack):
    server = start_server()
    with server.admin() as admin:
        admin.acl_setuser("reader", enabled=True, passwords=["+x"], keys=["*"], commands=["+@all"])
    url = f"redis://reader:x@127.0.0.1:{server.port}/0"
    store = await open_store(stack, url)
    async with store.subscribe() as subscription:
        with server.admin() as admin:
            admin.acl_deluser("reader")  # ends its connections too
        with pytest.raises(StoreAccessDenied):
            await take(subscription, 1)


@pytest.mark.parametrize("more", [{}, {"start": "0-0"}, {"group": "g", "start": "0-0"}])
@pytest.mark.parametrize(
    "wanted", [EventFilter(stream_ids=("other*",)), EventFilter(types=("other.*",))]
)
async def test_what_nobody_wants_by_the_feed_is_not_even_read(start_server, stack, wanted, more):
    server = start_server()
    store = await open_store(stack, server.url)
    bulky = Event("llm.call", {"text": "x" * 1_000_000})
    with server.admin() as admin:
        if "start" in more:
            await store.append("s", [bulky])
        before = admin.info("stats")["total_net_output_bytes"]
        async with store.subscribe(wanted, **more) as subscription:
            await store.append("s", [bulky])
            await store.append("other", events(1, "other.x"))
            (item,) = await take(subscription, 1)
            assert place(item) == ("other", 1)
        assert admin.info("stats")["total_net_output_bytes"] - before < 500_000


async def test_sleepers_hold_no_more_than_their_bounds_say(start_server, stack):
    """Forty megabytes pass by two that never ask; what they may hold are two."""
    server = start_server()
    bounds = SubscriptionOptions(block_ms=100, buffer_bytes=1_000_000, window_bytes=1_000_000)
    store = await stack.enter_async_context(
        await RedisEventStore.connect(server.url, "t", options=StoreOptions(subscriptions=bounds))
    )

    async def drain(count: int) -> None:
        for _ in range(count):
            await anext(awake)

    async def pass_by(count: int) -> None:
        taking = asyncio.create_task(drain(count))
        for _ in range(count // 100):
            await store.append("s", [Event("llm.call", {"text": "x" * 2_000}) for _ in range(100)])
        await taking

    async with (
        store.subscribe(buffer=100_000) as sleeper,
        store.subscribe(on_overflow="block"),
        store.subscribe(on_overflow="block") as awake,
    ):
        await pass_by(2_000)
        before = resident_bytes()
        await pass_by(20_000)
        grown = resident_bytes() - before

        assert grown < 15_000_000
        await eventually(lambda: sleeper.dropped > 21_000)


def resident_bytes() -> int:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def test_a_hundred_subscriptions_wait_on_one_connection(start_server, stack):
    server = start_server()
    store = await open_store(stack, server.url)
    await store.append("s", events(1))
    with server.admin() as admin:
        before = len(admin.client_list())
        subscriptions = [
            await stack.enter_async_context(store.subscribe(on_overflow=mode))
            for mode in ("drop", "block")
            for _ in range(50)
        ]
        await store.append("s", events(2))
        for subscription in subscriptions:
            assert places(await take(subscription, 2)) == numbered("s", 2, 3)
        assert len(admin.client_list()) <= before + 2


async def test_a_pool_too_small_for_a_waiting_reader_says_so_before_anything_hangs(server, tenant):
    """Appends would starve behind the blocked reader."""
    client = open_client(server.url, ConnectionOptions(max_connections=2))
    async with RedisEventStore(client, tenant) as store:
        for group in (None, "g"):
            with pytest.raises(SubscriptionLimit, match="connections"):
                async with store.subscribe(group=group):
                    pass
        await store.append("s", events(1))
        assert await store.stream_version("s") == 1
    await client.aclose()


async def test_a_store_without_a_server_fails_at_the_beginning(start_server, stack):
    server = start_server()
    store = await open_store(stack, server.url)
    server.kill()
    for more in ({}, {"start": "beginning"}, {"group": "g"}):
        with pytest.raises(StoreUnavailable):
            async with store.subscribe(**more):
                pass
