"""Settings that are fine alone and wrong together, above all timers."""

from __future__ import annotations

import pytest

from worker.settings.load import SettingsError, load_settings


def problem(**environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ={f"ARES_{name}": value for name, value in environ.items()})
    return str(caught.value)


@pytest.mark.parametrize(
    ("block_ms", "socket_ms"), [("9001", "10000"), ("10000", "10000"), ("600", "1000")]
)
def test_a_blocking_read_must_end_well_before_the_socket_gives_up(block_ms, socket_ms):
    told = problem(
        REDIS_BLOCK_MS=block_ms,
        REDIS_SOCKET_TIMEOUT_MS=socket_ms,
        SEQUENCER_LEASE_TTL_MS="60000",
    )

    assert told.startswith("redis.block_ms: ")
    assert socket_ms in told


def test_a_blocking_read_may_come_as_near_as_the_margin():
    settings = load_settings(
        environ={"ARES_REDIS_BLOCK_MS": "1000", "ARES_REDIS_SOCKET_TIMEOUT_MS": "2000"}
    )

    assert settings.redis.block_ms == 1_000


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"SEQUENCER_LEASE_TTL_MS": "3999"}, "sequencer.lease_ttl_ms"),
        ({"WORKER_DRAIN_TIMEOUT": "1s"}, "worker.drain_timeout"),
        ({"ARCHIVE_CLAIM_IDLE_MS": "10000"}, "archive.claim_idle_ms"),
        ({"WORKER_BACKOFF_MIN_MS": "20000"}, "worker.backoff_min_ms"),
        ({"COMPACTION_KEEP_RECENT": "500"}, "compaction.keep_recent"),
        ({"RETENTION_FEED_KEEP": "2000000"}, "retention.feed_keep"),
        ({"RETENTION_FORGET_AFTER": "6d"}, "retention.forget_after"),
        ({"REDIS_TLS_CERT": "/c.pem"}, "redis.tls_key"),
        ({"REDIS_TLS_KEY": "/k.pem"}, "redis.tls_cert"),
        ({"SEGMENTS_ENABLED": "true"}, "segments.base"),
        ({"SEGMENTS_BASE": "relative"}, "segments.base"),
        ({"SEGMENTS_BASE": "//"}, "segments.base"),
        ({"SEGMENTS_BASE": "/a/../b"}, "segments.base"),
    ],
)
def test_a_contradiction_is_told_by_the_name_of_the_setting(environ, key):
    assert problem(**environ).startswith(f"{key}: ")


def test_never_forgetting_goes_with_any_retirement():
    settings = load_settings(environ={"ARES_RETENTION_FORGET_AFTER": "0"})

    assert not settings.retention.forget_after
