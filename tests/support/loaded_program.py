"""`ares-worker` loaded once: what a test starts of it costs a fork instead of half a second.

`python -m support.loaded_program` imports the program and forks a process for every command line
it is told. Each has an environment, a folder, streams and an exit code of its own, as if it had
been started by a shell. What a start itself does is for the tests that start `worker.cli`. A
worker looks every second at Redis and its volume, not every five, so that tests wait less.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .redis_server import die_with_parent

_STEP_S = 0.005
_LOOK_EVERY_S = 1.0


class LoadedProgram:
    """Starts processes of `ares-worker`; loads it when first asked to. For several threads."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ares-loaded-")
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._count = 0

    def start(
        self, args: Sequence[str], environment: Mapping[str, str], out: Path, err: Path
    ) -> Forked:
        """A process of `ares-worker` with `args`, whose streams go to these files."""
        with self._lock:
            self._count += 1
            ended = Path(self._folder.name) / f"ended-{self._count}"
            told = {
                "args": list(args),
                "environment": dict(environment),
                "folder": str(Path.cwd()),
                "out": str(out),
                "err": str(err),
                "ended": str(ended),
            }
            return Forked(self._ask(told), ended)

    def run(
        self, args: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run `ares-worker` to its end. Raises `subprocess.TimeoutExpired`, and kills it then."""
        with tempfile.TemporaryDirectory(dir=self._folder.name) as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            process = self.start(args, environment, out, err)
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            return subprocess.CompletedProcess(args, code, out.read_text(), err.read_text())

    def close(self) -> None:
        """End the loader; what it started has ended."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(20)
        self._folder.cleanup()

    def _ask(self, told: Mapping[str, Any]) -> int:
        if self._process is None:
            # It ends with its stdin: a parent's death would be that of a thread, here.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.loaded_program"],
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


class Forked:
    """One process, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, ended: Path) -> None:
        self.pid, self._ended = pid, ended
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that killed it; None while it lives."""
        if self.returncode is None and self._ended.exists():
            self.returncode = int(self._ended.read_text())
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises `subprocess.TimeoutExpired`."""
        until = time.monotonic() + (timeout if timeout is not None else 3_600)
        while (code := self.poll()) is None:
            if time.monotonic() >= until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            time.sleep(_STEP_S)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _live(told: Mapping[str, Any]) -> int:
    """The forked process: a command line like any other."""
    from worker import cli

    die_with_parent()
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, told["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, told["err"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        os.dup2(os.open(name, flags), number)
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    return cli.run(told["args"])


def _fork(told: Mapping[str, Any]) -> int:
    """The process, and beside it one that waits for its end and notes it; the former's id."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            code = 70
            try:
                code = _live(told)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        os.write(writing, str(pid).encode())
        os.close(writing)
        _, status = os.waitpid(pid, 0)
        noted = Path(told["ended"])
        noted.with_suffix(".new").write_text(str(os.waitstatus_to_exitcode(status)))
        noted.with_suffix(".new").rename(noted)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told_by_child:
        return int(told_by_child.read())


def main() -> None:
    """Start what the lines of stdin say, one JSON document each, until there are no more."""
    import pkgutil
    from importlib import import_module

    import worker.commands

    for module in pkgutil.iter_modules(worker.commands.__path__, "worker.commands."):
        import_module(module.name)
    import_module("worker.wiring.worker")
    import_module("worker.running.probe")._EVERY_S = _LOOK_EVERY_S
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for those who wait
    for line in sys.stdin:
        print(_fork(json.loads(line)), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
