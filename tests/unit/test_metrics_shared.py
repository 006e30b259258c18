"""Gauges read from Redis and the volume: bounded, never negative, absent until known."""

from __future__ import annotations

import re
from concurrent.futures import Future

import pytest

from ops.facts import FactsCache
from ops.metrics import Metrics
from ops.metrics_shared import (
    SharedFacts,
    SharedGauges,
    SubscriberFacts,
    TenantFacts,
    VolumeFacts,
)

ALL_TENANT_FACTS = {
    "inbox_events": ("ares_inbox_events", 1),
    "inbox_oldest_seconds": ("ares_inbox_oldest_seconds", 2),
    "dead_letter_events": ("ares_dead_letter_events", 3),
    "feed_lag_entries": ("ares_feed_lag_entries", 4),
    "feed_lag_seconds": ("ares_feed_lag_seconds", 5),
    "feed_pending_entries": ("ares_feed_pending_entries", 6),
    "feed_oldest_pending_seconds": ("ares_feed_oldest_pending_seconds", 7),
    "feed_consumers": ("ares_feed_consumers", 8),
    "verify_last_success_timestamp": ("ares_verify_last_success_timestamp_seconds", 9),
    "verify_findings": ("ares_verify_findings", 10),
    "compaction_lag_events": ("ares_compaction_lag_events", 11),
    "compaction_lag_seconds": ("ares_compaction_lag_seconds", 12),
    "compaction_lagging_streams": ("ares_compaction_lagging_streams", 13),
    "subscribers": ("ares_subscribers", 14),
}


def done(value) -> Future:
    future: Future = Future()
    future.set_result(value)
    return future


def exported(facts: SharedFacts | None = None, volume: VolumeFacts | None = None) -> dict:
    metrics = Metrics(version="1")
    own = set(lines(metrics))
    metrics.share(
        SharedGauges(
            FactsCache(lambda: done(facts), ttl=5, timeout=1) if facts else None,
            FactsCache(lambda: done(volume), ttl=5, timeout=1) if volume else None,
        )
    )
    return {key: value for key, value in lines(metrics).items() if key not in own}


def lines(metrics: Metrics) -> dict[str, float]:
    text = metrics.exposition().decode()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line[0] != "#"
    }


NO_OTHERS = {
    'ares_subscriber_delivered_events_total{subscriber="other"}': 0,
    'ares_subscriber_dropped_events_total{subscriber="other"}': 0,
    'ares_subscriber_lag_entries{subscriber="other"}': 0,
}
"""There from the first reading on: no rule or panel asks for a series a healthy fleet lacks."""


def test_each_fact_of_a_tenant_is_its_own_series():
    facts = TenantFacts(**{field: value for field, (_, value) in ALL_TENANT_FACTS.items()})

    found = exported(SharedFacts(tenants={"acme": facts}))

    expected = {f'{name}{{tenant="acme"}}': value for name, value in ALL_TENANT_FACTS.values()}
    assert found == expected | NO_OTHERS


def test_subscribers_and_volume_have_theirs():
    found = exported(
        SharedFacts(
            subscribers={
                "audit": SubscriberFacts(delivered_events=9, dropped_events=0, lag_entries=2)
            }
        ),
        VolumeFacts(free_bytes=10, size_bytes=20),
    )

    assert found == NO_OTHERS | {
        'ares_subscriber_delivered_events_total{subscriber="audit"}': 9,
        'ares_subscriber_dropped_events_total{subscriber="audit"}': 0,
        'ares_subscriber_lag_entries{subscriber="audit"}': 2,
        "ares_archive_volume_free_bytes": 10,
        "ares_archive_volume_size_bytes": 20,
    }


@pytest.mark.parametrize("lag", [None, float("nan")])
def test_what_is_not_known_is_absent_not_zero(lag):
    """Redis has no lag to tell after deletions; 0 would hide a backlog."""
    found = exported(
        SharedFacts(tenants={"acme": TenantFacts(feed_lag_entries=lag, inbox_events=3)})
    )

    assert found == {'ares_inbox_events{tenant="acme"}': 3} | NO_OTHERS


