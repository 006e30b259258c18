"""A part that fails and recovers: tried ever more rarely, told of once, and taken up again."""

from __future__ import annotations

import asyncio
import logging

from ops.health import Readiness
from ops.repeats import CauseLimiter
from streams.backoff import Backoff
from streams.errors import CorruptionError, StoreAccessDenied, StoreUnavailable
from worker.running.runner import Runner

AWAY = StoreUnavailable("away")


class Delays(Backoff):
    """A backoff that notes which attempt it was asked about, and never waits."""

    def __init__(self) -> None:
        super().__init__(0.001, 0.001)
        object.__setattr__(self, "asked", [])

    __slots__ = ("asked",)

    def delay_s(self, attempt: int) -> float:
        self.asked.append(attempt)
        return 0


class ScriptedPart:
    """A part whose steps are given: an error to raise, or whether there is more to do."""

    def __init__(
        self, name: str, steps: list[Exception | bool], end: asyncio.Event, rest_fails: int = 0
    ) -> None:
        self.name, self._steps, self._end = name, list(steps), end
        self._rest_fails = rest_fails

    async def work(self) -> bool:
        step = self._steps.pop(0) if self._steps else self._stop()
        if isinstance(step, Exception):
            raise step
        return step

    def _stop(self) -> bool:
        self._end.set()
        return False

    async def rest(self, stop: asyncio.Event) -> None:
        if self._end.is_set() or not self._rest_fails:
            return
        self._rest_fails -= 1
        raise AWAY

    async def close(self) -> None:
        pass


class Bench:
    """A runner with everything around it in view."""

    def __init__(self) -> None:
        self.readiness = Readiness("part", "other")
        self.delays = Delays()
        self.now = 0.0
        limiter = CauseLimiter(lambda: self.now)
        self.runner = Runner(
            self.readiness, self.delays, redis_failed=lambda kind: None, limiter=limiter
        )

    async def run(self, *steps: Exception | bool, name: str = "part", rest_fails: int = 0) -> None:
        stop = asyncio.Event()
        await self.runner.run(ScriptedPart(name, list(steps), stop, rest_fails), stop)


async def test_pauses_begin_anew_after_a_step_that_worked():
    bench = Bench()

    await bench.run(AWAY, AWAY, AWAY, True, AWAY, False, AWAY)

    assert bench.delays.asked == [0, 1, 2, 0, 0]


async def test_a_rest_that_fails_is_tried_ever_more_rarely_though_the_steps_succeed():
    bench = Bench()

    await bench.run(False, False, False, False, False, rest_fails=3)

    assert bench.delays.asked == [0, 1, 2]
    assert bench.readiness.report().reasons.keys() == {"other"}


async def test_defects_that_come_now_and_then_never_end_the_worker():
    bench = Bench()

    await bench.run(*[ValueError("odd"), True] * 30)


async def test_a_part_that_is_always_busy_is_ready_again_after_a_failure():
    bench = Bench()
    seen: list[bool] = []

    class Watching(ScriptedPart):
        async def work(self) -> bool:
            seen.append("part" in bench.readiness.report().reasons)
            return await super().work()

    stop = asyncio.Event()
    await bench.runner.run(Watching("part", [AWAY, True, True], stop), stop)

    assert seen == [True, True, False, False]


async def test_an_end_of_a_failure_is_told(caplog):
    bench = Bench()
    with caplog.at_level(logging.INFO, "ares.worker"):
        await bench.run(AWAY, AWAY, True)

    assert [record.message for record in caplog.records] == ["a part can't go on", "a part goes on"]


async def test_an_outage_of_redis_is_one_line_for_all_parts(caplog):
    """They share one Redis: three parts that miss it are one cause."""
    bench = Bench()
    for name in ("sequencer", "archiver", "janitor"):
        await bench.run(AWAY, AWAY, name=name)

    assert [record.message for record in caplog.records] == ["a part can't go on"]


async def test_a_wrong_password_is_one_line_and_a_denied_command_another(caplog):
    bench = Bench()
    for name in ("sequencer", "archiver"):
        await bench.run(StoreAccessDenied("Authentication required."), name=name)
    for command in ("xread", "xreadgroup"):
        await bench.run(StoreAccessDenied(f"no permissions to run {command}"), name=command)

    assert len(caplog.records) == 3


async def test_what_ails_one_part_alone_is_told_for_each(caplog):
    bench = Bench()
    for name in ("sequencer", "archiver"):
        await bench.run(CorruptionError("odd"), name=name)

    assert len(caplog.records) == 2
