"""Names on the archive volume."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.errors import InvalidRound
from archive.storage.layout import (
    is_hashed,
    round_files,
    round_name,
    round_number,
    round_numbers,
    stream_dir,
)

HOSTILE = [
    "",
    ".",
    "..",
    "../../x",
    "/etc/x",
    "a/b",
    "a\\b",
    "a\0b",
    "%2e%2e%2f",
    "x\ny",
    "CON",
    "Session",
    "session~e3b0c44298fc",
    "é" * 130,
    "🙂" * 90,
    "a" * 101,
]


@pytest.mark.parametrize("stream", ["session-42", "a", "_", "-rf", "a" * 100, "0"])
def test_a_plain_id_is_its_own_folder(stream):
    assert stream_dir(stream) == stream


@pytest.mark.parametrize("stream", HOSTILE)
def test_any_other_id_becomes_one_short_safe_name(stream):
    folder = stream_dir(stream)
    assert re.fullmatch(r"[a-z0-9_-]{0,60}~[0-9a-f]{12}", folder)
    assert is_hashed(folder)


def test_the_readable_part_helps_a_person():
    assert stream_dir("Team/Build #7").startswith("team-build-7~")


@given(st.text(max_size=40), st.text(max_size=40))
def test_two_ids_never_share_a_folder(one, other):
    assert (stream_dir(one) == stream_dir(other)) == (one == other)


@given(st.text(max_size=600))
def test_a_folder_never_differs_from_another_by_case_or_normal_form_alone(stream):
    assert re.fullmatch(r"[a-z0-9_~-]+", stream_dir(stream))
    assert len(stream_dir(stream)) <= 100


def test_round_names_go_both_ways():
    assert round_number(round_name(12)) == 12


@pytest.mark.parametrize(
    "name", ["round_0.json", "round_01.json", "round_-1.json", "round_1.json.tmp", ".tmp-x", "x"]
)
def test_other_names_are_no_rounds(name):
    assert round_number(name) is None


def test_rounds_are_ordered_as_numbers():
    names = [f"round_{n}.json" for n in (10, 2, 1)] + ["lock"]
    assert round_numbers(names) == [1, 2, 10]
    assert round_files(names) == [(n, f"round_{n}.json") for n in (1, 2, 10)]


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1"])
def test_what_is_no_round_number_has_no_name(number):
    with pytest.raises(InvalidRound):
        round_name(number)