def test_ages_are_never_negative_whatever_two_clocks_say():
    found = exported(SharedFacts(tenants={"acme": TenantFacts(feed_lag_seconds=-86_400.0)}))

    assert found == {'ares_feed_lag_seconds{tenant="acme"}': 0} | NO_OTHERS


def test_tenants_beyond_fifty_share_one_series_that_hides_nothing():
    tenants = {
        f"t{number:03}": TenantFacts(
            inbox_events=1, feed_lag_seconds=float(number), verify_last_success_timestamp=number
        )
        for number in range(5_000)
    }

    found = exported(SharedFacts(tenants=tenants))

    assert len(found) == 3 * 51 + len(NO_OTHERS)
    assert found['ares_inbox_events{tenant="other"}'] == 4_950
    assert found['ares_feed_lag_seconds{tenant="other"}'] == 4_999
    # The one checked longest ago counts: verify is stale when it is for any of them.
    assert found['ares_verify_last_success_timestamp_seconds{tenant="other"}'] == 50


@pytest.mark.parametrize(("times", "shown"), [([0, 7, 9], 7), ([0, 0], 0)])
def test_a_tenant_never_verified_hides_no_other_that_shares_its_series(times, shown):
    tenants = {f"a{n:02}": TenantFacts(verify_last_success_timestamp=99) for n in range(50)}
    tenants |= {
        f"b{n}": TenantFacts(verify_last_success_timestamp=time) for n, time in enumerate(times)
    }

    found = exported(SharedFacts(tenants=tenants))

    assert found['ares_verify_last_success_timestamp_seconds{tenant="other"}'] == shown


def test_subscribers_beyond_fifty_share_one_series():
    subscribers = {
        f"s{number:03}": SubscriberFacts(delivered_events=1, dropped_events=2, lag_entries=number)
        for number in range(200)
    }

    found = exported(SharedFacts(subscribers=subscribers))

    assert len(found) == 3 * 51
    assert found['ares_subscriber_dropped_events_total{subscriber="other"}'] == 300
    assert found['ares_subscriber_lag_entries{subscriber="other"}'] == 199


@pytest.mark.parametrize("name", ["other", "x" * 129, "bro\nken", "\udce9"])
def test_a_name_that_can_be_no_label_joins_the_others(name):
    """Two series of one name, or text that is not UTF-8, would break the whole scrape."""
    subscribers = {f"s{number:02}": SubscriberFacts(delivered_events=1) for number in range(60)} | {
        name: SubscriberFacts(delivered_events=1)
    }

    found = exported(SharedFacts(subscribers=subscribers))

    assert found['ares_subscriber_delivered_events_total{subscriber="other"}'] == 11
    assert len(found) == 51 + 2


def test_a_quote_in_a_name_is_escaped():
    found = exported(SharedFacts(subscribers={'a"b\\': SubscriberFacts(delivered_events=1)}))

    assert r'ares_subscriber_delivered_events_total{subscriber="a\"b\\"}' in found


def test_registering_reads_no_facts():
    asked = []

    def refresh() -> Future:
        asked.append(1)
        return done(SharedFacts())

    Metrics(version="1").share(SharedGauges(FactsCache(refresh, ttl=5, timeout=1)))

    assert asked == []


def test_every_shared_metric_is_declared_with_its_meaning():
    facts = TenantFacts(**{field: value for field, (_, value) in ALL_TENANT_FACTS.items()})
    metrics = Metrics(version="1")
    metrics.share(
        SharedGauges(FactsCache(lambda: done(SharedFacts(tenants={"a": facts})), ttl=5, timeout=1))
    )

    helps = re.findall(r"^# HELP (ares_\w+) (.+)$", metrics.exposition().decode(), re.M)

    assert {name for name, _ in ALL_TENANT_FACTS.values()} <= {name for name, _ in helps}
    assert all(text.endswith(".") for _, text in helps)
