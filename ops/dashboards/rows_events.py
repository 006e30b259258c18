"""Pure. The way of events: appends, inbox, feed."""

from __future__ import annotations

from typing import Final

from .board import cell, row
from .panels import BLUE, GREEN, RED, YELLOW, timeseries
from .query import FLEET, increase, quantiles, rate, tenants

APPENDS: Final = row(
    "Appends",
    cell(
        timeseries(
            "Events appended",
            [(rate("ares_events_appended_total", "door"), "{{door}}")],
            unit="ops",
            about="Events that entered logs, by door: the SDK's append, counted as workers read of "
            "it in the feed, or the inbox.",
            stacked=True,
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Commits and conflicts",
            [
                (rate("ares_append_commits_total"), "commits"),
                (rate("ares_append_conflicts_total"), "conflicts"),
            ],
            unit="ops",
            about="The workers' transactions that appended, and those that another writer of a "
            "stream overtook: they are repeated at once. Normal where producers also append by "
            "themselves; a fifth is much.",
            colors={"conflicts": YELLOW},
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Time of a commit",
            quantiles("ares_append_seconds"),
            unit="s",
            about="From the first command to the last reply. Normal: a few milliseconds. Rises "
            "with Redis' latency.",
        ),
        width=6,
    ),
    cell(
        timeseries(
            "Appends refused",
            [(rate("ares_append_rejections_total", "reason"), "{{reason}}")],
            unit="ops",
            about="Refused for another reason than a conflict. corrupt_stream: a quarantined "
            "stream, see `ares-worker verify`. Producers of the SDK see their refusals themselves.",
        ),
        width=6,
    ),
)

_OUT: Final = [
    (rate("ares_events_sequenced_total"), "out: sequenced"),
    (rate("ares_events_deduplicated_total"), "out: known already"),
    (rate("ares_events_dead_lettered_total"), "out: dead letters"),
]
_GAINED: Final = "sum(max by (tenant) (deriv({}[$__rate_interval])))".format(
    f'ares_inbox_events{{{FLEET},tenant=~"$tenant"}}'
)
_LEFT: Final = " + ".join(query for query, _ in _OUT)

INBOX: Final = row(
    "Inbox and sequencing",
    cell(
        timeseries(
            "In and out",
            [(f"clamp_min({_LEFT} + {_GAINED}, 0)", "in"), *_OUT],
            unit="ops",
            about="Events that arrive in the inbox (reckoned from its size) and leave it. In above "
            "out for long: the sequencer can't keep up.",
            colors={"in": BLUE, "out: sequenced": GREEN, "out: dead letters": RED},
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Waiting in the inbox",
            tenants("ares_inbox_events"),
            unit="none",
            about="Entries not yet sequenced. Normal: near 0. What stays for ever belongs to a "
            "quarantined stream.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Age of the oldest inbox entry",
            tenants("ares_inbox_oldest_seconds"),
            unit="s",
            about="A line that rises as fast as time does is an entry that doesn't move: "
            "AresSequencingStalled.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "From XADD to log",
            quantiles("ares_sequence_delay_seconds"),
            unit="s",
            about="How long events wait to be sequenced. Normal: milliseconds.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Dead letters by reason",
            [(increase("ares_events_dead_lettered_total", "5m", "reason"), "{{reason}}")],
            unit="none",
            about="Inbox entries refused within 5 minutes. Kept whole: `ares-worker dead show`.",
            bars=True,
            stacked=True,
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Events lost by reason",
            [(increase("ares_events_lost_total", "5m", "reason"), "{{reason}}")],
            unit="none",
            about="Events that vanished from Redis unread. trimmed_unread and foreign_delete: "
            "somebody's command; failover: a replica that lagged. Normal: none.",
            bars=True,
            stacked=True,
        ),
        width=8,
    ),
)

FEED: Final = row(
    "Feed",
    cell(
        timeseries(
            "Lag, entries",
            tenants("ares_feed_lag_entries"),
            unit="none",
            about="Feed entries the archivers have not read. Growing: add workers.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Lag, time",
            tenants("ares_feed_lag_seconds"),
            unit="s",
            about="Age of the oldest feed entry the archivers have not read.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Read and not yet acknowledged",
            tenants("ares_feed_pending_entries"),
            unit="none",
            about="Entries in some worker's hands.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Oldest unacknowledged",
            tenants("ares_feed_oldest_pending_seconds"),
            unit="s",
            about="After a minute of silence another worker claims an entry. Much older: a round "
            "that fails again and again (AresFeedPendingStuck).",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Entries claimed",
            [(rate("ares_feed_claimed_total", "pod"), "{{pod}}")],
            unit="ops",
            about="Taken over from workers that fell silent. Normal: after a crash only.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Consumers",
            tenants("ares_feed_consumers"),
            unit="none",
            about="Consumers in the archivers' group, gone ones included until they are removed.",
        ),
        width=8,
    ),
)
