"""Pure. The agents' work: what their rounds came to."""

from __future__ import annotations

from typing import Any, Final

from .board import build, cell, row
from .panels import GREEN, RED, YELLOW, Panel, stat, timeseries
from .query import increase, quantiles, rate, share
from .rows_archive import OUTCOMES

_ROUNDS: Final = "ares_rounds_archived_total"
_EVENTS: Final = "ares_events_archived_total"
_SHOWN: Final = "$__range"


def _rounds(window: str, outcome: str = "") -> str:
    """Rounds archived within `window`, all or of one outcome."""
    return increase(_ROUNDS, window, extra=f'outcome="{outcome}"' if outcome else "")


def _share_of(outcome: str, window: str) -> str:
    return share(_rounds(window, outcome), _rounds(window))


def _share_panel(title: str, outcome: str, about: str) -> Panel:
    return stat(
        title,
        _share_of(outcome, _SHOWN),
        unit="percentunit",
        about=about,
        steps=((None, GREEN), (0.1, YELLOW), (0.3, RED)),
        decimals=1,
    )


_IN_RANGE: Final = row(
    "In the time range shown",
    cell(
        stat("Rounds", _rounds(_SHOWN), unit="none", about="Rounds archived.", decimals=0),
        width=4,
        height=5,
    ),
    cell(
        stat(
            "Completed",
            _rounds(_SHOWN, "completed"),
            unit="none",
            about="Rounds that ended in task.completed.",
            decimals=0,
        ),
        width=4,
        height=5,
    ),
    cell(
        _share_panel("Failed", "failed", "Share of rounds that ended in task.failed."),
        width=4,
        height=5,
    ),
    cell(
        _share_panel(
            "Unfinished",
            "unfinished",
            "Share of rounds without an end: cut for size, or their stream was left idle.",
        ),
        width=4,
        height=5,
    ),
    cell(
        stat(
            "Events a round",
            share(increase(_EVENTS, _SHOWN), _rounds(_SHOWN)),
            unit="none",
            about="Mean number of events of a round.",
            decimals=1,
        ),
        width=4,
        height=5,
    ),
    cell(
        stat(
            "Size of a record",
            share(increase("ares_archive_written_bytes_total", _SHOWN), _rounds(_SHOWN)),
            unit="bytes",
            about="Mean size of a round file.",
        ),
        width=4,
        height=5,
    ),
)

_OVER_TIME: Final = row(
    "Over time",
    cell(
        timeseries(
            "Rounds an hour by outcome",
            [(increase(_ROUNDS, "1h", "outcome"), "{{outcome}}")],
            unit="none",
            about="Rounds archived within the hour before each point.",
            stacked=True,
            colors=OUTCOMES,
        ),
        width=12,
        height=10,
    ),
    cell(
        timeseries(
            "Failed and unfinished shares",
            [(_share_of(outcome, "1h"), outcome) for outcome in ("failed", "unfinished")],
            unit="percentunit",
            about="Share of the rounds of the hour before each point. A jump of failed: a tool or "
            "model broke; of unfinished: agents die or are stopped without saying so.",
            colors=OUTCOMES,
        ),
        width=12,
        height=10,
    ),
    cell(
        timeseries(
            "Events agents emit",
            [(rate("ares_events_appended_total", "door"), "{{door}}")],
            unit="ops",
            about="Events appended, through the SDK or the inbox.",
            stacked=True,
        ),
        width=8,
    ),
    cell(
        timeseries(
            "Events a round, by the hour",
            [(share(increase(_EVENTS, "1h"), _rounds("1h")), "events a round")],
            unit="none",
            about="Mean number of events of a round. Rising: agents take longer ways.",
        ),
        width=8,
    ),
    cell(
        timeseries(
            "From a round's end to its record",
            quantiles("ares_round_archive_delay_seconds"),
            unit="s",
            about="How soon a round can be recalled.",
        ),
        width=8,
    ),
)


def agents() -> dict[str, Any]:
    """The dashboard."""
    return build(
        "ares-worker-agents",
        "ares-worker / Agents' work",
        (_IN_RANGE, _OVER_TIME),
        about="What agents' rounds came to. The words are in the archive: `ares-worker recall`.",
        since="now-24h",
    )
