"""Redis killed and started again under load, with two workers: nothing acknowledged is lost."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from streams.feed import ARCHIVERS
from streams.keys import Keys
from support.ledger import Producers
from support.outcome import outcome
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.waiting import eventually_sync
from support.worker_process import Installation

KEYS = Keys("default")
SETTINGS = {
    "ARES_SEQUENCER_LEASE_TTL_MS": "2000",
    "ARES_ARCHIVE_CLAIM_IDLE_MS": "3000",
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "2000",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_WORKER_BACKOFF_MAX_MS": "500",
}


def caught_up(server: RedisServer) -> bool:
    """Nothing in the inbox, nothing of the feed unread or in hand."""
    with server.admin() as admin:
        if admin.xlen(KEYS.inbox):
            return False
        [group] = admin.xinfo_groups(KEYS.feed)
        newest = admin.xinfo_stream(KEYS.feed)["last-generated-id"]
        return group["pending"] == 0 and group["last-delivered-id"] == newest


def run_through(server: RedisServer, here: Installation, restarts: int) -> None:
    """Load, workers, and a Redis that dies again and again; then the audit."""
    with ExitStack() as stack:
        workers = [stack.enter_context(here.worker()) for _ in range(2)]
        with Producers(server, 4) as producers:
            for _ in range(restarts):
                goal = producers.sent + 80
                eventually_sync(lambda goal=goal: producers.sent >= goal, 30, hint="load")
                server.restart()
        eventually_sync(lambda: caught_up(server), 60, hint="workers catch up")
        assert all(worker.process.poll() is None for worker in workers)
    with server.admin() as admin:
        assert [group["name"] for group in admin.xinfo_groups(KEYS.feed)] == [ARCHIVERS.encode()]
        seen = outcome(admin, here)
    producers.ledger.check(seen)
    producers.ledger.check_rounds(seen)
    here.call("verify")


def test_what_redis_acknowledged_is_in_one_log_and_one_file(start_server, tmp_path, loaded):
    server = start_server(aof="always")
    run_through(server, Installation(server.url, tmp_path / "rounds", SETTINGS, loaded), restarts=2)


@pytest.mark.chaos
@pytest.mark.parametrize("version", [REDIS_7, REDIS_62])
def test_many_restarts_change_nothing_about_that(start_server, tmp_path, loaded, version: str):
    server = start_server(version, aof="always")
    run_through(
        server, Installation(server.url, tmp_path / "rounds", SETTINGS, loaded), restarts=12
    )


@pytest.mark.chaos
def test_workers_killed_between_the_restarts_change_nothing_either(start_server, tmp_path, loaded):
    server = start_server(aof="always")
    here = Installation(server.url, tmp_path / "rounds", SETTINGS, loaded)
    with Producers(server, 4) as producers:
        for turn in range(8):
            with here.worker() as worker, here.worker() as other:
                goal = producers.sent + 60
                eventually_sync(lambda goal=goal: producers.sent >= goal, 30, hint="load")
                worker.kill()
                if turn % 2:
                    server.restart()
                goal = producers.sent + 60
                eventually_sync(lambda goal=goal: producers.sent >= goal, 30, hint="load")
                other.kill()
    with here.worker():
        eventually_sync(lambda: caught_up(server), 60, hint="a worker catches up")
    with server.admin() as admin:
        seen = outcome(admin, here)
    producers.ledger.check(seen)
    producers.ledger.check_rounds(seen)
    here.call("verify")
