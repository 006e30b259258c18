"""Pure. An archive at a glance: its streams, and its rounds over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import groupby
from typing import Final

from archive.places import ArchivedRound
from archive.record import OUTCOMES

from .query import failed_checks, has_failed
from .render import Style, plain, when
from .text import visible_line

_BARS: Final = " ▁▂▃▄▅▆▇█"
_ASCII_BARS: Final = " .:-=+*#%"
_MOST: Final = 8


@dataclass(frozen=True, slots=True)
class StreamOverview:
    """One stream of an archive: how many rounds, their numbers, and the newest of them."""

    tenant: str
    stream: str
    rounds: int
    first: int
    last: int
    newest: datetime | None
    summary: str


def overviews(rounds: Iterable[ArchivedRound]) -> Iterator[StreamOverview]:
    """The streams of rounds given folder by folder, as `FileArchiveReader.rounds` does."""
    for (tenant, stream), group in groupby(rounds, lambda r: (r.place.folder.tenant, r.stream)):
        count, first, last, newest = 0, 0, 0, None
        summary = ""
        for found in group:
            count += 1
            number, ended = found.place.round, found.record.ended_at
            first = min(first or number, number)
            if number > last:
                last, summary = number, found.record.summary
            if ended and (newest is None or ended > newest):
                newest = ended
        yield StreamOverview(tenant, stream, count, first, last, newest, summary)


def render_overviews(streams: Sequence[StreamOverview], *, style: Style = plain) -> Iterator[str]:
    """One line for each stream."""
    several_tenants = len({stream.tenant for stream in streams}) > 1
    width = min(40, max((len(visible_line(stream.stream)) for stream in streams), default=0))
    for stream in streams:
        name = visible_line(stream.stream) or "(no stream)"
        tenant = f"{stream.tenant:<12}  " if several_tenants else ""
        summary = visible_line(" ".join(stream.summary.split()))
        numbers = f"{stream.rounds:>5} rounds  {stream.first:>4} to {stream.last:<5}"
        yield (
            f"{tenant}{style('title', name.ljust(width))}  {numbers}  "
            f"{style('dim', when(stream.newest))}  {summary[:60]}\n"
        )


@dataclass(slots=True)
class Stats:
    """Counts over rounds. `days` holds rounds and, of them, those that failed."""

    rounds: int = 0
    streams: set[tuple[str, str]] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    failing_checks: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    days: dict[date, list[int]] = field(default_factory=dict)
    undated: int = 0


def stats(rounds: Iterable[ArchivedRound]) -> Stats:
    """Count rounds, given in any order."""
    counts = Stats()
    for found in rounds:
        record = found.record
        counts.rounds += 1
        counts.streams.add((found.place.folder.tenant, found.stream))
        counts.outcomes[record.outcome] += 1
        counts.actions[record.action] += 1
        counts.failing_checks.update(failed_checks(record.verdict))
        counts.files.update({change.path for change in record.files})
        if len(counts.files) > 100_000:
            counts.files = Counter(dict(counts.files.most_common(10_000)))
        if record.ended_at is None:
            counts.undated += 1
        else:
            day = counts.days.setdefault(record.ended_at.astimezone(UTC).date(), [0, 0])
            day[0] += 1
            day[1] += has_failed(record)
    return counts


def stats_to_dict(counts: Stats) -> dict[str, object]:
    """Counts for `--json`."""
    return {
        "rounds": counts.rounds,
        "streams": len(counts.streams),
        "outcomes": dict(counts.outcomes.most_common()),
        "actions": dict(counts.actions.most_common()),
        "failing_checks": dict(counts.failing_checks.most_common()),
        "files": dict(counts.files.most_common(_MOST)),
        "undated": counts.undated,
        "days": [
            {"day": day.isoformat(), "rounds": total, "failed": failed}
            for day, (total, failed) in sorted(counts.days.items())
        ],
    }


def render_stats(
    counts: Stats, *, style: Style = plain, width: int = 72, ascii_only: bool = False
) -> Iterator[str]:
    """Counts and a small plot of rounds over time, `width` columns wide."""
    rounds = _counted(counts.rounds, "round")
    yield f"{style('title', rounds)} in {_counted(len(counts.streams), 'stream')}\n"
    known = [name for name in OUTCOMES if counts.outcomes[name]]
    others = [name for name in counts.outcomes if name not in OUTCOMES]
    yield from _table("outcomes", [(name, counts.outcomes[name]) for name in known + others], style)
    yield from _table("actions", counts.actions.most_common(), style)
    yield from _table("failing checks", counts.failing_checks.most_common(_MOST), style)
    yield from _table("changed most", counts.files.most_common(_MOST), style)
    if counts.days:
        yield "\n"
        yield from _plot(counts.days, style, max(20, width), ascii_only)
    if counts.undated:
        yield style("dim", f"{counts.undated} rounds name no time\n")


def _table(title: str, rows: Sequence[tuple[str, int]], style: Style) -> Iterator[str]:
    for index, (name, count) in enumerate(rows):
        label = style("label", (title if not index else "").ljust(15))
        yield f"{label} {count:>7}  {visible_line(name)}\n"


def _plot(days: dict[date, list[int]], style: Style, width: int, ascii_only: bool) -> Iterator[str]:
    first, last = min(days), max(days)
    # One column holds as many days as are needed for all of them to fit.
    span = -(-((last - first).days + 1) // width)
    columns = [[0, 0] for _ in range(((last - first).days // span) + 1)]
    for day, (total, failed) in days.items():
        column = columns[(day - first).days // span]
        column[0] += total
        column[1] += failed
    per = "a day" if span == 1 else f"in {span} days"
    highest = max(total for total, _ in columns)
    bars = _ASCII_BARS if ascii_only else _BARS
    for kind, place in (("good", 0), ("bad", 1)):
        line = "".join(bars[_level(column[place], highest)] for column in columns)
        title = "rounds" if not place else "failed"
        yield f"{style('label', title.ljust(7))} {style(kind, line)}\n"
    until = f"{last:%Y-%m-%d}" if last > first else ""
    axis = f"{first:%Y-%m-%d}".ljust(max(11, len(columns) - len(until))) + until
    yield f"{' ' * 7} {style('dim', f'{axis}   highest: {highest} {per}')}\n"


def _level(count: int, highest: int) -> int:
    """Height of a bar: any count at all is seen."""
    return -(-count * 8 // highest) if highest else 0


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
