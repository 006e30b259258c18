"""Positions are text to their users, and sort as reading goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import UsageError
from streams.subscription.position import Position, Stage

ids = st.tuples(st.integers(0, 2**63), st.integers(0, 2**63))
versions = st.integers(0, 2**53)
names = st.text(min_size=1)

positions = st.one_of(
    st.builds(Position, ids, st.none() | versions),
    st.builds(Position, ids, versions, st.just(Stage.HISTORY), names),
    st.builds(Position, ids, versions, st.just(Stage.MISSED), names, ids),
)


@given(positions)
def test_a_position_survives_being_text(position):
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize(
    "text",
    ["", "now", "1", "1-", "-1", "1-1-1", "1-1:", "1-1:x", "1-1:-2", "h:1-1", "h:1-1:x:s",
     "l:1-1:2:s", "x:1-1:2:s", " 1-1", "1-1\n", "١-1"],
)  # fmt: skip
def test_what_is_no_position_is_a_usage_error(text):
    with pytest.raises(UsageError):
        Position.parse(text)


@given(ids, versions, ids, versions)
def test_what_is_done_at_a_position_is_done_at_every_later_one(first, version, second, other):
    for a in (Position(first), Position(first, version)):
        for b in (Position(second), Position(second, other)):
            later, earlier = (a, b) if a.beyond(b) else (b, a)
            assert later == a.later(b) or a == b
            if earlier.has(first, version):
                assert later.has(first, version)


def test_the_feed_comes_after_the_logs():
    feed, history = Position((5, 0)), Position((9, 0), 3, Stage.HISTORY, "s")
    assert feed.beyond(history)
    assert not history.beyond(feed)
    assert Position((9, 0), 4, Stage.HISTORY, "s").beyond(history)
    assert Position((9, 0), 1, Stage.HISTORY, "t").beyond(history)
