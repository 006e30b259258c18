"""`top` tells who of a fleet without work is alive, killed, or has ended in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.waiting import eventually_sync
from support.worker_process import WorkerProcess

BEATS_MISSED_MS = 7_000


def test_a_killed_worker_fades_from_top_and_an_idle_one_stays(start_server, install):
    server = start_server()
    here = install(server.url)

    def named(name: str) -> WorkerProcess:
        return replace(here, settings={"ARES_WORKER_NAME": name}).worker()

    def seen() -> dict[str, int]:
        report: Any = here.json("top", "--once", "--interval", "0.1")
        return {worker["name"]: worker["idle_ms"] for worker in report["tenants"][0]["workers"]}

    with (
        named("idle") as idle,
        named("doomed") as doomed,
        named("ended") as ended,
    ):
        for worker in (idle, doomed, ended):
            worker.wait_ready()
        eventually_sync(lambda: set(seen()) == {"idle", "doomed", "ended"}, 30)
        doomed.kill()
        ended.process.terminate()

        eventually_sync(lambda: seen().get("doomed", 0) > BEATS_MISSED_MS, 30)
        last = seen()

    assert set(last) == {"idle", "doomed"}
    assert last["idle"] < BEATS_MISSED_MS
