"""A worker killed in the middle of a summarizer's answer holds nobody up for long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streams.keys import Keys
from support.outcome import lapse
from support.waiting import eventually_sync

KEYS = Keys("default")
SOON_MS = 30_000
LEASES = {"compact:s": KEYS.lease("compact:s"), "janitor": KEYS.lease("janitor")}
SMALL = {
    "ARES_COMPACTION_THRESHOLD": "40",
    "ARES_COMPACTION_KEEP_RECENT": "10",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
}


def test_the_leases_of_a_worker_killed_while_it_summarized_lapse_soon(
    start_server, install, tmp_path: Path
):
    server = start_server()
    here = install(server.url, **SMALL)
    (tmp_path / "endless.py").write_text(
        "import asyncio\n\nasync def summarize(*_):\n    await asyncio.Event().wait()\n"
    )
    hanging = {
        "ARES_COMPACTION_SUMMARIZER": "endless:summarize",
        "ARES_COMPACTION_SUMMARIZER_TIMEOUT": "1h",
        "PYTHONPATH": str(tmp_path),
    }
    with server.admin() as admin:
        for number in range(90):
            kind = "task.completed" if number % 10 == 9 else "llm.call"
            admin.xadd(KEYS.inbox, {"stream": "s", "type": kind, "id": f"e{number}"})
        with replace(here, settings=SMALL | hanging).worker() as worker:
            eventually_sync(lambda: admin.exists(*LEASES.values()) == 2, 30)
            worker.kill()
        left_ms = {name: admin.pttl(key) for name, key in LEASES.items()}
        lapse(admin)

        with here.worker():
            eventually_sync(lambda: admin.xlen(KEYS.log("s")) == 10, 30)

    assert all(0 < ms <= SOON_MS for ms in left_ms.values()), left_ms
