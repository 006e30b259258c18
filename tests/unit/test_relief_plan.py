"""When memory is freed, how far, and what is said when nothing more can be."""

from __future__ import annotations

import pytest

from streams.memory import Memory
from streams.state import StreamState
from worker.compacting.plan import CompactionPolicy, Window, plan_relief
from worker.upkeep.relief_plan import Pass, is_short, stuck_reason

INFO = (
    b"# Memory\r\nused_memory:1000\r\nused_memory_human:1.00K\r\nmem_not_counted_for_evict:100\r\n"
    b"maxmemory:2000\r\nmaxmemory_policy:noeviction\r\n"
)


def test_memory_is_counted_as_redis_counts_it_against_the_limit():
    assert Memory.parse(INFO) == Memory(used=900, limit=2000)
    assert Memory.parse(INFO).share == 0.45


@pytest.mark.parametrize("reply", [None, Exception("no right"), b"", b"used_memory:5\r\n"])
def test_what_the_server_does_not_tell_is_no_limit(reply):
    assert Memory.parse(reply).share == 0.0
    assert not is_short(Memory.parse(reply))


@pytest.mark.parametrize(("used", "short"), [(900, False), (901, True), (1_500, True)])
def test_memory_is_short_above_nine_tenths_of_the_limit(used: int, short: bool):
    assert is_short(Memory(used, 1_000)) is short


@pytest.mark.parametrize(
    ("state", "window"),
    [
        (StreamState(), None),
        (StreamState(archived_version=3), Window(1, 3)),
        (StreamState(archived_version=9, compacted_version=9), None),
        (StreamState(archived_version=9, compacted_version=4), Window(5, 9)),
        (StreamState(archived_version=9, compacted_version=4, compacting_to=7), Window(5, 9)),
        (StreamState(archived_version=99, compacted_version=4), Window(5, 14)),
    ],
)
def test_all_that_is_archived_is_to_go_however_little_and_however_new(state, window):
    assert plan_relief(state, CompactionPolicy(threshold=500, keep_recent=100, max_window=10)) == (
        window
    )


FULL = Memory(1_050, 1_000)
OPEN = Pass(left_events=12, left_streams=3, entries=7)


def test_two_passes_that_found_the_same_and_freed_nothing_say_what_is_left():
    reason = stuck_reason(FULL, OPEN, Pass(left_events=12, left_streams=3, entries=7))

    assert "105%" in reason
    assert "not archived: 12 events of 3 streams; unfinished rounds can't be freed" in reason
    assert "waiting in the inbox: 7" in reason


def test_where_no_event_is_left_the_reason_is_sought_elsewhere():
    assert "seen_window_s" in stuck_reason(FULL, Pass(), Pass())


@pytest.mark.parametrize(
    ("memory", "done", "before"),
    [
        (Memory(950, 1_000), OPEN, OPEN),
        (FULL, Pass(freed=1), Pass(freed=1)),
        (FULL, OPEN, Pass(freed=5)),
        (FULL, OPEN, Pass(left_events=12, left_streams=3, entries=8)),
    ],
    ids=["not full", "something was freed", "something was freed before", "something moves"],
)
def test_nothing_is_stuck_while_something_moves(memory: Memory, done: Pass, before: Pass):
    assert stuck_reason(memory, done, before) == ""
