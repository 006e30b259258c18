"""A worker whose Redis is full, a replica, loading, locked or crowded: it waits and says why."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator

import pytest
import redis as redis_py

from streams.keys import Keys
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.waiting import eventually_sync
from support.worker_process import PROGRAM, Installation, WorkerProcess

KEYS = Keys("default")
QUICK = {
    "ARES_SEQUENCER_LEASE_TTL_MS": "2000",
    "ARES_ARCHIVE_CLAIM_IDLE_MS": "3000",
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "2000",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_WORKER_BACKOFF_MAX_MS": "500",
}


@pytest.fixture
def own(start_server) -> RedisServer:
    return start_server(aof="always")


@pytest.fixture
def here(own, tmp_path) -> Installation:
    return Installation(own.url, tmp_path / "rounds", QUICK)


@pytest.fixture
def admin(own) -> Iterator[redis_py.Redis]:
    with own.admin() as connected:
        yield connected


def send(admin: redis_py.Redis, first: int, rounds: int) -> None:
    """Rounds of four events, each in a stream of its own."""
    for n in range(first, first + rounds):
        for step in range(4):
            payload = json.dumps({"step": step, "text": "x" * 300})
            type_ = "task.completed" if step == 3 else "llm.call"
            fields = {"stream": f"s{n}", "type": type_, "payload": payload}
            admin.xadd(KEYS.inbox, {**fields, "id": f"{n}-{step}"})


def archived(here: Installation, rounds: int, deadline_s: float = 30) -> None:
    eventually_sync(
        lambda: len(here.rounds()) == rounds, deadline_s, hint=f"{rounds} rounds archived"
    )


def says(worker: WorkerProcess, word: str) -> None:
    """Until readiness names `word` as what stands in the way; liveness never fails."""
    eventually_sync(lambda: word in reasons(worker), 30, hint=f"readiness names {word!r}")
    assert worker.get("/livez")[0] == 200


def reasons(worker: WorkerProcess) -> str:
    status, text = worker.get("/readyz")
    return " ".join(json.loads(text)["reasons"].values()) if status == 503 else ""


def is_well(worker: WorkerProcess) -> None:
    eventually_sync(lambda: worker.get("/readyz")[0] == 200, 30, hint="ready again")
    assert worker.process.poll() is None


@pytest.mark.parametrize("version", [REDIS_7, pytest.param(REDIS_62, marks=pytest.mark.chaos)])
def test_a_full_redis_is_read_no_further_and_gone_on_with_when_there_is_room(
    start_server, tmp_path, version: str
):
    own = start_server(version)
    settings = {**QUICK, "ARES_SEQUENCER_OVERDRAFT": "0"}
    here = Installation(own.url, tmp_path / "rounds", settings)
    with own.admin() as admin, here.worker() as worker:
        worker.wait_ready()
        send(admin, 0, 10)
        archived(here, 10)
        worker.freeze()
        send(admin, 10, 20)
        admin.config_set("maxmemory", admin.info("memory")["used_memory"] // 2)
        worker.thaw()

        says(worker, "out of memory")
        calls = reads(admin)
        eventually_sync(lambda: tries(admin) >= 3, 20, hint="more tries")
        assert admin.xlen(KEYS.inbox) == 80
        eventually_sync(lambda: admin.xpending(KEYS.feed, "archivers")["pending"] == 0, 20)
        assert reads(admin) - calls <= 40
        says(worker, "nothing more can be freed")

        admin.config_set("maxmemory", 0)
        archived(here, 30)
        is_well(worker)
    here.call("verify")


def reads(admin: redis_py.Redis) -> int:
    """How often the inbox or a log has been read."""
    return int(admin.info("commandstats").get("cmdstat_xrange", {}).get("calls", 0))


def tries(admin: redis_py.Redis) -> int:
    """Transactions refused since the server began."""
    return int(admin.info("errorstats").get("errorstat_EXECABORT", {}).get("count", 0))


@pytest.mark.chaos
def test_a_redis_that_is_a_replica_for_a_while_gets_nothing_and_loses_nothing(own, here, admin):
    with here.worker() as worker:
        worker.wait_ready()
        send(admin, 0, 5)
        archived(here, 5)
        send(admin, 5, 5)
        admin.replicaof("127.0.0.1", "9")
        says(worker, "read only")
        admin.replicaof("NO", "ONE")
        promoted = time.monotonic()
        send(admin, 10, 5)

        archived(here, 15)
        assert time.monotonic() - promoted < 10
        is_well(worker)
        assert admin.xlen(KEYS.dead) == 0
    here.call("verify")


@pytest.mark.chaos
def test_a_redis_that_loads_for_seconds_is_waited_for(start_server, tmp_path):
    own = start_server()
    here = Installation(own.url, tmp_path / "rounds", QUICK)
    with own.admin() as admin, here.worker() as worker:
        worker.wait_ready()
        send(admin, 0, 5)
        archived(here, 5)
        with admin.pipeline(transaction=False) as pipe:
            for n in range(1_500):
                pipe.set(f"k{n}", "v")
            pipe.execute()
        admin.save()
        own.kill()
        own.options = (
            *("--key-load-delay", "2000"),
            *("--loading-process-events-interval-bytes", "1024"),
        )
        own._process = own._spawn()
        says(worker, "loading")
        is_well(worker)
        with own.admin() as again:
            send(again, 5, 5)
        archived(here, 10)


@pytest.mark.chaos
def test_a_password_set_under_a_worker_is_named_tried_gently_and_taken_from_its_file(
    own, tmp_path, admin
):
    secret = tmp_path / "secret"
    secret.write_text("first")
    admin.config_set("requirepass", "first")
    admin.execute_command("AUTH", "first")
    more = {"ARES_REDIS_PASSWORD_FILE": str(secret), "ARES_WORKER_BACKOFF_MAX_MS": "2000"}
    here = Installation(own.url, tmp_path / "rounds", QUICK | more)
    with here.worker() as worker:
        worker.wait_ready()
        admin.config_set("requirepass", "second")
        admin.execute_command("AUTH", "second")
        admin.client_kill_filter(_type="normal", skipme=True)
        says(worker, "denies access")
        before = admin.info("stats")["total_connections_received"]
        time.sleep(5)
        assert admin.info("stats")["total_connections_received"] - before < 60
        lines = [line for line in worker.log().splitlines() if "can't go on" in line]
        assert len(lines) <= 4

        secret.write_text("second")
        is_well(worker)
        send(admin, 0, 3)
        archived(here, 3)


@pytest.mark.chaos
def test_a_worker_without_a_right_tries_rarely_and_goes_on_once_it_has_it(own, tmp_path, admin):
    admin.acl_setuser("w", enabled=True, passwords=["+p"], keys=["*"], commands=["+@all"])
    url = f"redis://w:p@127.0.0.1:{own.port}/0"
    slow = QUICK | {"ARES_WORKER_BACKOFF_MAX_MS": "10000"}
    here = Installation(url, tmp_path / "rounds", slow)
    with here.worker() as worker:
        worker.wait_ready()
        admin.acl_setuser("w", enabled=True, commands=["-xreadgroup"])
        says(worker, "xreadgroup")
        time.sleep(3)  # past the first, quick tries
        before = refused(admin)
        time.sleep(8)
        assert refused(admin) - before <= 16
        lines = [line for line in worker.log().splitlines() if "can't go on" in line]
        assert len(lines) <= 3

        admin.acl_setuser("w", enabled=True, commands=["+@all"])
        send(admin, 0, 3)
        archived(here, 3, 60)
        is_well(worker)


def refused(admin: redis_py.Redis) -> int:
    return int(admin.info("errorstats").get("errorstat_NOPERM", {}).get("count", 0))


@pytest.mark.chaos
def test_many_workers_come_back_to_a_crowded_redis_without_a_storm(own, tmp_path, admin):
    """More workers than connections: they wait in line, scattered, and say little."""
    installations = [Installation(own.url, tmp_path / f"a{n}", QUICK) for n in range(8)]
    workers = [here.worker().__enter__() for here in installations]
    try:
        for worker in workers:
            worker.wait_ready()
        own.kill()
        time.sleep(6)
        own.options = ("--maxclients", "25")
        own.start()
        time.sleep(4)
        said = [
            [line for line in worker.log().splitlines() if '"level":"warning"' in line]
            for worker in workers
        ]
        assert max(map(len, said)) <= 8, said
        own.options = ()
        own.restart()
        for worker in workers:
            is_well(worker)
    finally:
        for worker in workers:
            worker.__exit__(None)


@pytest.mark.chaos
def test_a_worker_of_many_tenants_ends_in_time_though_its_redis_hangs(own, tmp_path):
    tenants = [f"t{n}" for n in range(8)]
    more = {"ARES_TENANTS": ",".join(tenants), "ARES_WORKER_DRAIN_TIMEOUT": "3s"}
    here = Installation(own.url, tmp_path / "rounds", QUICK | more)
    with here.worker() as worker:
        worker.wait_ready()
        own.pause()
        began = time.monotonic()
        worker.process.terminate()
        assert worker.process.wait(30) == 0
        assert time.monotonic() - began < 12
        own.resume()


@pytest.mark.chaos
def test_once_leaves_the_sequencing_to_others_while_it_archives(own, tmp_path, admin):
    here = Installation(own.url, tmp_path / "rounds", QUICK)
    send(admin, 0, 300)
    with subprocess.Popen([*PROGRAM, "run", "--once"], env=here.environment) as once:
        eventually_sync(lambda: admin.exists(KEYS.feed) and not admin.xlen(KEYS.inbox), 30)
        eventually_sync(lambda: not admin.exists(KEYS.lease("sequencer")), 5, hint="released")
        assert once.wait(60) == 0
    assert len(here.rounds()) == 300
