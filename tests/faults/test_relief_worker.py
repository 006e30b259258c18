"""A Redis filled to the brim under real workers: they get it out of that by themselves."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import redis as redis_py

from streams.codec import entry_version
from streams.keys import Keys
from support.ledger import Producers
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.waiting import eventually_sync
from support.worker_process import Installation, WorkerProcess

KEYS = Keys("default")
ROUND = 8
STREAMS = 25
QUICK = {
    "ARES_SEQUENCER_LEASE_TTL_MS": "2000",
    "ARES_ARCHIVE_CLAIM_IDLE_MS": "3000",
    "ARES_ARCHIVE_MAX_ROUNDS": "0",
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "2000",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_WORKER_BACKOFF_MAX_MS": "500",
}


@pytest.fixture(params=[REDIS_7, pytest.param(REDIS_62, marks=pytest.mark.chaos)])
def own(start_server, request: pytest.FixtureRequest) -> RedisServer:
    """A server that keeps what it acknowledged, with little memory."""
    server: RedisServer = start_server(request.param, aof="everysec")
    with server.admin() as admin:
        admin.config_set("maxmemory", admin.info("memory")["used_memory"] + (3 << 20))
    return server


@pytest.fixture
def here(own: RedisServer, install) -> Installation:
    return install(own.url, **QUICK)


def add(admin: redis_py.Redis, number: int, *, ends: bool = True) -> None:
    """The next event of some round."""
    last = ends and number % ROUND == ROUND - 1
    fields = {
        "stream": f"old-{number // ROUND % STREAMS}",
        "type": "task.completed" if last else "llm.call",
        "payload": json.dumps({"n": number, "text": "x" * 150}),
    }
    admin.xadd(KEYS.inbox, fields)


def fill(admin: redis_py.Redis, *, ends: bool = True) -> int:
    """Events until Redis refuses the next one, and goes on refusing it; how many it took."""
    number = refused = 0
    while refused < 20:
        try:
            add(admin, number, ends=ends)
        except redis_py.exceptions.OutOfMemoryError:
            refused += 1  # a buffer given back may make room for one more
        else:
            number, refused = number + 1, 0
    return number


def share(admin: redis_py.Redis) -> float:
    memory = admin.info("memory")
    return (memory["used_memory"] - memory["mem_not_counted_for_evict"]) / memory["maxmemory"]


def heads(admin: redis_py.Redis) -> int:
    """Events in all logs, now or before."""
    return sum(entry_version(admin.get(name)) for name in admin.scan_iter(KEYS.head("*")))


def has_room(admin: redis_py.Redis) -> bool:
    return admin.xlen(KEYS.inbox) == 0 and share(admin) <= 0.9


def reasons(worker: WorkerProcess) -> str:
    status, text = worker.get("/readyz")
    return " ".join(json.loads(text)["reasons"].values()) if status == 503 else ""


def said(worker: WorkerProcess, message: str) -> list[dict]:
    """Lines of the worker's log with this message."""
    lines = [json.loads(line) for line in worker.log().splitlines() if line.startswith("{")]
    return [line for line in lines if message in line["msg"]]


def test_an_inbox_that_filled_redis_is_archived_and_freed_and_producers_go_on(
    own: RedisServer, here: Installation
):
    with own.admin() as admin:
        sent = fill(admin)
        with here.worker() as worker:
            eventually_sync(lambda: has_room(admin), 60, hint="memory is freed")
            for number in range(sent, sent + ROUND - sent % ROUND):
                add(admin, number)
            eventually_sync(lambda: worker.get("/readyz")[0] == 200, 20)
            due = (sent + ROUND - sent % ROUND) // ROUND
            eventually_sync(lambda: len(here.rounds()) == due, 30, hint="all rounds are archived")
            metrics = worker.get("/metrics")[1]
            told = said(worker, "short of memory")
        assert heads(admin) == due * ROUND
        [relief] = [line for line in metrics.splitlines() if 'runs_total{result="relief"}' in line]
        assert float(relief.split()[-1]) > 0
        assert 1 <= len(told) <= 4
        assert said(worker, "has memory again")
    assert len(here.json("verify")["findings"]) == 0


