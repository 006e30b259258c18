"""The promises about a stream in Redis and the archive beside it, checked on plain facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archive.publishing.publication import StoredRound
from archive.record import RoundIdentity
from archive.verifying.checks import LiveStream, check_archived, check_stream, comparable_rounds
from streams.state import StreamState

HEALTHY = LiveStream(
    stream="s",
    head=50,
    state=StreamState(
        archived_version=40, rounds=4, compacted_version=20, compacting_to=30, forgotten_version=5
    ),
    entries=30,
    summaries=((6, 10), (11, 20)),
)


def stored(number: int, first: int, last: int, *, epoch: int = 0, digest: str = "") -> StoredRound:
    identity = RoundIdentity("s", first, last, digest or f"{number:02d}" * 32)
    return StoredRound(number, identity, epoch, ended_us=number)


def erased(number: int, first: int = 0, last: int = 0) -> StoredRound:
    """A tombstone; of a round that was damaged already, it doesn't know the versions."""
    return StoredRound(number, RoundIdentity("s", first, last, ""), erased=True)


def state(**changes: int) -> LiveStream:
    return replace(HEALTHY, state=replace(HEALTHY.state, **changes))


@pytest.mark.parametrize(
    "live",
    [
        HEALTHY,
        state(compacting_to=0),
        LiveStream("s", 3, StreamState(), 3),
        replace(HEALTHY, summaries=None),
        LiveStream("s", 50, StreamState(50, 5, 0, 50, 0, 50), 0),
        LiveStream("s", 50, StreamState(50, 5, 0, 50, 0, 20), 0, ((21, 50),)),
    ],
    ids=["busy", "idle", "new", "summaries unread", "retired and forgotten", "retired"],
)
def test_a_healthy_stream_has_no_finding(live: LiveStream) -> None:
    assert check_stream(live) == []


@pytest.mark.parametrize(
    ("live", "kind", "says"),
    [
        (replace(HEALTHY, entries=29), "log", "holds 29 events, head and state promise 30"),
        (replace(HEALTHY, entries=0), "log", "holds 0 events, head and state promise 30"),
        (state(archived_version=19, compacting_to=0), "state", "compacted version 20 is above"),
        (state(forgotten_version=21), "state", "forgotten version 21 is above compacted"),
        (state(archived_version=60), "state", "archived version 60 is above head version 50"),
        (state(compacting_to=41), "state", "compaction to version 41 is under way, outside 21-40"),
        (state(compacting_to=20), "state", "compaction to version 20 is under way, outside 21-40"),
        (replace(HEALTHY, summaries=()), "summaries", "end at version 5, compacted is 20"),
        (replace(HEALTHY, summaries=((6, 10), (12, 20))), "summaries", "12-20 stands where"),
        (replace(HEALTHY, summaries=((6, 10), (10, 20))), "summaries", "10-20 stands where"),
        (replace(HEALTHY, summaries=((5, 10), (11, 20))), "summaries", "5-10 stands where"),
    ],
)
def test_keys_that_contradict_each_other_are_named(live: LiveStream, kind: str, says: str) -> None:
    found = check_stream(live)
    assert (found[0].kind, found[0].is_note) == (kind, False)
    assert says in found[0].detail


def test_trouble_inside_the_log_is_one_finding_with_its_wrong_length() -> None:
    (finding,) = check_stream(replace(HEALTHY, entries=29), "version 31 is missing")
    assert finding.detail == (
        "quarantined: its log holds 29 events, head and state promise 30; version 31 is missing"
    )
    (finding,) = check_stream(HEALTHY, "version 31 is missing")
    assert finding.detail == "quarantined: version 31 is missing"


def archived(*rounds: StoredRound, live: LiveStream = HEALTHY) -> list[tuple[str, bool]]:
    return [(each.kind, each.is_note) for each in check_archived(live, rounds, {})]


def test_the_archive_reaches_the_archived_version() -> None:
    assert archived(stored(3, 21, 30), stored(4, 31, 40)) == []
    assert archived(stored(3, 21, 30)) == [("not_in_archive", False)]
    assert archived() == [("not_in_archive", False)]
    assert archived(live=LiveStream("s", 3, StreamState(), 3)) == []


def test_a_round_of_another_epoch_or_stream_does_not_stand_in_for_a_lost_one() -> None:
    other = replace(stored(4, 31, 40), identity=RoundIdentity("other", 31, 40, "x"))
    assert archived(stored(3, 31, 40, epoch=1)) == [("not_in_archive", False)]
    assert archived(other) == [("not_in_archive", False)]


def test_the_newest_round_may_have_rotated_away_where_another_life_filled_the_folder() -> None:
    """Two clusters on one volume: the idle one's rounds are the oldest."""
    assert archived(stored(203, 901, 910, epoch=1), stored(204, 911, 920, epoch=1)) == []


def test_the_newest_round_may_have_been_erased_when_it_was_damaged() -> None:
    assert archived(stored(3, 21, 30), erased(4)) == []
    assert archived(erased(2), stored(3, 21, 30)) == [("not_in_archive", False)]


def test_a_tombstone_counts_as_its_round() -> None:
    assert archived(stored(3, 21, 30), erased(4, 31, 40)) == []


def test_rounds_the_state_does_not_know_yet_are_worth_a_note() -> None:
    assert archived(stored(4, 31, 40), stored(5, 41, 50)) == [("unfinished", True)]
    reset = LiveStream("s", 0, StreamState(), 0)
    assert archived(stored(1, 1, 10), live=reset) == [("unfinished", True)]


def test_a_round_is_made_of_the_events_of_the_log() -> None:
    rounds = [stored(3, 21, 30), stored(4, 31, 40)]
    digests = {(21, 30): "03" * 32, (31, 40): "ff" * 32}
    (finding,) = check_archived(HEALTHY, rounds, digests)
    assert (finding.kind, finding.detail) == (
        "digest_mismatch",
        "round 4 isn't made of the events 31-40 of the log",
    )


def test_only_rounds_of_this_life_whose_events_are_all_in_the_log_are_compared_with_it() -> None:
    rounds = [
        stored(2, 11, 20),
        stored(3, 21, 30),
        stored(9, 21, 30, epoch=1),
        stored(4, 31, 40),
        stored(5, 41, 50),
        stored(6, 21, 40, digest=f"content:{'a' * 64}"),
        StoredRound(7, None),
    ]
    assert [each.round for each in comparable_rounds(HEALTHY, rounds)] == [3, 4]
