"""What may be shown of a URL, and how foreign text is made harmless."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.redact import Redactor, escape_controls, redact, redact_url, secrets_in_url, shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://user:S3@host:1/0", "redis://user:***@host:1/0"),
        ("redis://:S3@host", "redis://:***@host"),
        ("redis://S3@host", "redis://***@host"),
        ("redis://u:S3@S3/S3@host", "redis://u:***@host"),
        ("redis://u:S 3@host", "redis://u:***@host"),
        ("redis://S3/x:y@host", "redis://***@host"),
        ("redis://h?password=S3&db=1", "redis://h?password=***&db=1"),
        ("embedded", "embedded"),
    ],
)
def test_a_url_keeps_everything_but_its_password(url, expected):
    assert redact_url(url) == expected


def test_every_url_in_a_text_is_masked_and_the_rest_stays():
    text = "from redis://u:S3@a to 'rediss://:S3@b/0', see https://example.org/x and me@example.org"

    assert redact(text) == (
        "from redis://u:***@a to 'rediss://:***@b/0', see https://example.org/x and me@example.org"
    )


@pytest.mark.parametrize(
    "text",
    ["password=S3", "PASSWORD: S3", "'password': 'S3'", '{"secret":"S3"}', "requirepass = S3,"],
)
def test_a_named_secret_is_masked(text):
    assert "S3" not in redact(text)


def test_a_secret_of_a_url_is_known_for_masking_it_anywhere():
    assert secrets_in_url("redis://u:p%40ss@h") == ["p%40ss"]
    assert secrets_in_url("redis://S3@h") == ["S3"]
    assert secrets_in_url("redis://h?password=S3&sentinel_password=S4&db=1") == ["S3", "S4"]
    assert secrets_in_url("redis://h") == secrets_in_url("embedded") == []

    assert Redactor(["p%40ss"])("AUTH p@ss and p%40ss") == "AUTH *** and ***"


def test_a_very_short_secret_does_not_garble_every_text():
    assert Redactor(["a"])("banana") == "banana"


@given(st.text(max_size=200))
def test_escaped_text_is_one_printable_line_in_ascii_or_not(text):
    escaped = escape_controls(text)

    assert not any(char in escaped for char in "\n\r\x1b\x07\x9b\u202e\u2066\u2028")
    escaped.encode("utf-8")


@pytest.mark.parametrize("text", ["a://" * 200_000, "password" * 200_000, "@:/" * 200_000])
def test_hostile_text_takes_linear_time(text):
    started = time.perf_counter()

    redact(text)
    escape_controls(text)

    assert time.perf_counter() - started < 2


def test_a_shown_value_is_short_quoted_and_harmless():
    assert shown("a\x1b[2J") == "'a\\x1b[2J'"
    assert len(shown("x" * 10_000)) < 120
    assert shown("redis://u:S3@h") == "'redis://u:***@h'"
    assert shown(3) == "3"
