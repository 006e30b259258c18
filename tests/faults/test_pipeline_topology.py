"""Workers on Sentinel, on a cluster whose slots move, and behind a replica that lagged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis

from streams.keys import Keys
from support.outcome import check_against, outcome
from support.redis_server import RedisServer
from support.topology import Cluster, SentinelProcess
from support.waiting import eventually_sync
from support.worker_process import Installation, WorkerProcess

KEYS = Keys("default")
QUICK = {
    "ARES_SEQUENCER_LEASE_TTL_MS": "2000",
    "ARES_ARCHIVE_CLAIM_IDLE_MS": "3000",
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "2000",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_WORKER_BACKOFF_MAX_MS": "500",
}


def send(admin: redis.Redis, first: int, rounds: int) -> None:
    """Rounds of four events in three streams."""
    for n in range(first, first + rounds):
        for step in range(4):
            type_ = "task.completed" if step == 3 else "llm.call"
            fields = {"stream": f"s{n % 3}", "type": type_, "payload": json.dumps({"n": n})}
            admin.xadd(KEYS.inbox, {**fields, "id": f"{n}-{step}"})


def archived(here: Installation, rounds: int, deadline_s: float = 30) -> None:
    eventually_sync(
        lambda: len(here.rounds()) == rounds, deadline_s, hint=f"{rounds} rounds archived"
    )


DATA, GUARD = "data-password", "sentinel-password"


@pytest.fixture
def pair(start_server) -> list[RedisServer]:
    """A primary and its replica, both behind a password."""
    options = ("--requirepass", DATA, "--masterauth", DATA)
    primary = start_server(options=options)
    replica = start_server(options=options)
    with signed_in(replica) as admin:
        admin.replicaof("127.0.0.1", primary.port)
        eventually_sync(lambda: admin.info("replication")["master_link_status"] == "up", 20)
    return [primary, replica]


def signed_in(server: RedisServer) -> redis.Redis:
    admin = server.admin()
    admin.connection_pool.connection_kwargs["password"] = DATA
    return admin


@pytest.fixture
def sentinels(servers, pair, tmp_path) -> Iterator[list[SentinelProcess]]:
    """Three sentinels that agree about the primary."""
    binary = servers.binary(servers.newest())
    started = [
        SentinelProcess(
            binary, tmp_path / f"sentinel-{n}", pair[0], password=GUARD, data_password=DATA
        )
        for n in range(3)
    ]
    eventually_sync(lambda: all(each.sees() == (1, 2) for each in started), 30, hint="sentinels")
    yield started
    for each in started:
        each.kill()


def sentinel_url(sentinels: list[SentinelProcess], master: str = "mymaster") -> str:
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in sentinels)
    return f"redis+sentinel://{hosts}/{master}"


SENTINEL = {"ARES_REDIS_PASSWORD": DATA, "ARES_REDIS_SENTINEL_PASSWORD": GUARD}


@pytest.mark.chaos
@pytest.mark.parametrize("first_down", [False, True], ids=["all sentinels", "the first one down"])
def test_a_killed_primary_is_replaced_without_a_restart(
    pair, sentinels, tmp_path, first_down: bool
):
    primary, replica = pair
    here = Installation(sentinel_url(sentinels), tmp_path / "rounds", QUICK | SENTINEL)
    with here.worker() as worker:
        worker.wait_ready()
        with signed_in(primary) as admin:
            send(admin, 0, 6)
            archived(here, 6)
            assert admin.wait(1, 5_000) == 1
        if first_down:
            sentinels[0].kill()
        primary.kill()
        eventually_sync(lambda: sentinels[1].primary_port() == replica.port, 30, hint="failover")

        with signed_in(replica) as admin:
            eventually_sync(lambda: admin.info("replication")["role"] == "master", 20)
            send(admin, 6, 6)
            archived(here, 12)
        eventually_sync(lambda: worker.get("/readyz")[0] == 200, 20)
        assert worker.process.poll() is None
    here.call("verify")


@pytest.mark.chaos
def test_a_failover_that_leaves_the_old_primary_alive_is_followed(pair, sentinels, tmp_path):
    primary, replica = pair
    here = Installation(sentinel_url(sentinels), tmp_path / "rounds", QUICK | SENTINEL)
    with here.worker() as worker:
        worker.wait_ready()
        with signed_in(primary) as admin:
            send(admin, 0, 6)
            archived(here, 6)
        with sentinels[0]._admin() as guard:
            guard.execute_command("SENTINEL", "FAILOVER", "mymaster")
        eventually_sync(lambda: sentinels[0].primary_port() == replica.port, 30, hint="failover")

        with signed_in(replica) as admin:
            eventually_sync(lambda: admin.info("replication")["role"] == "master", 20)
            send(admin, 6, 6)
        archived(here, 12)
        assert worker.process.poll() is None
    here.call("verify")


@pytest.mark.chaos
def test_a_wrong_name_of_the_primary_is_named(sentinels, tmp_path):
    url = sentinel_url(sentinels, "mistress")
    here = Installation(url, tmp_path / "rounds", QUICK | SENTINEL)
    with here.worker() as worker:
        eventually_sync(lambda: "mistress" in worker.get("/readyz")[1], 30)
        assert worker.get("/livez")[0] == 200


@pytest.mark.chaos
def test_a_slot_that_moves_under_load_loses_repeats_and_reorders_nothing(start_server, tmp_path):
    """MOVED, ASK and TRYAGAIN: for a while two nodes serve the tenant's slot."""
    nodes = [start_server(options=("--cluster-enabled", "yes")) for _ in range(3)]
    cluster = Cluster.of(nodes)
    here = Installation(cluster.url, tmp_path / "rounds", QUICK)
    sent: dict[str, list[str]] = {f"s{n}": [] for n in range(3)}
    producer = redis.RedisCluster(host="127.0.0.1", port=nodes[0].port)
    with ExitStack() as stack:
        workers = [stack.enter_context(here.worker()) for _ in range(2)]
        for worker in workers:
            worker.wait_ready()
        for turn in range(3):
            for n in range(turn * 9, turn * 9 + 9):
                for step in range(4):
                    type_ = "task.completed" if step == 3 else "llm.call"
                    name = f"{n}-{step}"
                    producer.xadd(KEYS.inbox, {"stream": f"s{n % 3}", "type": type_, "id": name})
                    sent[f"s{n % 3}"].append(name)
            cluster.move(KEYS.inbox, pause_s=0.2)
            archived(here, 9 * (turn + 1), 60)
        for worker in workers:
            eventually_sync(lambda worker=worker: worker.get("/readyz")[0] == 200, 30)
            assert worker.process.poll() is None
    with cluster.owner(KEYS.inbox).admin() as admin:
        seen = outcome(admin, here)
    check_against(seen, sent)
    assert (seen.waiting, seen.pending, seen.dead) == (0, 0, [])
    here.call("verify")


