"""Pure. What a subscriber is handed, and the rows it travels in.

Every matching event of a subscription reaches its consumer as itself, in an `event.summary` that
stands for it, or in the count of a `Gap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from streams.event import Event
from streams.summary import EventSummary

from .position import ORIGIN, Id

_SMALL: Final = 200
"""Bytes a gap or a summary counts for in a buffer."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were not handed over; it stands in their place.

    `count` matching events lie in `from_version`..`to_version`; `store.read` of that range shows
    them while they exist. An empty `stream` (and versions 0) counts events of further streams,
    more than are named.
    """

    stream: str
    from_version: int
    to_version: int
    count: int


@dataclass(frozen=True, slots=True)
class Reset:
    """The subscriber's place in the feed is gone, and it went on at another.

    `trimmed`: the entries behind its place were trimmed, or deleted. `reset`: the feed is gone,
    or restored to an earlier time. What it missed follows, as far as the logs still know: no
    event is lost silently, but events of the last minute before may come twice.
    """

    reason: Literal["trimmed", "reset"]


Item = Event | Gap | Reset
"""What iterating a subscription yields."""


class Span(NamedTuple):
    """Versions `first`..`last` of a stream, to be read; announced by feed entry `at`.

    `final` says that `last` is the last version of that entry.
    """

    stream: str
    first: int
    last: int
    at: Id = ORIGIN
    final: bool = True


class Row(NamedTuple):
    """An item with its place: `version` is the last one it stands for.

    `ms` is its commit time, `size` its bytes; `at` and `final` are those of its span. `first` is
    the first version it stands for where that is another; what came before it in a summary had
    been announced before.
    """

    item: Item
    stream: str
    version: int
    ms: int
    size: int
    at: Id = ORIGIN
    final: bool = True
    first: int = 0


def cut(span: Span, versions: int) -> tuple[Span, Span | None]:
    """The first `versions` of a span, and the rest."""
    middle = span.first + versions - 1
    if middle >= span.last:
        return span, None
    return span._replace(last=middle, final=False), span._replace(first=middle + 1)


def gap_row(span: Span, first: int, last: int) -> Row:
    """The row of versions that can't be had any more; all of them count."""
    gap = Gap(span.stream, first, last, last - first + 1)
    final = span.final and last >= span.last
    return Row(gap, span.stream, last, 0, _SMALL, span.at, final, first)


def _summary_row(span: Span, due: int, summary: EventSummary, event: Event) -> Row:
    size, last = _SMALL + len(summary.text), summary.last_version
    final = span.final and last >= span.last
    first = max(due, summary.first_version)
    return Row(event, span.stream, last, summary.committed_ms, size, span.at, final, first)


def stand_ins(
    span: Span,
    summaries: Iterable[EventSummary],
    found: Mapping[int, Row | None],
    wants: Callable[[Event, int], bool],
) -> list[Row]:
    """What is there for a span: summaries (they may reach beyond it), events, gaps between.

    `summaries` and `found` are of one moment; `found` holds None for an event nobody wants.
    `wants` is asked for each summary and its commit time.
    """
    rows: list[Row] = []
    due = span.first
    for summary in summaries:
        if summary.last_version < due:
            continue
        if summary.first_version > span.last:
            break
        if summary.first_version > due:
            rows.append(gap_row(span, due, summary.first_version - 1))
        event = summary.to_event(span.stream)
        if wants(event, summary.committed_ms):
            rows.append(_summary_row(span, due, summary, event))
        due = summary.last_version + 1
    missing = 0
    for version in range(due, span.last + 1):
        if version not in found:
            missing = missing or version
            continue
        if missing:
            rows.append(gap_row(span, missing, version - 1))
            missing = 0
        if (row := found[version]) is not None:
            rows.append(row)
    if missing:
        rows.append(gap_row(span, missing, span.last))
    return rows
