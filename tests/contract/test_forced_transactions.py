"""Transactions as scripts: the same compare-and-set on every Redis, and through at `maxmemory`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.exceptions import ResponseError

from streams.errors import CorruptionError, StoreFull
from streams.feed import ARCHIVERS, FeedGroup
from streams.forced import Read, execute, force
from streams.keys import Keys
from streams.lease import Acquired, Lease
from streams.redis_store import RedisEventStore
from streams.state import Advance, advance
from streams.wire import Wire
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.workshop import Workshop

KEYS = Keys("full")


async def read(wire: Wire, *commands: tuple) -> list[Read]:
    """What `commands` read now."""
    return list(zip(commands, await wire.exchange(commands), strict=True))


@pytest.fixture
async def wire(workshop: Workshop) -> AsyncIterator[Wire]:
    store = workshop.store()
    wire = store.wires.dedicated()
    yield wire
    await wire.close()


async def test_what_still_reads_the_same_is_written_and_answered_command_by_command(
    workshop: Workshop, wire: Wire
):
    keys = workshop.store().keys
    await wire.exchange(
        [("HSET", keys.state("s"), "a", "1", "b", "\r\n"), ("RPUSH", keys.dead, "x")]
    )
    reads = await read(
        wire,
        ("HMGET", keys.state("s"), "a", "none", "b"),
        ("GET", keys.head("s")),
        ("LRANGE", keys.dead, 0, -1),
        ("XLEN", keys.inbox),
    )

    replies = await force(
        wire,
        reads,
        [
            ("SET", keys.head("s"), "1-1"),
            ("LPOP", keys.dead),
            ("HSET", keys.head("s"), "a", "1"),
            ("HMGET", keys.state("s"), "none", "b"),
        ],
    )

    assert replies is not None
    assert replies[:2] == [b"OK", b"x"]
    assert isinstance(replies[2], ResponseError)
    assert replies[3] == [None, b"\r\n"]


@pytest.mark.parametrize(
    "change",
    [
        ("HSET", "state", "a", "2"),
        ("HSET", "state", "none", ""),
        ("SET", "head", "1-1"),
        ("RPUSH", "dead", "y"),
        ("XADD", "inbox", "*", "a", "b"),
    ],
    ids=lambda change: " ".join(change[:2]),
)
async def test_what_reads_differently_now_changes_nothing(
    workshop: Workshop, wire: Wire, change: tuple
):
    keys = workshop.store().keys
    named = {"state": keys.state("s"), "head": keys.head("s"), "dead": keys.dead,
             "inbox": keys.inbox}  # fmt: skip
    await wire.exchange([("HSET", keys.state("s"), "a", "1"), ("RPUSH", keys.dead, "x")])
    reads = await read(
        wire,
        ("HMGET", keys.state("s"), "a", "none"),
        ("GET", keys.head("s")),
        ("LRANGE", keys.dead, 0, -1),
        ("XLEN", keys.inbox),
    )
    await wire.exchange([(change[0], named[change[1]], *change[2:])])

    assert await force(wire, reads, [("SET", keys.verify, "1")]) is None

    assert await workshop.client.get(keys.verify) is None


@pytest.fixture(params=[REDIS_7, REDIS_62])
def full(start_server, request: pytest.FixtureRequest) -> RedisServer:
    """A server that refuses whatever takes memory; a few keys are in it."""
    server: RedisServer = start_server(request.param)
    with server.admin() as admin:
        admin.hset(KEYS.state("s"), mapping={"archived_version": 1})
        admin.config_set("maxmemory", 1)
    return server


@pytest.fixture
async def store(full: RedisServer) -> AsyncIterator[RedisEventStore]:
    async with await RedisEventStore.connect(full.url, KEYS.tenant) as opened:
        yield opened


async def test_a_transaction_refused_for_memory_runs_as_a_script(store: RedisEventStore):
    wire = store.wires.dedicated()
    look = ("GET", KEYS.head("s"))
    _, head = await wire.exchange([("WATCH", KEYS.head("s")), look])

    done = await execute(wire, [(look, head)], [("SET", KEYS.head("s"), "1-1")])

    assert done == [b"OK"]
    assert await store.stream_version("s") == 1
    assert await execute(wire, [(look, head)], [("SET", KEYS.head("s"), "2-2")]) is None
    assert await store.stream_version("s") == 1
    await wire.close()


async def test_an_error_inside_a_forced_transaction_is_raised(store: RedisEventStore):
    wire = store.wires.dedicated()

    with pytest.raises(CorruptionError):
        await execute(wire, [], [("SET", KEYS.state("s"), "1"), ("XLEN", KEYS.state("s"))])
    await wire.close()


async def test_a_lease_is_taken_kept_and_released_at_maxmemory(store: RedisEventStore):
    one = Lease(store.wires.dedicated(), KEYS, "x", ttl_ms=60_000, marks=KEYS.attempts)
    other = Lease(store.wires.dedicated(), KEYS, "x", ttl_ms=60_000, marks=KEYS.attempts)

    assert await one.acquire() is Acquired.RELEASED
    assert await other.acquire() is Acquired.NO
    await one.renew()
    await one.rotate()
    await one.release()

    assert await other.acquire() is Acquired.RELEASED


async def test_a_state_advances_at_maxmemory_by_compare_and_set(store: RedisEventStore):
    wire = store.wires.dedicated()
    step = Advance("s", {"archived_version": 1}, {"archived_version": 5})

    assert await advance(wire, KEYS, [step]) == {"s"}
    assert await advance(wire, KEYS, [step]) == set()
    await wire.close()


async def test_the_archivers_group_is_made_at_maxmemory(store: RedisEventStore):
    group = FeedGroup(store.wires.dedicated(), KEYS, ARCHIVERS, "one")

    assert await group.ensure()
    assert not await group.ensure()
    assert (await group.read(count=1)).ids == []
    await group.close()


async def test_without_the_right_to_scripts_a_full_redis_is_named_and_the_right_too(
    full: RedisServer,
):
    with full.admin() as admin:
        admin.config_set("maxmemory", 0)
        admin.acl_setuser("w", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-eval"])
        admin.config_set("maxmemory", 1)
    url = full.url.replace("redis://", "redis://w:any@")
    async with await RedisEventStore.connect(url, KEYS.tenant) as store:
        wire = store.wires.dedicated()
        with pytest.raises(StoreFull, match=r"\+eval"):
            await execute(wire, [], [("SET", KEYS.head("s"), "1-1")])
        await wire.close()


async def test_a_command_too_long_for_a_script_is_refused_before_anything_is_written(
    store: RedisEventStore,
):
    wire = store.wires.dedicated()
    long = ("XDEL", KEYS.inbox, *(f"{n}-1" for n in range(7_000)))

    with pytest.raises(StoreFull, match="too long"):
        await force(wire, [], [("SET", KEYS.head("s"), "1-1"), long])
    assert await store.stream_version("s") == 0
    assert await force(wire, [], [long[:7_000]]) == [0]
    await wire.close()
