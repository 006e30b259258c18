"""How spans are read: within a few megabytes, through compaction, resumable at any point."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import Event, EventFilter, Gap
from streams.event import SUMMARY_TYPE
from streams.subscription.items import Row, Span, cut, stand_ins
from streams.subscription.position import Position
from streams.subscription.seen import Covered, Versions
from streams.subscription.spans import Appetite, SpanQueue
from streams.subscription.wanted import Wanted
from streams.summary import EventSummary

ALL = Wanted(EventFilter())


def summary(first: int, last: int) -> EventSummary:
    return EventSummary(first, last, 0, 0, 0, {"x": last - first + 1}, "")


def event_row(span: Span, version: int, size: int = 10) -> Row:
    event = Event("x", stream_id=span.stream, version=version)
    return Row(event, span.stream, version, 0, size, span.at, span.final and version == span.last)


def extent(row: Row) -> tuple[int, int]:
    """First and last version a row stands for."""
    item = row.item
    if isinstance(item, Gap):
        return item.from_version, item.to_version
    first = item.payload["first_version"] if item.type == SUMMARY_TYPE else row.version
    return first, row.version


@given(
    st.integers(1, 20),
    st.integers(0, 12),
    st.lists(st.integers(1, 5), max_size=6),
    st.integers(0, 5),
    st.sets(st.integers(1, 40)),
)
def test_every_version_of_a_span_is_an_event_or_in_a_summary_or_a_gap(
    first, length, sizes, forgotten, lost
):
    """Summaries of the given sizes from `forgotten` on, events behind them, some of them lost."""
    span = Span("s", first, first + length)
    summaries, folded = [], forgotten
    for size in sizes:
        summaries.append(summary(folded + 1, folded + size))
        folded += size
    found = {v: event_row(span, v) for v in range(folded + 1, 41) if v not in lost}

    rows = stand_ins(span, summaries, found, lambda *_: True)

    due = first
    for row in rows:
        begins, ends = extent(row)
        assert begins <= due <= ends
        if isinstance(row.item, Gap):
            assert (row.item.from_version, row.item.count) == (due, ends - begins + 1)
        due = ends + 1
    assert due > span.last
    assert [row for row in rows if row.final] == rows[-1:]


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 60))
def test_a_span_cut_in_two_is_still_the_same_versions(first, length, size):
    span = Span("s", first, first + length, (1, 1))
    part, rest = cut(span, size)
    versions = list(range(part.first, part.last + 1))
    versions += range(rest.first, rest.last + 1) if rest else []
    assert versions == list(range(first, first + length + 1))
    assert part.final is (rest is None)


class Logs:
    """Logs in which versions up to `compacted` are one summary; fails when it is told to."""

    def __init__(self, compacted: int = 0) -> None:
        self.compacted, self.fail = compacted, False
        self.fetched: list[int] = []

    async def fetch(self, spans: Sequence[Span], interest: object) -> list[list[Row] | None]:
        await asyncio.sleep(0)
        if self.fail:
            raise ConnectionError
        self.fetched.append(sum(span.last - span.first + 1 for span in spans))
        return [
            None
            if span.first <= self.compacted
            else [event_row(span, v) for v in range(span.first, span.last + 1)]
            for span in spans
        ]

    async def resolve(self, span: Span, interest: object) -> list[Row]:
        await asyncio.sleep(0)
        if self.fail:
            raise ConnectionError
        found = {v: event_row(span, v) for v in range(self.compacted + 1, span.last + 1)}
        return stand_ins(span, [summary(1, self.compacted)], found, lambda *_: True)


def entries(*sizes: int) -> list[Span]:
    """Feed entries of one stream, of so many versions each."""
    spans, version = [], 0
    for number, size in enumerate(sizes):
        spans.append(Span("s", version + 1, version + size, (number + 1, 0)))
        version += size
    return spans


async def drain(queue: SpanQueue, logs: Logs) -> tuple[list[Row], list[Position]]:
    rows, positions = [], []
    while queue:
        part, position = await queue.fetch(logs)
        rows += part
        positions.append(position)
    return rows, positions


async def test_spans_are_read_a_bounded_number_at_a_time_and_the_position_says_where():
    logs, queue = Logs(), SpanQueue(ALL, Covered(), Appetite(most=4))
    queue.extend(entries(3, 3, 5))

    rows, positions = await drain(queue, logs)

    assert [row.version for row in rows] == list(range(1, 12))
    assert logs.fetched == [4, 4, 3]
    assert [str(position) for position in positions] == ["2-0:4", "3-0:8", "3-0"]
    assert [row.version for row in rows if row.final] == [3, 6, 11]


async def test_a_summary_that_reaches_over_many_entries_comes_once():
    logs, covered = Logs(compacted=7), Covered()
    queue = SpanQueue(ALL, covered, Appetite(most=4))
    queue.extend(entries(2, 2, 2, 2, 2))

    rows, _ = await drain(queue, logs)

    assert [extent(row) for row in rows] == [(1, 7), (8, 8), (9, 9), (10, 10)]
    assert covered.upto == {}


async def test_a_failed_or_cancelled_fetch_is_made_again_whole():
    logs, covered = Logs(compacted=3), Covered()
    queue = SpanQueue(ALL, covered, Appetite(most=4))
    queue.extend(entries(2, 2, 2))
    rows: list[Row] = []
    for patience in range(5):
        logs.fail = patience == 1
        fetching = asyncio.create_task(queue.fetch(logs))
        for _ in range(patience):
            await asyncio.sleep(0)
        fetching.cancel()
        try:
            part, _ = await fetching
        except (asyncio.CancelledError, ConnectionError):
            continue
        rows += part
    logs.fail = False
    rows += (await drain(queue, logs))[0]

    assert [extent(row) for row in rows] == [(1, 3), (4, 4), (5, 5), (6, 6)]


def test_large_events_are_fetched_a_few_at_a_time():
    appetite = Appetite()
    assert appetite.events == 64
    appetite.fed([event_row(Span("s", 1, 1), 1, size=8 << 20)])
    assert appetite.events == 1
    for _ in range(12):
        appetite.fed([event_row(Span("s", 1, 1), 1, size=300)])
    assert appetite.events == 128


def test_versions_remember_the_streams_met_last():
    versions = Versions(most=2)
    for stream, version in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        versions.saw(stream, version)
    assert [versions.get(stream) for stream in ("a", "b", "c")] == [2, None, 1]


@pytest.mark.parametrize(
    ("wanted", "types", "expected"),
    [
        (EventFilter(types=("a.b",)), {"a.b", "c"}, True),
        (EventFilter(types=("a.b",)), {"a", "c"}, False),
        (EventFilter(types=("a.*",)), {"a.b"}, True),
        (EventFilter(types=("a b",)), {"x"}, True),  # can't be told from the feed: look
        (EventFilter(stream_ids=("t*",)), {"a"}, False),
    ],
)
def test_the_feed_alone_tells_what_need_not_be_fetched(wanted, types, expected):
    assert Wanted(wanted).entry("s", types) is expected
