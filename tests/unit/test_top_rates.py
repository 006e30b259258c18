"""What `top` says happens a second, from two looks."""

from __future__ import annotations

import pytest

from support.top_samples import HEALTHY, sample, stream, tenant
from worker.top.rates import rates_between
from worker.top.report import report


def test_nothing_is_known_of_the_first_look():
    assert rates_between(None, sample(tenant("default", stream("s")))) == {}


def test_rates_are_what_changed_divided_by_the_time_between():
    before = sample(tenant("default", stream("s", 10, archived_version=4, rounds=1)), taken_s=5.0)
    after = stream("s", 30, archived_version=24, rounds=3, compacted_version=10)
    now = sample(tenant("default", after), taken_s=9.0)

    rates = rates_between(before, now)["default"]

    assert (rates.events, rates.archived, rates.rounds, rates.compacted) == (5.0, 5.0, 0.5, 2.5)
    assert rates.of_stream == {"s": 5.0}


def test_a_stream_that_has_come_into_being_counts_from_its_beginning():
    before = sample(tenant("default", stream("old", 10)))
    now = sample(tenant("default", stream("old", 10), stream("new", 8)), taken_s=2.0)

    assert rates_between(before, now)["default"].of_stream == {"old": 0.0, "new": 4.0}


def test_a_stream_beyond_those_looked_at_before_has_no_rate_yet():
    """It may have had its events for years."""
    before = sample(tenant("default", stream("seen"), stream_count=2))
    now = sample(tenant("default", stream("unseen", 900), stream_count=2), taken_s=1.0)

    rates = rates_between(before, now)["default"]

    assert (rates.events, rates.of_stream) == (0.0, {})


def test_a_flushed_redis_is_no_negative_rate():
    before = sample(tenant("default", stream("s", 100, archived_version=90, rounds=9)))
    now = sample(tenant("default", stream("s", 3)), taken_s=1.0)

    rates = rates_between(before, now)["default"]

    assert (rates.events, rates.archived, rates.rounds) == (0.0, 0.0, 0.0)


def test_the_inbox_may_shrink():
    full = HEALTHY.__class__(inbox_events=100)
    before = sample(tenant(facts=full))

    assert rates_between(before, sample(tenant(), taken_s=4.0))["default"].inbox == -25.0


@pytest.mark.parametrize("taken_s", [5.0, 4.0])
def test_without_time_between_there_are_no_rates(taken_s):
    before = sample(tenant(), taken_s=5.0)

    assert rates_between(before, sample(tenant(), taken_s=taken_s)) == {}


def test_a_report_holds_every_fact_and_rates_where_they_are_known():
    before = sample(tenant("default", stream("s", 10)))
    now = sample(tenant("default", stream("s", 12)), tenant("acme"), taken_s=1.0)

    said = report(now, before)

    known, unknown = said["tenants"]
    assert (known["events_per_s"], unknown["events_per_s"]) == (2.0, None)
    assert (known["inbox_events"], known["stream_count"]) == (0, 1)
    assert known["streams"][0] | {"stream": "s", "head": 12, "open": 12} == known["streams"][0]
    assert known["streams"][0]["events_per_s"] == 2.0
    assert known["leases"][0] == {"name": "sequencer", "owner": "pod-a", "left_ms": 9_000}
    told = {"name": "pod-b", "pending": 3, "idle_ms": 1_100, "silent": False}
    assert known["workers"][1] == told
    assert said["redis"]["version"] == "7.0.15"
