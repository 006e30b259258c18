"""`run --redis embedded`: a worker that brings its Redis, for any client to use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from streams.embedded.server import find_server
from support.waiting import eventually_sync
from support.worker_process import ENDS_SOON

_WITHOUT_SERVER = """
import sys
import streams.embedded.start
if sys.argv.pop(1) == "fakeredis":
    streams.embedded.start.find_server = lambda: None
from worker.cli import main
main()
"""

XADD = "ares:{default}:inbox"


class Program:
    """`ares-worker … --redis embedded` in a folder of its own, with either kind of Redis."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self._prefix = [sys.executable, "-c", _WITHOUT_SERVER, kind]

    def call(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a short command to its end."""
        return subprocess.run(
            [*self._prefix, *args, "--redis", "embedded"],
            cwd=self.folder, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start the worker; its first line of stdout is the address."""
        return subprocess.Popen(
            [*self._prefix, "run", "--redis", "embedded", "--metrics-port", "0", *args],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | ENDS_SOON,
        )  # fmt: skip


@pytest.fixture(params=["redis-server", "fakeredis"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    if request.param == "redis-server" and find_server() is None:
        pytest.skip("no redis-server")
    return Program(request.param, tmp_path)


@pytest.fixture
def worker(program: Program) -> Iterator[subprocess.Popen[str]]:
    process = program.start()
    yield process
    process.kill()
    process.communicate()


def address(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def is_gone(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as client:
            client.ping()
    except redis.ConnectionError:
        return True
    return False


def test_any_client_can_xadd_to_the_printed_address_and_sigterm_ends_it_all_with_code_0(
    program: Program, worker: subprocess.Popen[str]
) -> None:
    url = address(worker)
    with redis.Redis.from_url(url) as client:
        client.xadd(XADD, {"stream": "s", "type": "task.completed", "payload": '{"result":"ok"}'})
    file = program.folder / ".context/rounds/default/s/round_1.json"
    eventually_sync(file.exists, 20, hint="the round was not archived")

    worker.send_signal(signal.SIGTERM)
    _, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    assert "Traceback" not in err
    assert is_gone(url)


def test_sigterm_while_it_starts_ends_it_with_code_0(worker: subprocess.Popen[str]) -> None:
    url = address(worker)
    worker.send_signal(signal.SIGTERM)
    _, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    assert "Traceback" not in err
    assert is_gone(url)


def test_a_command_beside_the_worker_sees_the_same_streams(
    program: Program, worker: subprocess.Popen[str]
) -> None:
    url = address(worker)
    sent = program.call("emit", "s", "t", "--expected-version", "0")
    assert sent.returncode == 0, sent.stderr
    assert "that another process runs" in sent.stderr
    with redis.Redis.from_url(url) as client:
        assert client.xlen("ares:{default}:log:s") == 1


def test_a_killed_worker_takes_its_redis_along(worker: subprocess.Popen[str]) -> None:
    url = address(worker)
    worker.kill()
    worker.communicate()
    eventually_sync(lambda: is_gone(url), hint="the server outlived its worker")


def test_a_server_keeps_events_from_one_command_to_the_next(tmp_path: Path) -> None:
    if find_server() is None:
        pytest.skip("no redis-server")
    program = Program("redis-server", tmp_path)
    program.call("emit", "s", "t")
    shown = program.call("streams", "list")
    assert shown.stderr.splitlines()[-1] == "0 streams · inbox 1 · feed 0 · dead letters 0"


def test_fakeredis_says_on_every_start_that_nothing_survives(tmp_path: Path) -> None:
    done = Program("fakeredis", tmp_path).call("emit", "s", "t")
    assert done.returncode == 0
    assert "NOTHING in it SURVIVES" in done.stderr
    assert "SURVIVES" not in done.stdout
