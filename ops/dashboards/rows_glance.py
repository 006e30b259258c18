"""Pure. The first row of the overview: is it working?"""

from __future__ import annotations

from typing import Final

from .board import cell, row
from .panels import GREEN, GREY, RED, YELLOW, stat
from .query import FLEET, OWN, SEQUENCER, increase, or_else, own, shared

GLANCE: Final = row(
    "Overview",
    cell(
        stat(
            "Workers up",
            f"sum(up{{{FLEET}}})",
            unit="none",
            about="Workers that answer Prometheus. 0: AresWorkersDown.",
            steps=((None, RED), (1, GREEN)),
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Redis",
            f"max({own('ares_redis_up')})",
            unit="none",
            about="Whether any worker reaches Redis. Down: AresRedisUnreachable.",
            words={"0": ("down", RED), "1": ("up", GREEN)},
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Sequencers",
            f"sum({own('ares_lease_held', SEQUENCER)})",
            unit="none",
            about="Sequencer leases held: one for each tenant (and shard). Less for more than a "
            "minute: AresSequencerUnheld.",
            steps=((None, RED), (1, GREEN)),
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Versions",
            f"count by (version, revision, python_version) (ares_build_info{{{OWN}}})",
            unit="none",
            about="Versions that run. Two at once only during a rollout.",
            legend="{{version}}",
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Oldest in inbox",
            f"max({shared('ares_inbox_oldest_seconds')})",
            unit="s",
            about="How long the oldest event has waited to be sequenced. Normal: below a second.",
            steps=((None, GREEN), (30, YELLOW), (120, RED)),
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Feed lag",
            f"max({shared('ares_feed_lag_seconds')})",
            unit="s",
            about="How far the archivers of the worst tenant are behind. Normal: below a second.",
            steps=((None, GREEN), (60, YELLOW), (300, RED)),
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Rounds archived, last hour",
            increase("ares_rounds_archived_total", "1h"),
            unit="none",
            about="Rounds whose file is durable.",
            decimals=0,
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Archive errors, last hour",
            increase("ares_archive_errors_total", "1h"),
            unit="none",
            about="Failed writes of round files. Rounds stay in their logs and are tried again.",
            steps=((None, GREEN), (1, RED)),
            decimals=0,
        ),
        width=3,
        height=4,
    ),
    cell(
        stat(
            "Archive volume free",
            f"max(ares_archive_volume_free_bytes{{{FLEET}}})"
            f" / max(ares_archive_volume_size_bytes{{{FLEET}}})",
            unit="percentunit",
            about="Share of the archive volume a worker may still fill.",
            steps=((None, RED), (0.1, YELLOW), (0.2, GREEN)),
        ),
        width=4,
        height=4,
    ),
    cell(
        stat(
            "Dead letters",
            f"sum({shared('ares_dead_letter_events')})",
            unit="none",
            about="Refused inbox entries that wait for a person: `ares-worker dead list`.",
            steps=((None, GREEN), (1, YELLOW)),
        ),
        width=4,
        height=4,
    ),
    cell(
        stat(
            "Events lost, last day",
            increase("ares_events_lost_total", "1d"),
            unit="none",
            about="Events removed from Redis before anybody worked on them. Normal: 0, always.",
            steps=((None, GREEN), (1, RED)),
            decimals=0,
        ),
        width=4,
        height=4,
    ),
    cell(
        stat(
            "Streams due for compaction",
            f"sum({shared('ares_compaction_lagging_streams')})",
            unit="none",
            about="Streams over the threshold. A few come and go; many mean that Redis grows.",
            steps=((None, GREEN), (100, YELLOW)),
        ),
        width=4,
        height=4,
    ),
    cell(
        stat(
            "Since last good verify",
            "max(time() - "
            f"({shared('ares_verify_last_success_timestamp_seconds')} > 0))"
            f" or max(time() - process_start_time_seconds{{{FLEET}}})",
            unit="s",
            about="Time since `ares-worker verify` last found nothing wrong, for the worst tenant; "
            "since the workers started, where it never ran.",
            steps=((None, GREEN), (90_000, YELLOW), (176_400, RED)),
        ),
        width=4,
        height=4,
    ),
    cell(
        stat(
            "Verify findings",
            or_else(
                f"sum({shared('ares_verify_findings')} and on (tenant) "
                f"({shared('ares_verify_findings')} > 0 or "
                f"{shared('ares_verify_last_success_timestamp_seconds')} > 0))",
                "-1",
            ),
            unit="none",
            about="Findings of the last `ares-worker verify`, all tenants. Normal: 0.",
            steps=((None, GREEN), (1, RED)),
            words={"-1": ("not run yet", GREY)},
        ),
        width=4,
        height=4,
    ),
)
