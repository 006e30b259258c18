"""A network volume whose server is gone: it never answers again, or isn't mounted any more."""

from __future__ import annotations

import subprocess
import sys

from streams.keys import Keys
from support import sessions
from support.redis_server import die_with_parent
from support.waiting import eventually_sync
from support.worker_process import Installation

_WITH_A_DISK_THAT_HANGS = """
import threading
from archive.os_disk import OsDisk
def sync(disk, handle):
    print("hanging", flush=True)
    threading.Event().wait()
OsDisk.sync = sync
from worker.cli import main
main()
"""


def test_a_volume_that_hangs_does_not_keep_a_worker_from_ending(start_server, tmp_path):
    server = start_server()
    with server.admin() as admin:
        sessions.produce(admin, Keys("default").inbox, range(3))
    here = Installation(server.url, tmp_path / "rounds", {"ARES_WORKER_DRAIN_TIMEOUT": "1s"})
    with subprocess.Popen(
        [sys.executable, "-c", _WITH_A_DISK_THAT_HANGS, "run", "--metrics-port", "0"],
        env=here.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
    ) as worker:  # fmt: skip
        assert worker.stdout is not None
        assert worker.stdout.readline() == "hanging\n"
        with server.admin() as admin:
            eventually_sync(lambda: admin.xinfo_groups(Keys("default").feed)[0]["pending"])
        worker.terminate()
        _, log = worker.communicate(timeout=30)

    assert worker.returncode == 0
    assert "ends without calls that hang" in log
    with server.admin() as admin:
        assert not admin.exists(Keys("default").lease("sequencer"))


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