def test_workers_killed_in_the_middle_of_it_lose_and_repeat_nothing(
    own: RedisServer, here: Installation
):
    chance = random.Random(3)
    with own.admin() as admin:
        sent = fill(admin)
        goals = sorted(chance.sample(range(1, sent // ROUND // 2), 4))
        for goal in goals:
            with here.worker() as worker:
                eventually_sync(lambda goal=goal: len(here.rounds()) >= goal, 60)
                worker.kill()

        with here.worker():
            eventually_sync(lambda: has_room(admin), 60, hint="memory is freed")
            eventually_sync(lambda: len(here.rounds()) == sent // ROUND, 30)
        assert heads(admin) == sent
    spans: dict[str, list[tuple[int, int]]] = {}
    for record in map(json.loads, here.rounds().values()):
        span = (record["first_version"], record["last_version"])
        spans.setdefault(record["stream_id"], []).append(span)
    for found in spans.values():
        ends = [ROUND * n for n in range(len(found) + 1)]
        assert sorted(found) == [(ends[n] + 1, ends[n + 1]) for n in range(len(found))]


def test_producers_that_never_rest_are_held_up_and_lose_nothing(
    own: RedisServer, here: Installation
):
    with own.admin() as admin:
        fill(admin)
        with Producers(own, 3, pause_s=0.004) as producers, here.worker(), here.worker():
            eventually_sync(lambda: producers.sent > 600, 60, hint="producers go on")
        with here.worker():
            eventually_sync(lambda: admin.xlen(KEYS.inbox) == 0, 30)
            sent = producers.ledger.acknowledged
            due = sum(len(ids) // ROUND for ids in sent.values())
            eventually_sync(lambda: len(rounds_of(here, set(sent))) == due, 30)
        for stream, ids in sent.items():
            assert entry_version(admin.get(KEYS.head(stream))) == len(ids)


def rounds_of(here: Installation, streams: set[str]) -> list[str]:
    return [path for path in here.rounds() if path.split("/")[1] in streams]


def test_unfinished_rounds_cannot_be_freed_and_readiness_says_it(
    own: RedisServer, here: Installation
):
    here = replace(here, settings={**here.settings, "ARES_SEQUENCER_OVERDRAFT": "64KiB"})
    with own.admin() as admin:
        fill(admin, ends=False)
        with here.worker() as worker:
            eventually_sync(
                lambda: (
                    "unfinished rounds can't be freed" in reasons(worker)
                    or "waiting in the inbox" in reasons(worker)
                ),
                40,
                hint="readiness says what can't be freed",
            )
            assert worker.get("/livez")[0] == 200
            assert len(said(worker, "nothing more can be freed")) <= 3

            admin.config_set("maxmemory", 0)
            eventually_sync(lambda: admin.xlen(KEYS.inbox) == 0, 30)
            eventually_sync(lambda: worker.get("/readyz")[0] == 200, 30)


def test_a_full_redis_is_drained_by_run_once_and_looked_at_by_everything_else(
    own: RedisServer, here: Installation
):
    with own.admin() as admin:
        sent = fill(admin)
        here.call("run", "--once")
        assert admin.xlen(KEYS.inbox) == 0
        assert len(here.rounds()) == sent // ROUND
        with full_again(admin):
            assert len(here.json("streams", "list")) == STREAMS
            assert here.json("verify")["findings"] == []
            found = {each["check"]: each for each in here.json("doctor")["findings"]}
            assert found["redis.memory"]["status"] == "warn"
            assert found["tenant.default.rights"]["status"] == "ok"
            here.call("erase", "--stream", "old-0", "--yes")
            assert here.json("verify")["findings"] == []


@contextmanager
def full_again(admin: redis_py.Redis) -> Iterator[None]:
    limit = admin.config_get("maxmemory")["maxmemory"]
    admin.config_set("maxmemory", 1)
    try:
        yield
    finally:
        admin.config_set("maxmemory", limit)
