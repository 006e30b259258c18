"""A worker whose network, Redis or own process fails: everything once, and up again by itself."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from redis.exceptions import RedisError

from streams.keys import Keys
from support import sessions
from support.lossy_proxy import Fault, LossyProxy
from support.redis_server import RedisServer
from support.sessions import rounds_due, rounds_in
from support.waiting import eventually, eventually_sync
from support.worker_process import Installation

KEYS = Keys("default")
ROUNDS = 30

IMPATIENT = {
    "ARES_SEQUENCER_LEASE_TTL_MS": "2000",
    "ARES_ARCHIVE_CLAIM_IDLE_MS": "2000",
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "1500",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
}
"""Settings under which a worker gives up, and takes over, within a second or two."""


@pytest.fixture
def redis(start_server) -> RedisServer:
    """A Redis that keeps what it acknowledged when it is killed."""
    return start_server(aof="always")


@pytest.fixture
def here(redis, install) -> Installation:
    return install(redis.url, **IMPATIENT)


def produce(server: RedisServer, agents: range) -> int:
    """XADD three rounds of each of some agents."""
    with server.admin() as admin:
        return sessions.produce(admin, KEYS.inbox, agents)


WORDS = ["EXEC", "WATCH", "XRANGE", "XREADGROUP", "XACK", "XREAD", "HGET", "MULTI", "XAUTOCLAIM"]


async def test_a_worker_on_a_network_that_loses_and_cuts_archives_everything_once(redis, install):
    chance = random.Random(11)
    direct = install(redis.url, **IMPATIENT)
    async with LossyProxy(redis.port) as proxy:
        here = replace(direct, redis_url=proxy.url)
        with here.worker() as worker:
            await eventually(lambda: asyncio.to_thread(lambda: worker.get("/livez")[0] == 200), 30)
            for batch in range(3):
                for _ in range(4):
                    fault = chance.choice([Fault.DROP, Fault.REFUSE, Fault.BLACKHOLE])
                    proxy.fail(chance.choice(WORDS), fault)
                await asyncio.to_thread(produce, redis, range(batch * 2, batch * 2 + 2))
                await eventually(lambda batch=batch: len(here.rounds()) == (batch + 1) * 6, 60)
            proxy.heal()
        assert proxy.hits >= 3
    assert rounds_in(here.rounds()) == rounds_due(range(6))


def test_workers_killed_again_and_again_leave_nothing_out_and_nothing_twice(redis, here):
    chance = random.Random(5)
    produce(redis, range(10))
    for _ in range(5):
        with here.worker() as worker:
            eventually_sync(lambda worker=worker: worker.get("/livez")[0] == 200, 30)
            before = len(here.rounds())
            goal = before + chance.randint(0, 5)
            eventually_sync(lambda goal=goal: len(here.rounds()) >= min(goal, ROUNDS), 30)
            worker.kill()

    eventually_sync(lambda: drained(here), 30)
    assert rounds_in(here.rounds()) == rounds_due(range(10))


def drained(here: Installation) -> bool:
    here.call("run", "--once")
    return len(here.rounds()) >= ROUNDS


def test_redis_killed_and_restarted_under_a_worker_is_an_outage_and_nothing_else(redis, here):
    with here.worker() as worker:
        worker.wait_ready()
        for turn in range(3):
            produce(redis, range(turn * 2, turn * 2 + 2))
            redis.kill()
            eventually_sync(lambda: worker.get("/readyz")[0] == 503, 20)
            assert worker.get("/livez")[0] == 200
            redis.start()
            eventually_sync(lambda: worker.get("/readyz")[0] == 200, 30)
        eventually_sync(lambda: len(here.rounds()) == 18, 30)

    assert rounds_in(here.rounds()) == rounds_due(range(6))


def test_a_frozen_worker_that_wakes_up_after_another_took_over_changes_nothing(redis, here):
    with here.worker() as frozen:
        frozen.wait_ready()
        produce(redis, range(3))
        frozen.freeze()
        with here.worker() as other:
            produce(redis, range(3, 6))
            eventually_sync(lambda: len(here.rounds()) == 18, 60)
            frozen.thaw()
            produce(redis, range(6, 8))
            eventually_sync(lambda: len(here.rounds()) == 24, 60)
            assert other.process.poll() is None

    assert rounds_in(here.rounds()) == rounds_due(range(8))


def flush(server: RedisServer) -> None:
    with server.admin() as admin:
        admin.flushall()


def drop_feed(server: RedisServer) -> None:
    with server.admin() as admin:
        admin.delete(KEYS.feed)


def drop_group(server: RedisServer) -> None:
    with server.admin() as admin:
        admin.xgroup_destroy(KEYS.feed, "archivers")


@pytest.mark.parametrize("wipe", [flush, drop_feed, drop_group])
def test_a_wiped_redis_is_worked_on_at_once(redis, here, wipe: Callable[[RedisServer], None]):
    with here.worker() as worker:
        worker.wait_ready()
        produce(redis, range(1))
        eventually_sync(lambda: len(here.rounds()) == 3, 30)
        wipe(redis)
        produce(redis, range(5, 7))
        eventually_sync(lambda: len(here.rounds()) == 9, 30)
        assert worker.get("/livez")[0] == 200
        said = [json.loads(line) for line in worker.log().splitlines()]

    warnings = [line for line in said if line["level"] in ("warning", "error")]
    assert len(warnings) <= 4, warnings


def test_an_inbox_of_another_type_is_tried_gently_named_and_gone_on_with(redis, here):
    with redis.admin() as admin, here.worker() as worker:
        worker.wait_ready()
        admin.set(KEYS.inbox, "x")
        eventually_sync(lambda: worker.get("/readyz")[0] == 503, 30)
        assert "sequencer" in worker.get("/readyz")[1]
        wait_out(2)  # the first tries come fast
        calls = tries(admin)
        wait_out(3)
        assert tries(admin) - calls <= 6, "more than two tries a second"
        said = [json.loads(line) for line in worker.log().splitlines()]
        assert len([line for line in said if line["level"] == "warning"]) <= 5

        admin.delete(KEYS.inbox)
        produce(redis, range(1))
        eventually_sync(lambda: len(here.rounds()) == 3, 60)
        eventually_sync(lambda: worker.get("/readyz")[0] == 200, 60)


def wait_out(seconds: float) -> None:
    """Let a span pass in which something must not happen too often."""
    until = time.monotonic() + seconds
    eventually_sync(lambda: time.monotonic() >= until, seconds + 5)


def tries(admin) -> int:
    stats = admin.info("commandstats")
    return stats.get("cmdstat_xrange", {}).get("calls", 0)


async def test_a_server_that_stops_answering_is_noticed_and_taken_up_again(redis, here):
    with here.worker() as worker:
        worker.wait_ready()
        redis.pause()
        try:
            eventually_sync(lambda: worker.get("/readyz")[0] == 503, 20)
            assert worker.get("/livez")[0] == 200
        finally:
            redis.resume()
        eventually_sync(lambda: answers(redis), 10)
        produce(redis, range(2))
        eventually_sync(lambda: len(here.rounds()) == 6, 30)


def answers(server: RedisServer) -> bool:
    try:
        with server.admin() as admin:
            return bool(admin.ping())
    except RedisError:
        return False
