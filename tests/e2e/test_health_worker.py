"""A real worker's port and logs while its Redis comes and goes, and with passwords in play."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.redis_server import RedisServer, die_with_parent
from support.waiting import eventually_sync

CANARY = "S3CRET-canary"
QUICK = {
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_WORKER_BACKOFF_MAX_MS": "500",
}


# The program, looking ten times as often at what it needs.
MAIN = """
from worker.running import probe
from worker.cli import main

probe._EVERY_S = 0.5
main()
"""
# The same, and a call that blocks the event loop for a minute once the file at {path} is there.
HANGING = """
import asyncio, pathlib, time
from worker.running.supervisor import Worker

work = Worker.run

async def run(self, *, once=False):
    asyncio.create_task(hang())
    await work(self, once=once)

async def hang():
    while not pathlib.Path({path!r}).exists():
        await asyncio.sleep(0.05)
    time.sleep(60)

Worker.run = run
"""


class RunningWorker:
    """One `ares-worker run` in a process of its own."""

    def __init__(
        self, folder: Path, environ: dict[str, str], *flags: str, program: str = MAIN
    ) -> None:
        folder.mkdir()
        self._log = folder / "stderr"
        bare = {name: value for name, value in os.environ.items() if not name.startswith("ARES_")}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, "run",
                 "--archive-dir", folder / "rounds", "--metrics-port", "0", *flags],
                env={**bare, **QUICK, **environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
            )  # fmt: skip
        self.port = eventually_sync(self._port, 20, hint="the port in the log")

    def _port(self) -> int:
        served = [line for line in self.lines() if "serving" in line["msg"]]
        return served[0]["port"] if served else 0

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def lines(self) -> list[dict]:
        whole = self.log().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def said(self, message: str) -> bool:
        return any(line["msg"] == message for line in self.lines())

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def reasons(self) -> dict[str, str]:
        return json.loads(self.get("/readyz")[1])["reasons"]

    def metric(self, series: str) -> float:
        lines = self.get("/metrics")[1].splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(series))

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def run_worker(tmp_path: Path) -> Iterator[Callable[..., RunningWorker]]:
    workers: list[RunningWorker] = []

    def run(environ: dict[str, str], *flags: str, program: str = MAIN) -> RunningWorker:
        folder = tmp_path / f"worker-{len(workers)}"
        workers.append(RunningWorker(folder, environ, *flags, program=program))
        return workers[-1]

    yield run
    for worker in workers:
        worker.process.kill()
        worker.process.wait()


@pytest.mark.redis
def test_an_outage_of_redis_is_no_death_and_its_end_needs_no_hand(start_server, run_worker):
    server: RedisServer = start_server(aof="always")
    worker = run_worker({"ARES_REDIS_URL": server.url})
    eventually_sync(lambda: worker.get("/readyz")[0] == 200, 20)
    assert worker.metric("ares_redis_up") == 1.0

    server.kill()
    alive = []
    eventually_sync(
        lambda: alive.append(worker.get("/livez")[0]) or "redis" in worker.reasons(), 20
    )
    assert set(alive) == {200}
    assert worker.get("/readyz")[0] == 503
    assert worker.metric("ares_redis_up") == 0.0
    assert worker.metric('ares_redis_errors_total{kind="connection"}') > 0

    server.start()
    eventually_sync(lambda: worker.get("/readyz")[0] == 200, 20)
    assert worker.process.poll() is None
    assert worker.end() == 0


@pytest.mark.redis
def test_an_event_loop_that_hangs_ends_the_liveness_and_nothing_else_does(
    server, run_worker, tmp_path
):
    hang = tmp_path / "hang"
    worker = run_worker(
        {"ARES_REDIS_URL": server.url, "ARES_METRICS_STALL_AFTER": "1s"},
        program=HANGING.format(path=str(hang)) + MAIN,
    )
    eventually_sync(lambda: worker.get("/readyz")[0] == 200, 20)
    assert worker.get("/livez")[0] == 200

    hang.touch()
    eventually_sync(lambda: worker.get("/livez")[0] == 503, 20)

    assert "the event loop has stood still for" in json.loads(worker.get("/livez")[1])["reason"]
    assert worker.get("/metrics")[0] == 200


@pytest.mark.redis
def test_a_policy_that_evicts_is_named_by_readiness_and_told_once(start_server, run_worker):
    server: RedisServer = start_server()
    worker = run_worker({"ARES_REDIS_URL": server.url})
    eventually_sync(lambda: worker.get("/readyz")[0] == 200, 20)

    with server.admin() as admin:
        admin.config_set("maxmemory-policy", "allkeys-lru")
        eventually_sync(lambda: worker.get("/readyz")[0] == 503, 20)
        assert "maxmemory-policy is allkeys-lru" in worker.reasons()["eviction policy"]
        admin.config_set("maxmemory-policy", "noeviction")
    eventually_sync(lambda: worker.said("a condition is fulfilled again"), 20)

    told = [line for line in worker.lines() if line["msg"] == "the worker is not ready"]
    assert [line["condition"] for line in told] == ["eviction policy"]
    assert worker.get("/readyz")[0] == 200


@pytest.mark.redis
def test_a_volume_that_takes_no_files_is_named_by_readiness(server, run_worker, tmp_path):
    no_folder = tmp_path / "file"
    no_folder.touch()
    worker = run_worker({"ARES_REDIS_URL": server.url}, "--archive-dir", str(no_folder))

    eventually_sync(lambda: str(no_folder) in worker.reasons().get("volume", ""), 20)

    assert worker.get("/livez")[0] == 200


@pytest.mark.redis
def test_a_wrong_password_is_told_as_that_and_never_shown(start_server, run_worker):
    server: RedisServer = start_server(options=("--requirepass", "right"))
    worker = run_worker({"ARES_REDIS_URL": f"redis://:{CANARY}@127.0.0.1:{server.port}"})

    eventually_sync(lambda: worker.said("a part can't go on"), 20)

    assert any("denies access" in reason for reason in worker.reasons().values())
    assert worker.metric('ares_redis_errors_total{kind="auth"}') > 0
    assert [line for line in worker.lines() if line.get("kind") == "auth"]
    assert CANARY not in worker.log() + worker.get("/readyz")[1] + worker.get("/metrics")[1]


@pytest.mark.redis
@pytest.mark.parametrize("way", ["url", "url_file", "password", "password_file"])
def test_a_right_password_is_nowhere_to_be_seen(start_server, run_worker, tmp_path, way):
    """Log at its most talkative, every path of the port, and what `ps` shows."""
    server: RedisServer = start_server(options=("--requirepass", CANARY))
    secret = tmp_path / "secret"
    url = f"redis://:{CANARY}@127.0.0.1:{server.port}"
    secret.write_text(url if way == "url_file" else CANARY)
    environ = {
        "url": {"ARES_REDIS_URL": url},
        "url_file": {"ARES_REDIS_URL_FILE": str(secret)},
        "password": {"ARES_REDIS_URL": server.url, "ARES_REDIS_PASSWORD": CANARY},
        "password_file": {"ARES_REDIS_URL": server.url, "ARES_REDIS_PASSWORD_FILE": str(secret)},
    }[way]
    worker = run_worker(environ, "-vv")
    eventually_sync(lambda: worker.said("sequencing"), 20)
    command_line = Path(f"/proc/{worker.process.pid}/cmdline").read_text()
    server.kill()
    eventually_sync(lambda: worker.said("a part can't go on"), 20)

    shown = [worker.get(path)[1] for path in ("/metrics", "/livez", "/readyz", "/")]

    assert CANARY not in "".join([*shown, command_line, worker.log()])


@pytest.mark.redis
def test_a_second_worker_on_the_same_port_says_so_and_does_not_run(server, run_worker):
    first = run_worker({"ARES_REDIS_URL": server.url})
    command = [sys.executable, "-c", MAIN, "run"]

    second = subprocess.run(
        [*command, "--metrics-port", str(first.port), "--redis", server.url],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert second.returncode != 0
    assert f"127.0.0.1:{first.port}: another program has that port" in second.stderr
    assert first.get("/livez")[0] == 200
