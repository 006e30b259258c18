"""A Redis that answers, and refuses: each refusal is named, and ends when its cause does."""

from __future__ import annotations

import asyncio

import pytest

from streams.connection import ConnectionOptions
from streams.errors import AresError, StoreAccessDenied, StoreFull, StoreUnavailable
from streams.event import Event
from streams.redis_store import RedisEventStore
from support.waiting import eventually


def one(text: str = "") -> list[Event]:
    return [Event(type="llm.call", payload={"text": text})]


async def test_a_replica_is_named_and_left_when_it_is_promoted(start_server, tenant):
    server = start_server()
    async with await RedisEventStore.connect(server.url, tenant) as store:
        await store.append("s", one())
        with server.admin() as admin:
            admin.replicaof("127.0.0.1", "9")
            with pytest.raises(StoreUnavailable) as failure:
                await store.append("s", one())
            assert failure.value.kind == "read_only"

            admin.replicaof("NO", "ONE")
        assert await store.append("s", one()) == 2


async def test_a_server_that_loads_its_data_is_named_and_works_afterwards(start_server, tenant):
    server = start_server()
    with server.admin() as admin:
        pipe = admin.pipeline(transaction=False)
        for n in range(1_000):
            pipe.set(f"k{n}", "v")
        pipe.execute()
        admin.save()
    server.kill()
    server.options = (
        *("--key-load-delay", "2000"),
        *("--loading-process-events-interval-bytes", "1024"),
    )
    starting = asyncio.create_task(asyncio.to_thread(server.start))
    kinds = set()

    async def ask() -> bool:
        try:
            async with await RedisEventStore.connect(server.url, tenant) as store:
                return await store.append("s", one()) == 1
        except StoreUnavailable as failure:
            kinds.add(failure.kind)
            return False

    await eventually(ask, 30)
    await starting
    assert "loading" in kinds
    assert kinds <= {"loading", "connection"}


async def test_a_full_server_is_named_nothing_is_half_written_and_reading_goes_on(
    start_server, tenant
):
    server = start_server()
    async with await RedisEventStore.connect(server.url, tenant) as store:
        await store.append("s", one())
        with server.admin() as admin:
            admin.config_set("maxmemory", "1mb")
            with pytest.raises(StoreFull):
                await store.append("s", one())
            assert len(await store.read("s")) == 1
            assert await store.stream_version("s") == 1

            admin.config_set("maxmemory", 0)
        assert await store.append("s", one()) == 2


async def test_a_wrong_password_is_named_and_a_new_one_taken_at_the_next_connect(
    start_server, tenant
):
    server = start_server(options=("--requirepass", "right"))
    with pytest.raises(StoreAccessDenied) as failure:
        await RedisEventStore.connect(
            server.url, tenant, connection=ConnectionOptions(password="wrong")
        )
    assert failure.value.kind == "auth"
    assert "wrong" not in str(failure.value)

    right = ConnectionOptions(password="right")
    async with await RedisEventStore.connect(server.url, tenant, connection=right) as store:
        assert await store.append("s", one()) == 1


async def test_a_user_without_the_right_is_denied_by_name(start_server, tenant):
    server = start_server()
    with server.admin() as admin:
        admin.acl_setuser(
            "reader",
            enabled=True,
            passwords=["+p"],
            keys=["*"],
            commands=["+@read", "+@connection", "+@transaction"],
        )
    user = ConnectionOptions(username="reader", password="p")
    async with await RedisEventStore.connect(server.url, tenant, connection=user) as store:
        assert await store.read("s") == []
        with pytest.raises(StoreAccessDenied):
            await store.append("s", one())


async def test_a_tenants_user_reaches_no_other_tenant(start_server, tenant):
    server = start_server()
    with server.admin() as admin:
        admin.acl_setuser(
            "mine",
            enabled=True,
            passwords=["+p"],
            keys=[f"ares:{{{tenant}}}:*"],
            commands=["+@all"],
        )
    user = ConnectionOptions(username="mine", password="p")
    async with await RedisEventStore.connect(server.url, tenant, connection=user) as store:
        assert await store.append("s", one()) == 1
        assert len(await store.read("s")) == 1
    async with await RedisEventStore.connect(server.url, "other", connection=user) as store:
        with pytest.raises(StoreAccessDenied):
            await store.append("s", one())


async def test_an_event_the_server_finds_too_long_fails_and_the_store_goes_on(start_server, tenant):
    """Redis cuts the connection over an argument beyond its own limit."""
    server = start_server()
    with server.admin() as admin:
        admin.config_set("proto-max-bulk-len", "1mb")
    async with await RedisEventStore.connect(server.url, tenant) as store:
        await store.append("s", one())
        with pytest.raises(AresError):
            await store.append("s", one("x" * (2 << 20)))

        assert await store.stream_version("s") == 1
        assert await store.append("s", one()) == 2


async def test_more_callers_than_connections_wait_for_one(start_server, tenant):
    server = start_server(options=("--maxclients", "20"))
    async with await RedisEventStore.connect(server.url, tenant) as store:
        await store.append("s", one())
        reads = await asyncio.gather(*(store.read("s") for _ in range(200)))
        versions = await asyncio.gather(*(store.append("s", one()) for _ in range(200)))

    assert {len(read) for read in reads} == {1}
    assert versions == list(range(2, 202))
