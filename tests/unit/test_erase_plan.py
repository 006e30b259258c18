"""What stands in a stream's summaries for a round that was erased, and which rounds are meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.publishing.publication import StoredRound
from archive.record import RoundIdentity, RoundRecord
from streams.summary import EventSummary
from worker.erasing.plan import WITHHELD, Versions, is_in_redis, withheld, without_round
from worker.erasing.tail import blank


def stored(round_: int, first: int, last: int, epoch: int = 0) -> StoredRound:
    return StoredRound(round_, RoundIdentity("s", first, last, "d"), epoch)


def summary(first: int, last: int) -> EventSummary:
    return EventSummary(first, last, 7_000, 1, 2, {"llm.call": last - first + 1}, "what was said")


def record(round_: int, first: int, last: int, text: str = "") -> RoundRecord:
    return RoundRecord(
        round_, "fix", text or f"round {round_}", first_version=first, last_version=last
    )


class TestWhichRoundsRedisHas:
    @pytest.mark.parametrize(
        ("first", "last", "head", "expected"),
        [(1, 5, 5, True), (6, 9, 5, False), (4, 9, 5, True), (0, 0, 5, False), (1, 5, 0, False)],
    )
    def test_those_whose_first_event_the_head_has_passed(self, first, last, head, expected):
        assert is_in_redis(stored(1, first, last), [], head) is expected

    def test_not_one_whose_versions_a_later_epoch_uses(self):
        old, new = stored(1, 4, 9, epoch=0), stored(2, 1, 4, epoch=1)
        assert not is_in_redis(old, [new], 20)
        assert is_in_redis(new, [old], 20)

    def test_one_of_an_earlier_epoch_that_the_present_life_goes_on_from(self):
        assert is_in_redis(stored(1, 1, 5, epoch=0), [stored(2, 6, 9, epoch=1)], 20)


class TestSummariesMadeAnew:
    def test_one_that_tells_of_the_round_says_what_the_other_records_say(self):
        left = [record(3, 7, 9, "  third\n round "), record(1, 1, 3)]
        (made,) = without_round([summary(1, 9)], Versions(4, 6), left)
        assert made.text == "completed: round 1\ncompleted: third round"
        assert (made.first_version, made.last_version, made.types) == (1, 9, {})

    def test_one_that_tells_of_nothing_else_says_nothing(self):
        (made,) = without_round([summary(4, 5)], Versions(4, 6), [record(1, 1, 3), record(3, 7, 9)])
        assert made.text == WITHHELD

    def test_others_stay_as_they_are(self):
        summaries = [summary(1, 3), summary(7, 9)]
        assert without_round(summaries, Versions(4, 6), []) == summaries

    def test_a_record_that_shares_versions_with_the_round_says_nothing(self):
        (made,) = without_round([summary(1, 9)], Versions(4, 6), [record(9, 5, 8)])
        assert made.text == WITHHELD

    def test_a_long_summary_of_a_record_is_cut(self):
        (made,) = without_round([summary(1, 9)], Versions(4, 6), [record(1, 1, 3, "x" * 999)])
        assert len(made.text) < 230

    @given(
        ends=st.lists(st.integers(1, 40), min_size=1, unique=True).map(sorted),
        first=st.integers(1, 40),
        length=st.integers(0, 9),
    )
    def test_whatever_was_summarized_no_word_of_it_is_left_of_the_round(self, ends, first, length):
        starts = [1, *(end + 1 for end in ends[:-1])]
        summaries = [summary(a, b) for a, b in zip(starts, ends, strict=True)]
        span = Versions(first, first + length)

        made = without_round(summaries, span, [])

        for before, after in zip(summaries, made, strict=True):
            touched = before.first_version <= span.last and span.first <= before.last_version
            assert after == before if not touched else after.text == WITHHELD
            assert (after.first_version, after.last_version) == (
                before.first_version,
                before.last_version,
            )
        assert without_round(made, span, []) == made


def test_a_withheld_summary_tells_its_versions_and_when_the_last_was_committed():
    made = withheld(Versions(4, 6), 7_000)
    assert (made.first_version, made.last_version, made.event_count) == (4, 6, 3)
    assert (made.text, made.types) == (WITHHELD, {})
    assert made.committed_ms * 1000 == made.started_us == made.ended_us


def test_a_blank_record_is_the_same_round_and_says_nothing():
    full = RoundRecord(
        7,
        "fix",
        "what was said",
        todos=("t",),
        decisions=("d",),
        refs={"pr": "#1"},
        stream_id="s",
        tenant_id="t",
        epoch=2,
        outcome="failed",
        error="e",
        first_version=3,
        last_version=4,
        event_count=2,
        events_digest="digest",
    )
    made = blank(full)
    assert (made.identity, made.round, made.epoch) == (full.identity, 7, 2)
    assert (made.summary, made.error, made.todos, made.decisions, made.refs) == ("", "", (), (), {})
