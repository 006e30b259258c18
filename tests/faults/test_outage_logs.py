"""An outage of Redis is told in a few lines, leaves the worker alive, and ends by itself."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from typing import Any

import pytest

from streams.keys import Keys
from support.redis_server import RedisServer
from support.sessions import produce, rounds_due
from support.waiting import eventually_sync
from support.worker_process import WorkerProcess

TENANTS = ("default", "acme")
MOST_LINES_IN_TEN_MINUTES = 130
SETTINGS = {
    "ARES_TENANTS": ",".join(TENANTS),
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "1500",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
}

A_MINUTE = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("CI"), reason="takes a minute: in CI"),
]


def produced(server: RedisServer, agents: range) -> None:
    """Three rounds of each agent, for every tenant."""
    with server.admin() as admin:
        for tenant in TENANTS:
            produce(admin, Keys(tenant).inbox, agents)


def said(worker: WorkerProcess) -> list[dict[str, Any]]:
    """The lines of the worker's log."""
    return [json.loads(line) for line in worker.log().splitlines()]


def stay_alive(worker: WorkerProcess, seconds: float) -> None:
    """Watch the worker live for `seconds`, and be scraped, while it can't be ready."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert worker.get("/livez")[0] == 200
        assert worker.get("/metrics")[0] == 200
        time.sleep(0.2)
    assert worker.get("/readyz")[0] == 503
    eventually_sync(lambda: "ares_redis_up 0.0" in worker.get("/metrics")[1], hint="Redis is down")


@pytest.mark.parametrize(
    ("how", "seconds"),
    [("killed", 5), ("silent", 7), pytest.param("killed", 60, marks=A_MINUTE)],
)
def test_an_outage_costs_few_lines_and_no_restart(start_server, install, how, seconds):
    server = start_server(aof="always")
    here = install(server.url, **SETTINGS)
    with here.worker() as worker:
        worker.wait_ready()
        produced(server, range(2))
        before = len(said(worker))

        (server.kill if how == "killed" else server.pause)()
        stay_alive(worker, seconds)
        (server.start if how == "killed" else server.resume)()
        eventually_sync(lambda: worker.get("/readyz")[0] == 200, 30, hint="ready again")
        produced(server, range(2, 4))
        due = len(TENANTS) * len(rounds_due(range(4)))
        eventually_sync(lambda: len(here.rounds()) == due, 30, hint=f"{due} rounds")
        lines = said(worker)[before:]

    # Its part of what ten minutes may cost, and a few for its beginning and end.
    told = Counter(line["msg"] for line in lines)
    assert 1 < len(lines) < 15 + MOST_LINES_IN_TEN_MINUTES * seconds / 600, told
    assert {line["level"] for line in lines} <= {"info", "warning"}, lines
