"""The buffer of a subscription that drops: bounded, and it accounts for everything."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from streams import Event, EventFilter, Gap
from streams.event import SUMMARY_TYPE
from streams.live.drop_queue import DropQueue
from streams.subscription.items import Row
from streams.subscription.wanted import Wanted

STREAMS = ("a", "b", "c")
ALL = Wanted(EventFilter())


def row(stream: str, version: int, size: int = 10) -> Row:
    return Row(Event("x", stream_id=stream, version=version), stream, version, 0, size)


def taken(queue: DropQueue) -> list[Row]:
    rows = []
    while (next_row := queue.take()) is not None:
        rows.append(next_row)
    return rows


@given(
    st.lists(st.one_of(st.integers(1, 6), st.lists(st.sampled_from(STREAMS), max_size=9))),
    st.integers(1, 5),
    st.integers(5, 60),
)
def test_whatever_is_offered_comes_out_or_is_counted_in_its_place(steps, most, max_bytes):
    """A step is a batch of rows to offer, or a number of rows to take."""
    queue = DropQueue(most, max_bytes, ALL.count)
    heads: dict[str, int] = defaultdict(int)
    out: list[Row] = []
    for step in steps:
        if isinstance(step, int):
            out += [r for r in (queue.take() for _ in range(step)) if r is not None]
            continue
        batch = []
        for stream in step:
            heads[stream] += 1
            batch.append(row(stream, heads[stream]))
        queue.offer(batch)
        assert len(queue) <= most + len(STREAMS) + most
    out += taken(queue)

    seen: dict[str, int] = defaultdict(int)
    dropped = 0
    for item in (r.item for r in out):
        if isinstance(item, Gap):
            assert item.from_version == seen[item.stream] + 1
            assert item.count == item.to_version - item.from_version + 1
            seen[item.stream] = item.to_version
            dropped += item.count
        else:
            assert item.version == seen[item.stream_id] + 1
            seen[item.stream_id] = item.version
    assert seen == heads
    assert dropped == queue.dropped


def test_gaps_of_very_many_streams_share_one_that_names_none(monkeypatch):
    monkeypatch.setattr("streams.live.drop_queue._MOST_NAMED", 3)
    queue = DropQueue(1, 1_000, ALL.count)
    queue.offer([row("kept", 1)])
    for number in range(10):
        queue.offer([row(f"s{number}", 1), row(f"s{number}", 2)])

    assert len(queue) == 5
    gaps = [r.item for r in taken(queue)[1:]]
    assert [(gap.stream, gap.count) for gap in gaps] == [("s0", 2), ("s1", 2), ("s2", 2), ("", 14)]
    assert (gaps[-1].from_version, gaps[-1].to_version) == (0, 0)
    assert queue.dropped == 20


def test_a_gap_that_is_dropped_keeps_its_count():
    """What the logs had lost already doesn't become less by being dropped again."""
    queue = DropQueue(1, 1_000, ALL.count)
    lost = Row(Gap("s", 2, 9, 8), "s", 9, 0, 10, first=2)
    queue.offer([row("s", 1)])
    queue.offer([lost, row("s", 10)])

    assert [r.item for r in taken(queue)[1:]] == [Gap("s", 2, 10, 9)]
    assert queue.dropped == 9


def test_an_event_larger_than_the_buffer_travels_alone():
    queue = DropQueue(10, 100, ALL.count)
    queue.offer([row("s", 1, size=5_000), row("s", 2)])

    assert [r.item.version for r in taken(queue)[:1]] == [1]
    assert queue.dropped == 1


def test_a_summary_that_is_dropped_counts_the_events_it_stands_for():
    """Of versions 1..9 two had come before; of the seven others five may be wanted."""
    types = {"a": 5, "b": 4}
    event = Event(SUMMARY_TYPE, {"first_version": 1, "types": types}, stream_id="s", version=9)
    folded = Row(event, "s", 9, 0, 10, first=3)
    for wanted, count in ((EventFilter(), 7), (EventFilter(types=("a",)), 5)):
        queue = DropQueue(1, 1_000, Wanted(wanted).count)
        queue.offer([row("other", 1), folded, row("s", 10)])
        assert [r.item for r in taken(queue)[1:]] == [Gap("s", 3, 10, count + 1)]
