"""A network volume whose server is gone: it never answers again, or isn't mounted any more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streams.keys import Keys
from support import sessions
from support.redis_server import die_with_parent
from support.waiting import eventually_sync
from support.worker_process import Installation

# On one processor, where asyncio has five threads.
_HANGS = """
import os, threading
os.cpu_count = os.process_cpu_count = lambda: 1
from archive.storage.os_disk import OsDisk
def sync(disk, handle):
    print("hanging", flush=True)
    threading.Event().wait()
OsDisk.sync = sync
from worker.cli import main
main()
"""


@contextmanager
def hanging_worker(
    redis_url: str, folder: Path, *flags: str, calls: int = 1
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker on a volume that never answers, once so many `calls` hang; it logs to `log`."""
    log = folder / "log"
    here = Installation(redis_url, folder / "rounds", {"ARES_WORKER_DRAIN_TIMEOUT": "1s"})
    with log.open("wb") as out:
        worker = subprocess.Popen(
            [sys.executable, "-c", _HANGS, "run", "--metrics-port", "0", *flags],
            env=here.environment, stdout=out, stderr=out,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
        )  # fmt: skip
    try:
        eventually_sync(lambda: log.read_text().count("hanging\n") >= calls, 20)
        yield worker
    finally:
        worker.kill()
        worker.wait()


def test_a_volume_that_hangs_does_not_keep_a_worker_from_ending(start_server, tmp_path):
    server = start_server()
    with server.admin() as admin:
        sessions.produce(admin, Keys("default").inbox, range(3))

    with hanging_worker(server.url, tmp_path) as worker:
        worker.terminate()
        assert worker.wait(30) == 0

    assert "ends without calls that hang" in (tmp_path / "log").read_text()
    with server.admin() as admin:
        assert not admin.exists(Keys("default").lease("sequencer"))


def test_a_volume_that_hangs_for_many_tenants_keeps_none_from_finding_redis_again(
    start_server, tmp_path
):
    """A host's name is looked up in a thread, and those were all on the volume."""
    server = start_server(aof="always")
    tenants = [f"t{number}" for number in range(7)]
    with server.admin() as admin:
        for tenant in tenants:
            sessions.produce(admin, Keys(tenant).inbox, range(1))
    url = server.url.replace("127.0.0.1", "localhost")
    flags = [word for tenant in tenants for word in ("--tenant", tenant)]

    with hanging_worker(url, tmp_path, *flags, calls=5), server.admin() as admin:
        server.kill()
        server.start()
        sessions.produce(admin, Keys("t0").inbox, range(1, 2))
        eventually_sync(lambda: admin.xlen(Keys("t0").inbox) == 0, 20)


def test_a_worker_waits_for_its_volume_and_goes_on_when_it_is_mounted(start_server, install):
    """Rounds written to the mount point would be hidden by the volume, and gone from Redis."""
    server = start_server()
    with server.admin() as admin:
        sessions.produce(admin, Keys("default").inbox, range(3))
    here = install(server.url, ARES_ARCHIVE_SENTINEL_FILE=".volume")

    with here.worker() as worker:
        eventually_sync(lambda: ".volume: it is missing" in worker.log())
        eventually_sync(lambda: "archiver default" in worker.get("/readyz")[1])
        assert not here.archive.exists()
        here.archive.mkdir()
        (here.archive / ".volume").touch()
        eventually_sync(lambda: len(here.rounds()) == 9, 20)
