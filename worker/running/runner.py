"""Keeps one part of the worker running: its rhythm, its stop signal, its pauses after failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from ops.health import Readiness
from ops.logs import fields
from ops.repeats import CauseLimiter
from streams.backoff import Backoff
from streams.errors import AresError, StoreUnavailable
from streams.pausing import pause

_log = logging.getLogger("ares.worker")

_MOST_DEFECTS: Final = 10


class Part(Protocol):
    """A loop of the worker. `work` does one step and says whether there is more to do at once."""

    @property
    def name(self) -> str:
        """Name in logs and readiness, unique in the worker."""
        ...

    async def work(self) -> bool:
        """One step; never waits for input. Raises what stands in the way."""
        ...

    async def rest(self, stop: asyncio.Event) -> None:
        """Until there may be more to do; returns soon once `stop` is set."""
        ...

    async def close(self) -> None:
        """Hand over what is held and close the connections."""
        ...


class PartFailed(Exception):
    """A part met a defect again and again: the worker must not go on as if it worked."""

    def __init__(self, part: str, cause: Exception) -> None:
        super().__init__(f"{part} failed for good: {cause!r}")
        self.part, self.cause = part, cause


@dataclass(slots=True)
class _Course:
    """How a part has fared: failures and defects since it last worked, and where it failed."""

    failures: int = 0
    defects: int = 0
    rest_failed: bool = False


class Runner:
    """Runs parts until told to stop; one line of log per cause, not per retry."""

    def __init__(
        self,
        readiness: Readiness,
        backoff: Backoff,
        *,
        redis_failed: Callable[[str], None],
        limiter: CauseLimiter,
    ) -> None:
        self._readiness, self._backoff = readiness, backoff
        self._redis_failed, self._limiter = redis_failed, limiter
        self._causes: dict[str, str] = {}

    async def run(self, part: Part, stop: asyncio.Event) -> None:
        """Run `part` until `stop`. Raises `PartFailed` after repeated defects, and only then."""
        course = _Course()
        while not stop.is_set():
            try:
                await self._step(part, stop, course)
            except AresError as exc:
                self._failing(part, exc)
                await pause(stop, self._backoff.delay_s(course.failures))
                course.failures += 1
            except Exception as exc:
                course.defects += 1
                _log.exception("a part met a defect", extra=fields(part=part.name))
                self._readiness.fails(part.name, f"defect: {type(exc).__name__}")
                if course.defects >= _MOST_DEFECTS:
                    raise PartFailed(part.name, exc) from exc
                await pause(stop, self._backoff.delay_s(course.defects))

    async def _step(self, part: Part, stop: asyncio.Event, course: _Course) -> None:
        """One step, and the rest after it.

        A step that succeeds says nothing about a rest that failed: else a command denied in the
        one would be tried as fast as the other allows.
        """
        more = await part.work()
        if more or not course.rest_failed:
            self._working(part, course)
        if not more:
            course.rest_failed = True
            await part.rest(stop)
            course.rest_failed = False
            self._working(part, course)

    def _failing(self, part: Part, exc: AresError) -> None:
        """Tell of a failure, where it is due."""
        kind = exc.kind if isinstance(exc, StoreUnavailable) else ""
        if kind:
            self._redis_failed(kind)
        self._readiness.fails(part.name, str(exc))
        cause = _cause(part, exc, kind)
        if told := self._limiter.failed(cause):
            facts = fields(part=part.name, error=str(exc), kind=kind, repeats=told.repeats)
            _log.warning("a part can't go on", extra=facts)
        self._causes[part.name] = cause

    def _working(self, part: Part, course: _Course) -> None:
        """Note that `part` works, and tell when it had failed before."""
        course.failures = course.defects = 0
        self._readiness.passes(part.name)
        cause = self._causes.pop(part.name, "")
        if cause and (told := self._limiter.recovered(cause)):
            facts = fields(part=part.name, after_s=round(told.seconds, 1), failures=told.repeats)
            _log.info("a part goes on", extra=facts)


def _cause(part: Part, exc: AresError, kind: str) -> str:
    """What counts as the same failure: one outage of Redis, however many parts miss it."""
    if not kind:
        return f"{part.name} {type(exc).__name__}"
    # Denied is said of a password, which ails all, or of a command, which ails those that use it.
    return f"redis {kind} {exc}" if kind in ("auth", "other") else f"redis {kind}"