def forks_told(worker: WorkerProcess) -> dict[str, dict[str, Any]]:
    """The log's line of each stream whose archive forked."""
    whole = worker.log().rpartition("\n")[0]
    lines = [json.loads(line) for line in whole.splitlines() if line[:1] == "{"]
    return {line["stream"]: line for line in lines if "archive forked" in line["msg"]}


@pytest.mark.chaos
def test_a_replica_that_lagged_and_became_primary_is_reported_and_nothing_overwritten(
    start_server, tmp_path
):
    """The archive knows rounds whose events the new primary has never had."""
    primary, replica = start_server(), start_server()
    with primary.admin() as one, replica.admin() as two:
        two.replicaof("127.0.0.1", primary.port)
        eventually_sync(lambda: two.info("replication")["master_link_status"] == "up", 20)
        here = Installation(primary.url, tmp_path / "rounds", QUICK)
        with here.worker() as worker:
            worker.wait_ready()
            send(one, 0, 3)
            archived(here, 3)
            eventually_sync(
                lambda: two.xinfo_stream(KEYS.log("s0"))["length"] == 4, 20, hint="replicated"
            )
            assert one.wait(1, 5_000) == 1
            two.replicaof("127.0.0.1", "9")  # cut off
            send(one, 3, 3)
            archived(here, 6)
        before = here.rounds()
        two.replicaof("NO", "ONE")
        after = Installation(replica.url, here.archive, QUICK)
        with after.worker() as worker:
            worker.wait_ready()
            for n in range(3):
                fields = {"stream": f"s{n}", "type": "task.completed", "id": f"again-{n}"}
                two.xadd(KEYS.inbox, fields)
            archived(after, 9)
            # A line comes when its batch is done, a moment after the files.
            eventually_sync(lambda: forks_told(worker).keys() == {"s0", "s1", "s2"}, 10)
            assert all(line["round"] and line["epoch"] for line in forks_told(worker).values())

    rounds = after.rounds()
    assert {name: rounds[name] for name in before} == before
    opened = [json.loads(text) for name, text in rounds.items() if name not in before]
    assert {(item["round"], item["epoch"]) for item in opened} == {(3, 1)}
    assert "fork" in after.call("verify")
