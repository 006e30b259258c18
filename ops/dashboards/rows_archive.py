"""Pure. What becomes of events: archive, compaction, subscribers, segments."""

from __future__ import annotations

from typing import Final

from .board import cell, row
from .panels import GREEN, GREY, RED, YELLOW, Panel, heatmap, timeseries
from .query import FLEET, increase, quantiles, rate, tenants

OUTCOMES: Final = {"completed": GREEN, "failed": RED, "unfinished": YELLOW}


def _by_subscriber(title: str, query: str, *, unit: str, about: str) -> Panel:
    """A line for each subscriber, and `other` for those beyond fifty: 0 where there is none."""
    lines = [(f"max by (subscriber) ({query})", "{{subscriber}}")]
    return timeseries(title, lines, unit=unit, about=about)


ARCHIVE: Final = row(
    "Archive",
    cell(
        timeseries(
            "Rounds archived by outcome",
            [(rate("ares_rounds_archived_total", "outcome"), "{{outcome}}")],
            unit="ops",
            about="Rounds whose file is durable. unfinished: cut for size, or left idle.",
            stacked=True,
            colors=OUTCOMES,
        ),
        width=8,
    ),
    cell(
        timeseries(
            "From a round's end to its file",
            quantiles("ares_round_archive_delay_seconds"),
            unit="s",
            about="From the terminal event's commit to a durable file. Normal: tens of ms.",
        ),
        width=8,
    ),
    cell(
        heatmap(
            "Time to write a round file",
            increase("ares_archive_write_seconds_bucket", "$__rate_interval", "le"),
            unit="s",
            about="Write and fsync, how many took how long. A band that moves up is the volume "
            "getting slow.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Errors by reason",
            [(rate("ares_archive_errors_total", "reason"), "{{reason}}")],
            unit="ops",
            about="Failed writes. conflict: the archive holds another round of that name "
            "(AresArchiveConflict); all others: the volume (AresArchiveFailing).",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Written",
            [(rate("ares_archive_written_bytes_total"), "round files")],
            unit="Bps",
            about="Bytes of round files written.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Events archived",
            [(rate("ares_events_archived_total"), "events")],
            unit="ops",
            about="Events of archived rounds. Over a day it follows the events appended.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Archive volume",
            [
                (f"max(ares_archive_volume_free_bytes{{{FLEET}}})", "free"),
                (f"max(ares_archive_volume_size_bytes{{{FLEET}}})", "size"),
            ],
            unit="bytes",
            about="Free space and size of the volume. Full: rounds stay in Redis.",
            colors={"free": GREEN, "size": GREY},
        ),
        width=6,
    ),
)

COMPACTION: Final = row(
    "Compaction",
    cell(
        timeseries(
            "Events due",
            tenants("ares_compaction_lag_events"),
            unit="none",
            about="Events that could be compacted and are not. They cost Redis' memory.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Streams due",
            tenants("ares_compaction_lagging_streams"),
            unit="none",
            about="Streams over the threshold.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Longest due",
            tenants("ares_compaction_lag_seconds"),
            unit="s",
            about="How long the oldest such stream has been waiting.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Runs by result",
            [(rate("ares_compaction_runs_total", "result"), "{{result}}")],
            unit="ops",
            about="relief: Redis is short of memory. conflict: another worker was first, harmless. "
            "error: see the logs.",
            colors={"compacted": GREEN, "relief": YELLOW, "error": RED},
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Time of a run",
            quantiles("ares_compaction_seconds"),
            unit="s",
            about="One run on one stream, an own summarizer included.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Events compacted",
            [(rate("ares_events_compacted_total"), "events")],
            unit="ops",
            about="Events summarized and trimmed from Redis.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Summarizer failures",
            [(rate("ares_summarizer_failures_total", "pod"), "{{pod}}")],
            unit="ops",
            about="Your summarizer raised or took too long; the built-in rules stepped in.",
        ),
        width=8,
    ),
)

SUBSCRIBERS: Final = row(
    "Subscribers",
    cell(
        timeseries(
            "Subscribers",
            tenants("ares_subscribers"),
            unit="none",
            about="Subscribers seen lately, wherever they run.",
        ),
        width=6,
    ),
    cell(
        _by_subscriber(
            "Delivered",
            f"rate(ares_subscriber_delivered_events_total{{{FLEET}}}[$__rate_interval])",
            unit="ops",
            about="Events handed to each subscriber.",
        ),
        width=6,
    ),
    cell(
        _by_subscriber(
            "Dropped by subscriber",
            f"rate(ares_subscriber_dropped_events_total{{{FLEET}}}[$__rate_interval])",
            unit="ops",
            about="Events a subscriber missed because it was too slow. It is told each gap and can "
            "read it from the log: AresSubscribersDropping.",
        ),
        width=6,
    ),
    cell(
        _by_subscriber(
            "Subscribers' lag",
            f"ares_subscriber_lag_entries{{{FLEET}}}",
            unit="none",
            about="Feed entries each subscriber is behind. A durable one that is too far behind is "
            "dropped and told so.",
        ),
        width=6,
    ),
)

SEGMENTS: Final = row(
    "Sealed segments",
    cell(
        timeseries(
            "Segments sealed",
            [(rate("ares_segments_sealed_total"), "sealed")],
            unit="ops",
            about="Conversations sealed when their round was archived. 0 while segments are off.",
        ),
        width=12,
        height=6,
    ),
    cell(
        timeseries(
            "Segments refused",
            [(rate("ares_segment_refusals_total", "reason"), "{{reason}}")],
            unit="ops",
            about="Archiving goes on; sealing is tried again with the next round. full: free slots "
            "with `ares-worker segment forget`.",
        ),
        width=12,
        height=6,
    ),
)
