"""A worker of many tenants, on the settings as they come: every part of each gets to work."""

from __future__ import annotations

from streams.keys import Keys
from support.waiting import eventually_sync

TENANTS = [f"t{number}" for number in range(20)]


def test_a_worker_of_twenty_tenants_is_ready_and_works_for_each(start_server, install):
    server = start_server()
    here = install(server.url, ARES_TENANTS=",".join(TENANTS), ARES_WORKER_SCAN_INTERVAL="1s")
    with here.worker() as worker, server.admin() as admin:
        worker.wait_ready()
        for tenant in TENANTS:
            admin.xadd(Keys(tenant).inbox, {"stream": "s", "type": "task.completed"})

        eventually_sync(lambda: len(here.rounds()) == len(TENANTS), 60)

        assert "Too many connections" not in worker.log()
        assert worker.get("/readyz")[0] == 200
