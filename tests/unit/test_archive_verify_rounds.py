"""What the archived rounds of one stream must be among themselves, and what is left in peace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archive.publishing.publication import StoredRound
from archive.record import RoundIdentity
from archive.verifying.rounds import check_rounds


def stored(number: int, first: int, last: int, *, epoch: int = 0, digest: str = "") -> StoredRound:
    identity = RoundIdentity("s", first, last, digest or f"{number:02d}" * 32)
    return StoredRound(number, identity, epoch, ended_us=number)


def erased(number: int, first: int = 0, last: int = 0) -> StoredRound:
    """A tombstone; of a round that was damaged already, it doesn't know the versions."""
    return StoredRound(number, RoundIdentity("s", first, last, ""), erased=True)


DAMAGED = StoredRound(2, None)


def kinds(rounds: list[StoredRound]) -> list[str]:
    return [finding.kind for finding in check_rounds("s", rounds) if not finding.is_note]


def notes(rounds: list[StoredRound]) -> list[str]:
    return [finding.kind for finding in check_rounds("s", rounds) if finding.is_note]


@pytest.mark.parametrize(
    "rounds",
    [
        [],
        [stored(1, 1, 10), stored(2, 11, 20)],
        [stored(7, 61, 70), stored(8, 71, 80)],
        [stored(4, 1, 10), stored(2, 11, 20)],
        [stored(3, 21, 30), stored(2, 11, 20), stored(9, 1, 10)],
        [DAMAGED, stored(3, 11, 20)],
        [stored(1, 0, 0), stored(2, 0, 0, digest="01" * 32), stored(3, 1, 5)],
        [stored(1, 1, 10), erased(2, 11, 20), stored(3, 21, 30)],
        [erased(1, 1, 10), stored(9, 81, 90)],
        [erased(1, 1, 10), erased(5, 41, 50), stored(9, 81, 90)],
        [erased(1), erased(2), stored(3, 21, 30)],
        [stored(1, 1, 10, digest=f"content:{'0' * 64}")],
    ],
    ids=[
        "nothing",
        "in order",
        "rotated",
        "numbers in another order",
        "republished behind later ones",
        "damaged",
        "of ARES",
        "erased",
        "rotated behind a tombstone",
        "rotated between tombstones",
        "erased when damaged",
        "without a digest of events",
    ],
)
def test_rounds_in_order_have_no_finding(rounds: list[StoredRound]) -> None:
    assert kinds(rounds) == []


@pytest.mark.parametrize(
    ("rounds", "found"),
    [
        ([stored(1, 1, 10), stored(3, 21, 30)], ["gap"]),
        ([stored(1, 1, 10), DAMAGED, stored(3, 21, 30)], ["gap"]),
        ([stored(1, 1, 10), erased(2, 11, 20), stored(4, 31, 40)], ["gap"]),
        ([stored(1, 1, 10), stored(2, 10, 20)], ["overlap"]),
        ([stored(1, 1, 10), stored(2, 1, 10, digest="01" * 32)], ["duplicate"]),
        ([stored(1, 1, 10, digest="xyz")], ["bad_digest"]),
        ([stored(1, 5, 4)], ["bad_range"]),
        ([stored(1, -5, -4)], ["bad_range"]),
        ([stored(1, 0, 4)], ["bad_range"]),
    ],
)
def test_a_broken_order_is_named(rounds: list[StoredRound], found: list[str]) -> None:
    assert kinds(rounds) == found


def test_an_epoch_that_begins_beside_another_is_a_note() -> None:
    rounds = [stored(1, 1, 10), stored(3, 11, 20), stored(2, 5, 9, epoch=1)]
    assert (kinds(rounds), notes(rounds)) == ([], ["fork"])


def test_two_clusters_on_one_volume_are_a_fork_however_their_numbers_mix() -> None:
    rounds = [
        stored(number, first, first + 9, epoch=epoch)
        for number, (first, epoch) in enumerate(
            [(1, 0), (1, 1), (11, 1), (11, 0), (21, 0), (21, 1)], 1
        )
    ]
    assert (kinds(rounds), notes(rounds)) == ([], ["fork"])


def test_a_gap_that_a_damaged_round_left_is_a_note_once_the_round_is_erased() -> None:
    rounds = [stored(1, 1, 10), erased(2), stored(3, 21, 30)]
    assert (kinds(rounds), notes(rounds)) == ([], ["gap"])
    (finding,) = check_rounds("s", rounds)
    assert finding.detail.endswith("; round 2 was damaged when it was erased")


def test_what_was_erased_and_is_there_again_is_named_so() -> None:
    back = stored(7, 1, 10, digest="01" * 32)
    (finding,) = check_rounds("s", [replace(stored(1, 1, 10), erased=True), back])
    assert finding.detail == "round 1 (erased) and round 7 are the same round"
