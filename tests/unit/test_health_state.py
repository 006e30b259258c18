"""Liveness follows the event loop alone; readiness names what stands in the way."""

from __future__ import annotations

import asyncio

import pytest

from ops.health import Heartbeat, Readiness, watch_loop
from support.waiting import eventually


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_a_process_is_alive_from_its_start():
    assert Heartbeat(stall_after=10, clock=Clock()).stalled_for() is None


def test_an_event_loop_that_has_not_turned_for_too_long_has_stalled():
    clock = Clock()
    heartbeat = Heartbeat(stall_after=10, clock=clock)

    clock.now += 10
    assert heartbeat.stalled_for() is None
    clock.now += 0.5
    assert heartbeat.stalled_for() == 10.5


def test_a_beat_ends_a_stall():
    clock = Clock()
    heartbeat = Heartbeat(stall_after=10, clock=clock)
    clock.now += 60

    heartbeat.beat()

    assert heartbeat.stalled_for() is None


async def test_the_watch_beats_and_tells_how_late_each_beat_was():
    clock, stop, delays = Clock(), asyncio.Event(), []
    heartbeat = Heartbeat(stall_after=10, clock=clock)
    clock.now += 60

    watch = asyncio.create_task(watch_loop(heartbeat, delays.append, stop=stop, interval=0.001))
    await eventually(lambda: len(delays) >= 3)
    stop.set()
    await watch

    assert heartbeat.stalled_for() is None
    assert all(delay >= 0 for delay in delays)


async def test_the_watch_ends_at_once_when_told():
    stop = asyncio.Event()
    watch = asyncio.create_task(
        watch_loop(Heartbeat(stall_after=10), lambda _: None, stop=stop, interval=3600)
    )
    await asyncio.sleep(0)

    stop.set()

    await asyncio.wait_for(watch, 5)


def test_nothing_is_ready_before_it_was_looked_at():
    readiness = Readiness("redis", "volume")

    report = readiness.report()

    assert not report.ready
    assert report.reasons == {"redis": "not checked yet", "volume": "not checked yet"}


def test_a_worker_is_ready_when_every_condition_passes():
    readiness = Readiness("redis", "volume")
    readiness.passes("redis")
    readiness.passes("volume")

    assert readiness.report().ready
    assert readiness.report().passing == ("redis", "volume")


def test_the_reason_is_named_and_goes_when_its_cause_does():
    readiness = Readiness("redis")
    readiness.fails("redis", "no connection")
    assert readiness.report().reasons == {"redis": "no connection"}

    readiness.passes("redis")

    assert readiness.report().reasons == {}


@pytest.mark.parametrize("reason", ["maxmemory-policy is allkeys-lru", None])
def test_a_cheap_check_is_asked_at_every_report(reason):
    readiness = Readiness()
    readiness.check("eviction", lambda: reason)

    assert readiness.report().ready is (reason is None)


def test_a_draining_worker_is_never_ready_again():
    readiness = Readiness("redis")
    readiness.passes("redis")

    readiness.drain()
    readiness.passes("draining")

    assert readiness.report().reasons == {"draining": "the worker is ending"}
