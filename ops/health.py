"""Whether the process lives, and whether it is ready. Answers come from memory: no I/O here.

Liveness never asks Redis or the volume: an outage there is no reason to kill workers.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

DRAINING: Final = "draining"


class Heartbeat:
    """When the event loop last turned. Written by the loop, read by the server's threads."""

    def __init__(self, *, stall_after: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stall_after = stall_after
        self._last = clock()

    def beat(self) -> None:
        """The event loop turns."""
        self._last = self._clock()

    def stalled_for(self) -> float | None:
        """Seconds of standstill when they are too many, else `None`."""
        silence = self._clock() - self._last
        return silence if silence > self._stall_after else None


async def watch_loop(
    heartbeat: Heartbeat,
    delayed: Callable[[float], None],
    *,
    stop: asyncio.Event,
    interval: float = 0.5,
) -> None:
    """Beat until `stop` is set, telling `delayed` how many seconds late each beat was."""
    loop = asyncio.get_running_loop()
    while not stop.is_set():
        due = loop.time() + interval
        try:
            await asyncio.wait_for(stop.wait(), interval)
        except TimeoutError:
            delayed(max(loop.time() - due, 0.0))
        heartbeat.beat()


@dataclass(frozen=True, slots=True)
class ReadinessReport:
    """`reasons` maps each condition that fails to why; ready when it is empty."""

    reasons: dict[str, str]
    passing: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.reasons


class Readiness:
    """Named conditions that the worker keeps up to date, and cheap checks asked each time.

    Every declared condition stands in the way until it is first reported as passing.
    """

    def __init__(self, *conditions: str) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[str, str | None] = dict.fromkeys(conditions, "not checked yet")
        self._checks: dict[str, Callable[[], str | None]] = {}
        self._draining = False

    def passes(self, condition: str) -> None:
        """`condition` is fulfilled."""
        with self._lock:
            self._reasons[condition] = None

    def fails(self, condition: str, reason: str) -> None:
        """`condition` is not fulfilled, and why; one sentence, without secrets."""
        with self._lock:
            self._reasons[condition] = reason

    def check(self, condition: str, reason: Callable[[], str | None]) -> None:
        """Ask `reason` at every report: `None` passes. It must be quick and do no I/O."""
        with self._lock:
            self._checks[condition] = reason

    def drain(self) -> None:
        """From now on the worker is ending: never ready again."""
        with self._lock:
            self._draining = True

    def report(self) -> ReadinessReport:
        """What stands in the way now."""
        with self._lock:
            states = dict(self._reasons)
            checks = dict(self._checks)
            if self._draining:
                states[DRAINING] = "the worker is ending"
        states.update({name: ask() for name, ask in checks.items()})
        return ReadinessReport(
            reasons={name: reason for name, reason in states.items() if reason is not None},
            passing=tuple(name for name, reason in states.items() if reason is None),
        )
