"""An outage of ten minutes is told in a few lines, not recited."""

from __future__ import annotations

import pytest

from ops.repeats import CauseLimiter, Told


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> CauseLimiter:
    return CauseLimiter(clock)


def test_the_first_failure_is_told_at_once(limiter):
    assert limiter.failed("redis") == Told(repeats=1, seconds=0.0)


def test_ten_minutes_of_failures_are_told_with_growing_pauses(limiter, clock):
    told_at = []
    for step in range(6_000):
        clock.now = step / 10
        if limiter.failed("redis"):
            told_at.append(clock.now)

    assert told_at[:5] == [0, 5, 15, 35, 75]
    assert told_at[5:8] == [135, 195, 255]
    assert len(told_at) < 15


def test_a_line_says_how_often_it_happened_since_the_last_and_for_how_long(limiter, clock):
    limiter.failed("redis")
    for clock.now in (1.0, 2.0, 3.0):
        assert limiter.failed("redis") is None

    clock.now = 6.0

    assert limiter.failed("redis") == Told(repeats=4, seconds=6.0)


def test_causes_do_not_silence_each_other(limiter):
    assert limiter.failed("redis")
    assert limiter.failed("volume")


def test_the_end_is_told_with_the_whole_of_it(limiter, clock):
    limiter.failed("redis")
    clock.now = 3.0
    limiter.failed("redis")
    clock.now = 4.0

    assert limiter.recovered("redis") == Told(repeats=2, seconds=4.0)
    assert limiter.recovered("redis") is None


def test_the_end_of_what_was_never_told_is_not_told(limiter):
    assert limiter.recovered("redis") is None


def test_what_comes_and_goes_keeps_its_pause(limiter, clock):
    """A flapping connection must not write two lines a second."""
    lines = 0
    for step in range(6_000):
        clock.now = step / 10
        told = limiter.failed("redis") if step % 2 == 0 else limiter.recovered("redis")
        lines += told is not None

    assert lines < 30


def test_after_a_long_quiet_time_it_is_news_again(limiter, clock):
    limiter.failed("redis")
    limiter.recovered("redis")
    clock.now = 61.0

    assert limiter.failed("redis") == Told(repeats=1, seconds=0.0)
    clock.now = 66.5
    assert limiter.failed("redis") == Told(repeats=1, seconds=5.5)


def test_causes_without_number_take_no_memory_without_end(limiter):
    for number in range(10_000):
        limiter.failed(f"cause {number}")

    assert len(limiter._causes) <= 256
