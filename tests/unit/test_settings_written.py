"""How durations, sizes and modes are written and shown."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.settings.types import (
    format_duration,
    format_mode,
    format_size,
    parse_duration,
    parse_mode,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", timedelta(days=7)),
        ("1w", timedelta(days=7)),
        ("1.5h", timedelta(minutes=90)),
        ("500ms", timedelta(milliseconds=500)),
        (" 30 S ", timedelta(seconds=30)),
        ("90", timedelta(seconds=90)),
        (0.25, timedelta(milliseconds=250)),
        (0, timedelta(0)),
    ],
)
def test_durations_are_read(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text", ["", "d", "-1s", "1y", "1 2s", "1e3", "nan", True, None, "9999999d"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match=r"duration|number"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4194304", 4 << 20), (512, 512), ("8MiB", 8 << 20), ("1 GB", 10**9), ("2kib", 2048)],
)
def test_sizes_are_read(text, expected):
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "1TB", "-5", "1.5MiB", "MiB", True, "1ib"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match=r"size|number"):
        parse_size(text)


@pytest.mark.parametrize("raw", [0o640, 640, "999", "6400", "rw-r-----", "", "64"])
def test_what_is_no_quoted_octal_mode_is_refused(raw):
    with pytest.raises(ValueError, match="octal"):
        parse_mode(raw)


@given(st.integers(0, 10**12))
def test_a_shown_duration_reads_back(milliseconds):
    value = timedelta(milliseconds=milliseconds)

    assert parse_duration(format_duration(value)) == value


@given(st.integers(0, 1 << 45))
def test_a_shown_size_reads_back(size):
    assert parse_size(format_size(size)) == size


@given(st.integers(0, 0o777))
def test_a_shown_mode_reads_back(mode):
    assert parse_mode(format_mode(mode)) == mode
