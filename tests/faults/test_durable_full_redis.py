"""A group whose Redis is at `maxmemory`: its members work on, share, and hold no feed up."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from streams import RedisEventStore, SubscriptionOptions
from streams.durable.plan import PARTITIONS
from streams.errors import StoreFull
from streams.redis_store import StoreOptions
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.subscribers import beats, die, events, handle, nothing_more, numbered
from support.waiting import eventually

LEASE_TTL_MS = 600
OPTIONS = StoreOptions(
    subscriptions=SubscriptionOptions(block_ms=50, lease_ttl_ms=LEASE_TTL_MS), timeout_s=2.0
)


@pytest.fixture(params=[REDIS_7, REDIS_62])
def server(start_server, request: pytest.FixtureRequest) -> RedisServer:
    """A server of the test's own, to fill."""
    return start_server(request.param)


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


async def open_store(stack: AsyncExitStack, url: str) -> RedisEventStore:
    return await stack.enter_async_context(await RedisEventStore.connect(url, "t", options=OPTIONS))


def fill(server: RedisServer) -> None:
    """From now on Redis refuses whatever takes memory."""
    with server.admin() as admin:
        admin.config_set("maxmemory", max(admin.info("memory")["used_memory"] - 200_000, 1))


def make_room(server: RedisServer) -> None:
    with server.admin() as admin:
        admin.config_set("maxmemory", 0)


async def appended(store: RedisEventStore, each: int) -> list[tuple[str, int]]:
    """So many events in each of four streams; their places."""
    for n in range(4):
        await store.append(f"s{n}", events(each))
    return [place for n in range(4) for place in numbered(f"s{n}", 1, each)]


async def test_a_member_works_on_and_what_it_did_is_recorded(server: RedisServer, stack):
    store = await open_store(stack, server.url)
    async with store.subscribe(group="g", start="beginning") as member:
        expected = await appended(store, 5)
        seen = await handle(member, 3)
        fill(server)

        seen += await handle(member, 17)

        assert sorted((stream, version) for stream, version, _ in seen) == expected
        assert {attempt for _, _, attempt in seen} == {1}
    async with store.subscribe(group="g") as again:
        assert await nothing_more(again)


async def test_a_member_keeps_its_partitions_however_long_it_lasts(server: RedisServer, stack):
    store = await open_store(stack, server.url)
    async with store.subscribe(group="g", start="beginning") as member:
        fill(server)
        await beats(member, 12)  # three lives of a lease

        with server.admin() as admin:
            names = [store.keys.lease(f"group:g:{number}") for number in range(PARTITIONS)]
            assert admin.exists(*names) == PARTITIONS
        assert len(member.partitions) == PARTITIONS


async def test_members_come_share_and_follow_a_dead_one(server: RedisServer, stack):
    first, second = [await open_store(stack, server.url) for _ in range(2)]
    async with first.subscribe(group="g", start="beginning") as doomed:
        expected = await appended(first, 5)
        fill(server)
        async with second.subscribe(group="g") as member:
            await eventually(lambda: len(doomed.partitions) == len(member.partitions) == 8)
            await die(doomed)
            await eventually(lambda: len(member.partitions) == PARTITIONS)

            seen = await handle(member, 20)

            assert sorted((stream, version) for stream, version, _ in seen) == expected


async def test_a_new_group_has_to_wait_for_room_and_says_so(server: RedisServer, stack):
    store = await open_store(stack, server.url)
    fill(server)

    with pytest.raises(StoreFull):
        async with store.subscribe(group="g"):
            pass

    make_room(server)
    async with store.subscribe(group="g") as member:
        assert len(member.partitions) == PARTITIONS


async def test_without_the_right_to_run_scripts_a_member_waits_for_room(server: RedisServer, stack):
    """Nothing else passes there. What it had in hand is still its own afterwards."""
    with server.admin() as admin:
        admin.acl_setuser(
            "member", enabled=True, nopass=True, keys=["*"], categories=["+@all"],
            commands=["-eval"],
        )  # fmt: skip
    store = await open_store(stack, server.url.replace("redis://", "redis://member:any@"))
    async with store.subscribe(group="g", start="beginning") as member:
        expected = await appended(store, 5)
        seen = await handle(member, 3)
        fill(server)
        handling = asyncio.create_task(handle(member, 17))
        with server.admin() as admin:
            lease = store.keys.lease("group:g:0")
            await eventually(lambda: not admin.exists(lease))
        assert not handling.done()

        make_room(server)
        seen += await handling

        assert sorted((stream, version) for stream, version, _ in seen) == expected
