"""What verify calls a contradiction, and what it leaves in peace."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from streams.state import StreamState
from streams.summary import EventSummary
from worker.verify_rules import (
    Contradiction,
    Kind,
    RoundFile,
    check_agreement,
    check_rounds,
    check_state,
    check_summaries,
)


def kinds(found: Iterable[Contradiction]) -> list[Kind]:
    return [kind for kind, _ in found]


def rounds(*spans: tuple[int, int, int], epoch: int = 0) -> list[RoundFile]:
    return [RoundFile(number, epoch, first, last, "d") for number, first, last in spans]


def summary(first: int, last: int) -> EventSummary:
    return EventSummary(first, last, 0, 0, 0, {}, "")


def test_versions_of_the_state_stand_in_their_order() -> None:
    assert not list(check_state(10, StreamState(10, 2, 0, 6, 0, 3)))
    assert not list(check_state(10, StreamState(10, 2, 0, 6, 8, 3)))
    assert not list(check_state(0, StreamState()))


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (StreamState(11, 1), "archived version 11 is above head version 10"),
        (StreamState(4, 1, 0, 5), "compacted version 5 is above archived version 4"),
        (StreamState(9, 1, 0, 2, 0, 3), "forgotten version 3 is above compacted version 2"),
        (StreamState(4, 1, 0, 2, 5), "a compaction to version 5 is under way, outside 3..4"),
        (StreamState(4, 1, 0, 2, 2), "a compaction to version 2 is under way, outside 3..4"),
    ],
)
def test_a_state_out_of_order_is_named(state: StreamState, says: str) -> None:
    assert list(check_state(10, state)) == [(Kind.STATE, says)]


def test_summaries_cover_all_that_left_the_log_and_is_not_forgotten() -> None:
    assert not list(check_summaries([], StreamState()))
    state = StreamState(9, 1, 0, 8, 0, 2)
    assert not list(check_summaries([summary(3, 5), summary(6, 8)], state))


@pytest.mark.parametrize(
    ("spans", "says"),
    [
        ([(3, 5)], "summaries end at version 5, compacted is 8"),
        ([(3, 5), (7, 8)], "summary 7..8 stands where version 6 is due"),
        ([(3, 6), (6, 8)], "summary 6..8 stands where version 7 is due"),
        ([(2, 8)], "summary 2..8 stands where version 3 is due"),
        ([], "summaries end at version 2, compacted is 8"),
    ],
)
def test_a_gap_or_overlap_of_summaries_is_named(spans: list[tuple[int, int]], says: str) -> None:
    state = StreamState(9, 1, 0, 8, 0, 2)
    found = list(check_summaries([summary(*span) for span in spans], state))
    assert found == [(Kind.SUMMARIES, says)]


def test_rounds_follow_each_other_and_rotation_may_have_taken_some() -> None:
    assert not list(check_rounds(rounds((1, 1, 4), (2, 5, 9), (3, 10, 10))))
    assert not list(check_rounds(rounds((7, 31, 40), (9, 51, 60))))
    assert not list(check_rounds([]))


def test_rounds_that_ares_wrote_have_no_versions_and_are_left_in_peace() -> None:
    assert not list(check_rounds(rounds((1, 0, 0), (2, 0, 0), (3, 1, 5))))
    assert not list(check_agreement(rounds((1, 0, 0), (2, 0, 0)), StreamState()))


@pytest.mark.parametrize("spans", [((1, 1, 4), (2, 6, 9)), ((1, 1, 4), (2, 4, 9)), ((1, 5, 4),)])
def test_a_gap_or_overlap_of_rounds_is_named(spans: tuple[tuple[int, int, int], ...]) -> None:
    assert kinds(check_rounds(rounds(*spans))) == [Kind.ARCHIVE]


def test_a_fork_is_a_note_and_a_step_back_is_none() -> None:
    forked = [*rounds((1, 1, 9)), *rounds((2, 5, 8), epoch=1), *rounds((3, 9, 9), epoch=1)]
    assert kinds(check_rounds(forked)) == [Kind.FORK]
    back = [*rounds((1, 1, 9), epoch=1), *rounds((2, 10, 12))]
    assert kinds(check_rounds(back)) == [Kind.ARCHIVE]


def test_state_and_archive_agree_on_the_newest_round() -> None:
    assert not list(check_agreement(rounds((1, 1, 4), (2, 5, 9)), StreamState(9, 2)))
    assert not list(check_agreement([], StreamState()))


@pytest.mark.parametrize(
    ("files", "state", "kind"),
    [
        (rounds((1, 1, 4)), StreamState(9, 2), Kind.ARCHIVE),
        ([], StreamState(9, 2), Kind.ARCHIVE),
        (rounds((1, 1, 4), (2, 5, 9)), StreamState(7, 2), Kind.ARCHIVE),
        (rounds((1, 1, 4), (2, 5, 9)), StreamState(4, 1), Kind.UNFINISHED),
        (rounds((1, 1, 4)), StreamState(), Kind.UNFINISHED),
    ],
)
def test_where_they_disagree_it_is_named(
    files: list[RoundFile], state: StreamState, kind: Kind
) -> None:
    assert kinds(check_agreement(files, state)) == [kind]
