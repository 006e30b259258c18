"""A slow source never hangs a scrape, a dead one never freezes a number."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import Future

import pytest

from ops.facts import FactsCache, in_thread, on_loop


class Source:
    """A source whose readings the test finishes by hand."""

    def __init__(self) -> None:
        self.readings: list[Future] = []

    def refresh(self) -> Future:
        self.readings.append(Future())
        return self.readings[-1]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(source, clock) -> FactsCache:
    return FactsCache(source.refresh, ttl=5, timeout=0.02, keep=30, clock=clock)


def test_facts_are_unknown_until_the_first_reading_ends(cache, source):
    assert cache.get() is None

    source.readings[0].set_result("facts")

    assert cache.get() == "facts"


def test_within_their_time_facts_come_from_memory(cache, source, clock):
    cache.start()
    source.readings[0].set_result("old")

    clock.now += 4.9
    assert cache.get() == "old"

    assert len(source.readings) == 1


def test_after_their_time_one_new_reading_is_started_and_waited_for(cache, source, clock):
    cache.start()
    source.readings[0].set_result("old")
    clock.now += 5.1

    cache.start()
    source.readings[1].set_result("new")

    assert cache.get() == "new"
    assert len(source.readings) == 2


def test_a_late_reading_is_not_started_again_and_the_old_facts_serve(cache, source, clock):
    cache.start()
    source.readings[0].set_result("old")
    clock.now += 10

    for _ in range(3):
        assert cache.get() == "old"

    assert len(source.readings) == 2


def test_old_facts_serve_only_for_so_long(cache, source, clock):
    cache.start()
    source.readings[0].set_result("old")
    clock.now += 30.1

    assert cache.get() is None


def test_a_hung_source_costs_a_scrape_its_time_limit_and_no_more():
    started = time.monotonic()

    facts = FactsCache(Future, ttl=5, timeout=0.05).get()

    assert facts is None
    assert time.monotonic() - started < 1


def test_a_failed_reading_is_told_once_and_tried_again(cache, source, clock, caplog):
    with caplog.at_level(logging.WARNING, logger="ares.metrics"):
        for number in range(20):
            cache.start()
            source.readings[number].set_exception(OSError(f"failure {number}"))
            clock.now += 0.1

    assert len(source.readings) == 20
    assert len(caplog.records) == 1


def test_a_reading_that_is_done_at_once_is_used(clock):
    def refresh() -> Future:
        future: Future = Future()
        future.set_result("at once")
        return future

    assert FactsCache(refresh, ttl=5, timeout=1, clock=clock).get() == "at once"


def test_many_scrapes_at_once_share_one_reading():
    asked, go = [], threading.Event()

    def read() -> str:
        asked.append(1)
        go.wait(10)
        return "facts"

    cache = FactsCache(in_thread(read), ttl=5, timeout=10)
    answers: list[str | None] = []
    scrapes = [threading.Thread(target=lambda: answers.append(cache.get())) for _ in range(8)]
    for scrape in scrapes:
        scrape.start()
    go.set()
    for scrape in scrapes:
        scrape.join(10)

    assert answers == ["facts"] * 8
    assert asked == [1]


def test_a_thread_that_reads_keeps_no_process_alive():
    kinds = []
    in_thread(lambda: kinds.append(threading.current_thread().daemon))().result(10)

    assert kinds == [True]


async def test_facts_may_be_read_on_the_event_loop_of_the_worker():
    async def read() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    cache = FactsCache(on_loop(asyncio.get_running_loop(), read), ttl=5, timeout=10)

    assert await asyncio.to_thread(cache.get) == threading.current_thread().name


def test_a_closed_event_loop_is_no_error():
    loop = asyncio.new_event_loop()
    loop.close()

    async def read() -> str:
        return "never"

    assert FactsCache(on_loop(loop, read), ttl=5, timeout=0.05).get() is None
