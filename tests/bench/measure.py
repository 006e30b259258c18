"""How the benchmarks measure: interleaved runs, medians, ratios to a floor of the same run.

A machine's speed drifts by a third between runs; only a ratio measured side by side counts.
"""

from __future__ import annotations

import gc
import inspect
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.redis_server import REDIS_7, REDIS_62, RedisServer, find_servers

RUNS: Final = 3

Measure = Callable[[], float | Awaitable[float]]
"""One run: the rate, time or size it saw."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. The ratio is ours over floor; `at_least` or `at_most` is its target.

    Without a floor the target is about ours itself.
    """

    what: str
    unit: str
    ours: float
    floor: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over floor."""
        return self.ours / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        value = self.ours if self.ratio is None else self.ratio
        if self.at_least is not None:
            return value >= self.at_least
        return None if self.at_most is None else value <= self.at_most


class Bench:
    """What a benchmark gets: servers with an append-only file, a folder, medians."""

    def __init__(self, folder: Path, *, scale: float = 1.0) -> None:
        self.folder, self._scale = folder, scale
        self._servers: list[RedisServer] = []

    def count(self, full: int, *, least: int = 1) -> int:
        """How many of something to do: `full`, or the share of it that `--quick` leaves."""
        return max(least, int(full * self._scale))

    def redis(self, *options: str) -> RedisServer:
        """A fresh private server, `appendfsync everysec`; ends with the run."""
        found = find_servers()
        binary = found.get(REDIS_7) or found[REDIS_62]
        folder = self.folder / f"redis-{len(self._servers)}"
        self._servers.append(RedisServer(binary, folder, aof="everysec", options=options))
        return self._servers[-1].start()

    def close(self) -> None:
        """End every server started."""
        for server in self._servers:
            server.kill()


async def median(measure: Measure, runs: int = RUNS) -> float:
    """Median of several runs."""
    return statistics.median([await _once(measure) for _ in range(runs)])


async def interleaved(ours: Measure, floor: Measure, runs: int = RUNS) -> tuple[float, float]:
    """Medians of `ours` and `floor`, run in turns so that both see the same machine."""
    pairs = [(await _once(floor), await _once(ours)) for _ in range(runs)]
    return statistics.median(o for _, o in pairs), statistics.median(f for f, _ in pairs)


async def _once(measure: Measure) -> float:
    gc.collect()
    gc.freeze()  # a benchmark's own heap is not to be walked again and again meanwhile
    value = measure()
    return await value if inspect.isawaitable(value) else value


def peak_mib(code: str, *arguments: object, cwd: Path | None = None) -> float:
    """MiB of memory at most held by a Python process of its own that runs `code`.

    What `getrusage` says of a child counts the memory of its parent, too, from before the exec.
    """
    told = f"""{code}
from pathlib import Path
[peak] = [l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM")]
print(peak.split()[1])
"""
    command = [sys.executable, "-c", told, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, check=True)
    return int(done.stdout.split()[-1]) / 1024


class Stopwatch:
    """`with Stopwatch() as watch: …`, then `watch.rate(n)` or `watch.seconds`."""

    def __enter__(self) -> Stopwatch:
        self._started = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        self.seconds = time.perf_counter() - self._started

    def rate(self, count: int) -> float:
        """`count` things a second."""
        return count / self.seconds
