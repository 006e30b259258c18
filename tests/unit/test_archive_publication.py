"""Which number and epoch a round gets, and which rounds rotate away. No disk here."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.publishing.publication import (
    UNKNOWN_TIME,
    Adopt,
    Aged,
    Found,
    Publish,
    ReadStateAgain,
    StoredRound,
    end_time,
    identity_of,
    must_look,
    plan_publication,
    plan_rotation,
)
from archive.record import RoundIdentity, RoundRecord


def candidate(
    number: int, first: int, last: int, *, epoch: int = 0, digest: str = ""
) -> RoundRecord:
    return RoundRecord(
        number,
        "fix",
        "s",
        stream_id="s",
        epoch=epoch,
        first_version=first,
        last_version=last,
        events_digest=digest or f"d{first}-{last}",
    )


def stored(number: int, first: int, last: int, *, epoch: int = 0, digest: str = "") -> StoredRound:
    identity = RoundIdentity("s", first, last, digest or f"d{first}-{last}")
    return StoredRound(number, identity, epoch, ended_us=number)


def test_a_round_above_everything_in_the_folder_takes_its_candidate_number():
    assert plan_publication(candidate(3, 21, 30), highest=2) == Publish(3, 0)


def test_a_folder_that_knows_less_than_the_state_changes_nothing():
    assert plan_publication(candidate(9, 21, 30, epoch=2), highest=0) == Publish(9, 2)


def test_a_round_published_before_a_crash_is_found_again():
    there = stored(3, 21, 30)
    plan = plan_publication(candidate(3, 21, 30), highest=3, stored=[stored(2, 11, 20), there])
    assert plan == Found(there)


def test_a_round_is_found_by_identity_under_any_number():
    there = stored(31, 21, 30, epoch=1)
    plan = plan_publication(candidate(3, 21, 30), highest=40, stored=[stored(3, 1, 9), there])
    assert plan == Found(there)


def test_an_erased_round_is_found_so_it_is_never_published_again():
    gone = StoredRound(3, RoundIdentity("s", 21, 30, "d21-30"), erased=True)
    assert plan_publication(candidate(3, 21, 30), highest=3, stored=[gone]) == Found(gone)


def test_another_round_in_its_place_asks_for_the_state_first():
    plan = plan_publication(candidate(1, 1, 10), highest=1, stored=[stored(1, 1, 20)])
    assert plan == ReadStateAgain(1)


def test_a_higher_number_in_the_folder_asks_for_the_state_first():
    plan = plan_publication(candidate(1, 201, 210), highest=7, stored=[stored(7, 61, 70)])
    assert plan == ReadStateAgain(7)


def test_the_same_events_cut_otherwise_are_adopted():
    there = stored(1, 1, 20)
    plan = plan_publication(
        candidate(1, 1, 10),
        highest=1,
        stored=[there],
        confirmed=True,
        digest_of=lambda first, last: f"d{first}-{last}",
    )
    assert plan == Adopt(there)


@pytest.mark.parametrize("answer", [None, "another"])
def test_other_events_or_events_no_longer_in_the_log_are_not_adopted(answer):
    plan = plan_publication(
        candidate(1, 1, 10),
        highest=1,
        stored=[stored(1, 1, 20)],
        confirmed=True,
        digest_of=lambda first, last: answer,
    )
    assert plan == Publish(2, 1, forked=True, look_until=20)


def test_overlapping_versions_open_a_new_epoch_above_every_other():
    files = [stored(1, 1, 10), stored(2, 11, 20), stored(3, 11, 15, epoch=4)]
    plan = plan_publication(candidate(2, 11, 12), highest=3, stored=files, confirmed=True)
    assert plan == Publish(4, 5, forked=True, look_until=20)


def test_two_clusters_on_one_volume_each_stay_in_their_epoch():
    files = [stored(1, 1, 10), stored(2, 1, 8, epoch=1), stored(3, 9, 12, epoch=1)]
    ours = plan_publication(candidate(2, 11, 20), highest=3, stored=files, confirmed=True)
    theirs = plan_publication(
        candidate(3, 13, 20, epoch=1), highest=4, stored=[*files, stored(4, 11, 20)], confirmed=True
    )
    assert (ours.round, ours.epoch, theirs.round, theirs.epoch) == (4, 0, 5, 1)


def test_a_round_behind_later_ones_marks_the_folder_up_to_them():
    files = [StoredRound(1, None), stored(2, 11, 20), stored(3, 21, 30)]
    plan = plan_publication(candidate(1, 1, 10), highest=3, stored=files, confirmed=True)
    assert plan == Publish(4, 0, look_until=30)


def test_a_round_that_does_not_lead_up_to_the_later_ones_may_be_of_another_life():
    """Rounds 1 to 50 rotated away, Redis was reset: versions start again at 1."""
    files = [stored(51, 501, 510), stored(52, 511, 520)]
    plan = plan_publication(candidate(1, 1, 10), highest=52, stored=files, confirmed=True)
    assert plan == Publish(53, 1, forked=True, look_until=520)


def test_up_to_the_mark_a_round_is_looked_for_even_above_the_highest_number():
    there = stored(2, 11, 20)
    files = [there, stored(4, 1, 10)]
    plan = plan_publication(candidate(5, 11, 20), highest=4, stored=files, look_until=30)
    assert plan == Found(there)
    assert must_look(candidate(5, 21, 30), highest=4, look_until=30)
    assert not must_look(candidate(5, 31, 40), highest=4, look_until=30)


def test_up_to_the_mark_an_unknown_round_is_published_without_another_read_of_the_state():
    files = [stored(1, 1, 10), stored(2, 1, 12, epoch=1)]
    plan = plan_publication(candidate(3, 13, 20, epoch=1), highest=2, stored=files, look_until=30)
    assert plan == Publish(3, 1)


def test_up_to_the_mark_a_file_starting_alike_may_have_to_be_adopted():
    files = [stored(1, 1, 10), stored(2, 11, 25)]
    record = candidate(3, 11, 20)
    plan = plan_publication(record, highest=2, stored=files, look_until=30)
    assert plan == ReadStateAgain(2)


def test_versions_of_another_stream_in_the_folder_never_overlap():
    other = StoredRound(1, RoundIdentity("other", 1, 10, "x"))
    plan = plan_publication(candidate(1, 1, 10), highest=1, stored=[other], confirmed=True)
    assert plan == Publish(2, 0)


def test_a_damaged_file_keeps_its_number_and_the_round_goes_behind_it():
    broken = StoredRound(3, None)
    first = plan_publication(candidate(3, 21, 30), highest=3, stored=[broken])
    then = plan_publication(candidate(3, 21, 30), highest=3, stored=[broken], confirmed=True)
    assert (first, then) == (ReadStateAgain(3), Publish(4, 0))


def test_records_without_a_digest_are_told_apart_by_their_content():
    one, other = RoundRecord(1, "fix", "one"), RoundRecord(1, "fix", "other")
    assert identity_of(one) == identity_of(RoundRecord(7, "fix", "one"))
    assert identity_of(one) != identity_of(other)


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=12),
    st.integers(1, 8),
    st.integers(1, 6),
    st.booleans(),
)
def test_no_plan_ever_takes_a_number_that_is_taken(ranges, number, length, confirmed):
    files = [stored(i + 1, first, first + size) for i, (first, size) in enumerate(ranges)]
    record = candidate(number, 3, 3 + length)
    plan = plan_publication(record, highest=len(files), stored=files, confirmed=confirmed)
    if isinstance(plan, Publish):
        assert plan.round > len(files)


def aged(number: int, ended: int, *, epoch: int = 0) -> Aged:
    identity = RoundIdentity("s", number * 10, number * 10 + 9, f"{number}")
    return StoredRound(number, identity, epoch, ended).aged


def test_the_oldest_by_end_time_rotate_away():
    assert plan_rotation([aged(n, n) for n in range(1, 6)], 3) == [1, 2]


def test_zero_keeps_all():
    assert plan_rotation([aged(n, n) for n in range(1, 6)], 0) == []


def test_a_round_without_an_end_time_is_older_than_any_other():
    files = [aged(1, 5, epoch=1), aged(2, UNKNOWN_TIME), aged(3, 9)]
    assert plan_rotation(files, 2) == [2]


def test_within_an_epoch_no_round_goes_before_an_earlier_one_whatever_the_clocks_said():
    files = [aged(1, 900), aged(2, 100), aged(3, 950), aged(4, 960)]
    assert plan_rotation(files, 3) == [1]


def test_the_highest_number_stays_so_none_is_used_twice():
    files = [aged(1, 50), aged(2, 60), aged(3, 1, epoch=1)]
    assert plan_rotation(files, 1) == [1]


def test_where_the_highest_number_holds_the_oldest_versions_nothing_behind_them_goes():
    late = StoredRound(4, RoundIdentity("s", 1, 9, "1"), ended_us=1).aged
    files = [aged(2, 20), aged(3, 30), late]
    assert plan_rotation(files, 2) == []
    assert plan_rotation([*files, aged(5, 50)], 2) == [4, 2]


def test_tombstones_and_damaged_files_neither_count_nor_go():
    gone = StoredRound(1, RoundIdentity("s", 1, 9, "x"), erased=True)
    files = [gone.aged, StoredRound(2, None).aged, aged(3, 3), aged(4, 4)]
    assert plan_rotation(files, 2) == []
    assert plan_rotation([*files, aged(5, 5)], 2) == [3]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 50)), max_size=30), st.integers(1, 9))
def test_what_stays_within_an_epoch_is_contiguous(rounds, keep):
    files = [aged(i + 1, ended, epoch=epoch) for i, (epoch, ended) in enumerate(rounds)]
    gone = set(plan_rotation(files, keep))
    assert len(files) - len(gone) >= min(len(files), keep)
    for epoch in range(3):
        kept = [f.round for f in files if f.epoch == epoch and f.round not in gone]
        lost = [f.round for f in files if f.epoch == epoch and f.round in gone]
        assert not lost or not kept or max(lost) < min(kept)


def test_an_end_time_without_a_zone_counts_as_utc():
    naive, aware = datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)
    assert end_time(RoundRecord(1, "fix", "", ended_at=naive)) == end_time(
        RoundRecord(1, "fix", "", ended_at=aware)
    )
