"""The test bed keeps what its users rely on."""

from __future__ import annotations

import asyncio

import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from support.lossy_proxy import Fault, LossyProxy
from support.waiting import eventually


@pytest.fixture
async def proxy(server):
    async with LossyProxy(server.port) as running:
        yield running


@pytest.fixture
async def through(proxy):
    async with redis.asyncio.Redis(
        port=proxy.port, socket_timeout=0.3, retry=Retry(NoBackoff(), 0)
    ) as connected:
        await connected.ping()
        yield connected


async def test_a_dropped_reply_belongs_to_a_command_that_was_executed(
    proxy, through, client, tenant
):
    proxy.fail("SET", Fault.DROP)

    with pytest.raises(redis.exceptions.ConnectionError):
        await through.set(tenant, "v")

    assert await client.get(tenant) == b"v"
    assert await through.get(tenant) == b"v"


async def test_a_dropped_exec_has_run_the_whole_transaction(proxy, through, client, tenant):
    proxy.fail("EXEC", Fault.DROP)
    transaction = through.pipeline().rpush(tenant, "a").rpush(tenant, "b")

    with pytest.raises(redis.exceptions.ConnectionError):
        await transaction.execute()

    assert await client.lrange(tenant, 0, -1) == [b"a", b"b"]


async def test_a_refused_command_never_reaches_the_server(proxy, through, client, tenant):
    proxy.fail("SET", Fault.REFUSE)

    with pytest.raises(redis.exceptions.ConnectionError):
        await through.set(tenant, "v")

    assert await client.get(tenant) is None


async def test_a_black_hole_answers_nothing_and_new_connections_work(proxy, through, tenant):
    proxy.fail("SET", Fault.BLACKHOLE)

    with pytest.raises(redis.exceptions.TimeoutError):
        await through.set(tenant, "v")

    assert await through.get(tenant) is None
    assert proxy.hits == 1


async def test_a_delayed_reply_arrives_after_its_delay(proxy, through, tenant):
    proxy.fail("SET", Fault.DELAY, delay_s=0.1)

    started = asyncio.get_running_loop().time()
    await through.set(tenant, "v")

    assert asyncio.get_running_loop().time() - started >= 0.1


def test_an_append_only_server_keeps_what_it_acknowledged_when_killed(start_server):
    server = start_server(aof="always")
    with server.admin() as before:
        before.set("k", "v")

    server.restart()

    with server.admin() as after:
        assert after.get("k") == b"v"


async def test_a_cluster_node_refuses_a_transaction_over_two_slots(cluster):
    async with cluster.client() as connected:
        with pytest.raises(redis.exceptions.ResponseError, match="same slot"):
            await connected.execute_command("MSET", "a", "1", "b", "2")


async def test_waiting_says_what_it_last_saw():
    with pytest.raises(AssertionError, match=r"the moon.*last: 0"):
        await eventually(lambda: 0, 0.01, hint="the moon")


async def test_waiting_takes_a_whole_assertion():
    seen = iter([1, 2, 3])

    async def three():
        assert next(seen) == 3
        return "done"

    assert await eventually(three) == "done"


async def test_every_backend_answers(every_client, tenant):
    assert await every_client.xadd(tenant, {"a": "1"}, id="7-1") == b"7-1"
