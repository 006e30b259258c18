"""`ares-worker` in processes of its own: commands to call, workers to drain, freeze and kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from .ending import wait_until_it_listens
from .loaded_program import Forked, LoadedProgram
from .redis_server import die_with_parent, free_port
from .waiting import eventually_sync

PROGRAM = (sys.executable, "-P", "-m", "worker.cli")
ENDS_SOON = {"ARES_REDIS_BLOCK_MS": "200"}
"""A worker that is told to stop waits for its reads to come back, for 2 s by default."""


@dataclass(frozen=True, slots=True)
class Installation:
    """One Redis and one archive, and the settings beside them, for whatever works on both.

    With `loaded` its processes are forks of a program loaded before, else started each.
    """

    redis_url: str
    archive: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    loaded: LoadedProgram | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes: nothing of the caller's own settings."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ARES_")}
        return {
            **inherited,
            "ARES_REDIS_URL": self.redis_url,
            "ARES_ARCHIVE_DIR": str(self.archive),
            **ENDS_SOON,
            **self.settings,
        }

    @property
    def program(self) -> LoadedProgram | None:
        """The loaded program to fork from; None where a start must read settings of Python's."""
        started = any(name.startswith("PYTHON") for name in self.settings)
        return None if started else self.loaded

    def call(self, *args: str, code: int = 0, timeout_s: float = 120) -> str:
        """Run a command to its end and return its stdout; it must exit with `code`."""
        if self.program is not None:
            done = self.program.run(args, self.environment, timeout_s)
        else:
            done = subprocess.run(
                [*PROGRAM, *args],
                env=self.environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout_s,
            )
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *args: str, code: int = 0) -> Any:
        """Run a command with `--json`; the document it prints."""
        return json.loads(self.call(*args, "--json", code=code))

    def worker(self, *args: str) -> WorkerProcess:
        """A worker; use as a context manager."""
        return WorkerProcess(self, *args)

    def rounds(self) -> dict[str, bytes]:
        """Every round file below the archive by its path there, with its content."""
        return {
            path.relative_to(self.archive).as_posix(): path.read_bytes()
            for path in sorted(self.archive.rglob("round_*.json"))
        }


class WorkerProcess:
    """`ares-worker run`; leaving the block ends it by SIGTERM and demands exit 0."""

    def __init__(self, installation: Installation, *args: str) -> None:
        self._installation, self._args = installation, args
        self.port = free_port()

    def __enter__(self) -> Self:
        here = self._installation
        self._log = (here.archive.parent / f"worker-{self.port}.log").open("w+")
        command = ("run", "--metrics-port", str(self.port), *self._args)
        self.process: subprocess.Popen[bytes] | Forked
        if here.program is not None:
            log = Path(self._log.name)
            self.process = here.program.start(command, here.environment, log, log)
        else:
            self.process = subprocess.Popen(
                [*PROGRAM, *command],
                env=here.environment,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
            )
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        if self.process.poll() is None:
            wait_until_it_listens(self.process)
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._log.close()
        if kind is None and not self._killed:
            assert self.process.returncode == 0, self.log()

    peak_mb = 0.0
    _killed = False

    def kill(self) -> None:
        """SIGKILL."""
        self._killed = True
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """SIGSTOP: alive and doing nothing, as after a long pause of its machine."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        """Everything the worker said so far."""
        return Path(self._log.name).read_text()

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of `/livez`, `/readyz` or `/metrics`; 0 while nothing answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()
        except OSError:
            return 0, ""

    def wait_ready(self) -> Self:
        """Until `/readyz` says 200."""
        eventually_sync(self._is_ready, 30, hint="worker is ready")
        return self

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.log()
        return self.get("/readyz")[0] == 200
