"""`make soak`: steady work for a while, with ten minutes without Redis, while nothing may grow.

`python -m endurance.soak --seconds 600 --outage 600`. Exit 0 when every round was archived once,
memory of the worker and of Redis stayed flat, no file stayed open, and the outage was told in few
lines.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from streams.keys import Keys
from support.redis_server import REDIS_7, REDIS_62, RedisServer, find_servers
from support.sessions import produce, rounds_due, rounds_in
from support.waiting import eventually_sync
from support.worker_process import Installation, WorkerProcess

INBOX = Keys("default").inbox
AGENTS_A_TURN = 5
TURN_S = 0.5
SETTINGS = {
    "ARES_COMPACTION_THRESHOLD": "20",
    "ARES_COMPACTION_KEEP_RECENT": "5",
    "ARES_RETENTION_FEED_KEEP": "1000",
}
MOST_WORKER_GROWTH_MB = 30
MOST_LINES_IN_TEN_MINUTES = 130
"""Log lines of one worker while Redis is away; a short outage is given ten for its beginning."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a worker holds at one moment."""

    memory_mb: float
    open_files: int

    @classmethod
    def of(cls, worker: WorkerProcess) -> Sample:
        """From /proc."""
        process = Path("/proc") / str(worker.process.pid)
        lines = (process / "status").read_text().splitlines()
        [resident] = [line for line in lines if line.startswith("VmRSS")]
        return cls(int(resident.split()[1]) / 1024, len(list((process / "fd").iterdir())))


class Soak:
    """One worker on one Redis, and a producer at a steady pace."""

    def __init__(self, here: Installation, server: RedisServer, worker: WorkerProcess) -> None:
        self.here, self._server, self._worker = here, server, worker
        self.agents = 0

    def work(self, seconds: float) -> None:
        """Produce for `seconds`; every session is a new stream."""
        until = time.monotonic() + seconds
        with self._server.admin() as admin:
            while (began := time.monotonic()) < until:
                agents = range(self.agents, self.agents + AGENTS_A_TURN)
                produce(admin, INBOX, agents)
                self.agents = agents.stop
                time.sleep(max(0.0, TURN_S - (time.monotonic() - began)))

    def outage(self, seconds: float) -> int:
        """Take Redis away for `seconds`; lines the worker logged meanwhile."""
        before = len(self._worker.log().splitlines())
        self._server.kill()
        time.sleep(seconds)
        lines = len(self._worker.log().splitlines()) - before
        assert self._worker.get("/livez")[0] == 200, "an outage of Redis is no death"
        self._server.start()
        eventually_sync(lambda: self._worker.get("/readyz")[0] == 200, 60, hint="ready again")
        return lines

    def settle(self) -> None:
        """Until every round is a file."""
        due = rounds_due(range(self.agents))
        eventually_sync(lambda: len(self.here.rounds()) == len(due), 120, hint=f"{len(due)} rounds")
        assert rounds_in(self.here.rounds()) == due


def run(seconds: float, away: float) -> None:
    """Raises `AssertionError` when something is missing or grew."""
    found = find_servers()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ares-soak-")))
        binary = found.get(REDIS_7) or found[REDIS_62]
        server = RedisServer(binary, folder / "redis", aof="everysec").start()
        stack.callback(server.kill)
        here = Installation(server.url, folder / "rounds", SETTINGS)
        with here.worker() as worker:
            worker.wait_ready()
            soak = Soak(here, server, worker)
            soak.work(seconds / 3)
            soak.settle()
            first = Sample.of(worker)
            lines = soak.outage(away)
            soak.work(seconds * 2 / 3)
            soak.settle()
            last = Sample.of(worker)
        print(f"{len(here.rounds())} rounds of {soak.agents} sessions, each once")
        print(f"worker: {first} → {last}; {lines} lines in an outage of {away:.0f} s")
        print(here.call("verify"), end="")
        most = max(10.0, MOST_LINES_IN_TEN_MINUTES * away / 600)
        assert lines < most, "too much was logged"
        assert last.memory_mb - first.memory_mb <= MOST_WORKER_GROWTH_MB, "memory grows"
        assert last.open_files <= first.open_files + 2, "files stay open"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of work")
    parser.add_argument("--outage", type=float, default=600, help="seconds without Redis")
    given = parser.parse_args()
    run(given.seconds, given.outage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
