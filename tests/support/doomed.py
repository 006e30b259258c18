"""Workers that die, or freeze, at a chosen step of their work, for tests of what others find then.

`python -m support.doomed` loads the program once and forks a process for every command it is
told, so that each death costs milliseconds. In the fork every packet to Redis and every system
call on the archive is a *step*, numbered from 1; decoding an inbox entry that holds the word
`poison` is one, too, and so is building the record of a round that holds it. Nothing of this is
in the program itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import hiredis

from .redis_server import die_with_parent
from .waiting import eventually_sync

BEFORE, SENT = "before", "sent"
"""Before the step happens; when it has happened and nobody has heard of it yet."""

_FILE_STEPS = ("link", "rename", "replace", "unlink", "fsync")


@dataclass(frozen=True, slots=True)
class Doom:
    """Which step ends the process: the `nth` one whose name contains `word`, and how."""

    nth: int = 1
    when: str = BEFORE
    word: str = ""
    signal: int = signal.SIGKILL


class Nursery:
    """Use as a context manager; `run` starts a doomed command and waits for its end."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment, self._folder = dict(environment), folder
        self._trace = folder / "steps"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        places = [str(Path(__file__).parents[1]), self._environment.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.doomed"],
            env={**self._environment, "PYTHONPATH": os.pathsep.join(filter(None, places))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
        )
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()

    def start(self, *args: str, doom: Doom | None = None, **settings: str) -> int:
        """Start `ares-worker` with `args`; its process id."""
        self._trace.write_text("")
        told = {
            "args": args,
            "environment": settings,
            "doom": asdict(doom) if doom else None,
            "trace": str(self._trace),
            "log": str(self._folder / "log"),
        }
        return int(self._ask(told))

    def wait(self, pid: int, timeout_s: float = 60) -> int:
        """Wait for the end of `pid`; its exit code, negative for the signal that killed it."""
        return int(self._ask({"wait": pid, "timeout_s": timeout_s}, timeout_s + 10))

    def run(
        self, *args: str, doom: Doom | None = None, timeout_s: float = 60, **settings: str
    ) -> int:
        """`start` and `wait`."""
        return self.wait(self.start(*args, doom=doom, **settings), timeout_s)

    def freeze(self, *args: str, doom: Doom, timeout_s: float = 30) -> int:
        """Start a command that stops at its step by SIGSTOP, and wait until it has."""
        pid = self.start(*args, doom=doom)
        eventually_sync(lambda: is_frozen(pid), timeout_s, hint=f"{args} reaches {doom}")
        return pid

    def thaw(self, pid: int, timeout_s: float = 60) -> int:
        """Let a frozen process go on and wait for its end; its exit code."""
        os.kill(pid, signal.SIGCONT)
        return self.wait(pid, timeout_s)

    def steps(self) -> list[str]:
        """Names of the steps the last process reached."""
        return self._trace.read_text().splitlines()

    def log(self) -> str:
        """What all processes said."""
        return (self._folder / "log").read_text()

    def _ask(self, told: Mapping[str, Any], timeout_s: float = 60) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        assert ready, f"no answer within {timeout_s} s to {told}"
        return self._process.stdout.readline().decode().strip()


def is_frozen(pid: int) -> bool:
    """Whether a process is stopped by SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


class _Steps:
    """Counts steps and strikes when the fatal one is there."""

    def __init__(self, trace: str, doom: Doom | None) -> None:
        self._trace = os.open(trace, os.O_WRONLY | os.O_APPEND)
        self._doom, self._matching = doom, 0
        self._lock = threading.Lock()

    def reach(self, name: str) -> bool:
        """Note a step; strikes before it, or says that the strike is due once it has happened."""
        with self._lock:
            os.write(self._trace, name.encode() + b"\n")
            doom = self._doom
            if doom is None or doom.word not in name:
                return False
            self._matching += 1
            if self._matching != doom.nth:
                return False
        if doom.when == BEFORE:
            self.strike()
        return doom.when == SENT

    def strike(self) -> None:
        """The end, or a long sleep."""
        assert self._doom is not None
        os.kill(os.getpid(), self._doom.signal)


def _name(packet: bytes) -> str:
    """Names of the commands of a packet, as `WATCH MGET XLEN`."""
    reader = hiredis.Reader()
    reader.feed(packet)
    names = []
    while (command := reader.gets()) is not False:
        names.append(command[0].decode())
    return " ".join(dict.fromkeys(names))


def _watch_redis(steps: _Steps) -> None:
    from streams import link

    def counted(roundtrip: Callable[..., Any]) -> Callable[..., Any]:
        async def step(self: Any, packet: bytes, count: int) -> Any:
            struck = steps.reach(_name(packet))
            replies = await roundtrip(self, packet, count)
            if struck:
                steps.strike()
            return replies

        return step

    for kind in (link.TransportLink, link.ConnectionLink):
        kind.roundtrip = counted(kind.roundtrip)  # type: ignore[method-assign]


def _watch_files(steps: _Steps) -> None:
    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            struck = steps.reach(f"file {name}")
            result = call(*args, **kwargs)
            if struck:
                steps.strike()
            return result

        return step

    for name in _FILE_STEPS:
        setattr(os, name, counted(name, getattr(os, name)))


def _watch_decoding(steps: _Steps) -> None:
    from worker.sequencing import page as inbox_page

    parse = inbox_page.parse_entry

    def parse_counted(entry_id: bytes, fields: list[bytes], limits: Any) -> Any:
        if any(b"poison" in value for value in fields):
            steps.reach("decode poison")
        return parse(entry_id, fields, limits)

    inbox_page.parse_entry = parse_counted


def _watch_building(steps: _Steps) -> None:
    from worker.archiving import stream_archiver as archiving

    build = archiving.build_round_record

    def build_counted(**facts: Any) -> Any:
        if any("poison" in str(event.payload) for event in facts["events"]):
            steps.reach("build poison")
        return build(**facts)

    archiving.build_round_record = build_counted


def _live(told: Mapping[str, Any]) -> int:
    """The forked process: a command line like any other, but for its steps."""
    from worker import cli

    os.setpgid(0, 0)
    log = os.open(told["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(told["environment"])
    doom = Doom(**told["doom"]) if told["doom"] else None
    steps = _Steps(told["trace"], doom)
    _watch_redis(steps)
    _watch_files(steps)
    _watch_decoding(steps)
    _watch_building(steps)
    return cli.run(list(told["args"]))


def _fork(told: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            die_with_parent()
            code = _live(told)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def _await(pid: int, timeout_s: float) -> int:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1_000


def main() -> None:
    """Answer commands, one JSON document a line, until there are no more."""
    import worker.commands.run
    import worker.commands.verify
    import worker.wiring.worker  # noqa: F401

    for line in sys.stdin:
        told = json.loads(line)
        answer = _await(told["wait"], told["timeout_s"]) if "wait" in told else _fork(told)
        print(answer, flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
