"""Identifiers are kept whole or refused."""

from __future__ import annotations

import pytest

from archive.errors import InvalidIdentifier
from archive.identifiers import extract_identifiers, protect_identifiers

SHA1 = "4c1e09b7a2d85f3160e9c7b48a52d3f1069ebc87"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
UUID = "5be07c12-93fd-4e6a-b1c8-07d2f4a9e635"

WHOLE = [
    ("commit", SHA1),
    ("commit", SHA256),
    ("commit", "4c1e09b"),
    ("pr", "#142"),
    ("pr", "acme/app#142"),
    ("pr", "!17"),
    ("issue", "#7"),
    ("issue", "ABC-123"),
    ("url", "https://acme.dev/a?b=c#d"),
    ("url", "https://en.wikipedia.org/wiki/Rust_(language)"),
    ("uuid", UUID),
    ("uuid", UUID.upper()),
    ("ip", "10.0.0.7"),
    ("ip", "fe80::1"),
    ("ip_port", "10.0.0.7:6379"),
    ("ip_port", "[::1]:8080"),
    ("ip_port", "localhost:3000"),
    ("ip_port", "db.internal:5432"),
    ("repo", "acme/app"),
    ("repo", "group/sub/project"),
    ("branch", "feat/parser-v2"),
    ("branch", "main"),
]

DAMAGED = [
    ("commit", SHA1[:-1]),
    ("commit", SHA1[:38]),
    ("commit", SHA256[:-1]),
    ("commit", SHA1 + "0"),
    ("commit", "4c1e09"),
    ("commit", "4c1e09b..."),
    ("commit", "not-a-commit"),
    ("uuid", UUID[:-1]),
    ("uuid", UUID[:23]),
    ("uuid", UUID[:8] + "-"),
    ("uuid", UUID + "0"),
    ("url", "https://acme.dev/very/long/pa..."),
    ("url", "https://acme.dev/very/long/pa…"),
    ("url", "acme.dev/path"),
    ("url", "https://"),
    ("ip", "10.0.0"),
    ("ip", "10.0.0.256"),
    ("ip_port", "10.0.0.7:"),
    ("ip_port", "10.0.0.7"),
    ("ip_port", "10.0.0.7:99999"),
    ("pr", "#"),
    ("pr", "#0142x"),
    ("issue", "#-1"),
    ("repo", "acme"),
    ("repo", "acme/"),
    ("branch", "feat/.."),
    ("branch", "a b"),
    ("branch", "feat…"),
]


@pytest.mark.parametrize(("role", "value"), WHOLE)
def test_a_whole_value_is_kept_verbatim(role: str, value: str) -> None:
    assert protect_identifiers({role: value}) == {role: value}


@pytest.mark.parametrize(("role", "value"), DAMAGED)
def test_a_damaged_value_is_refused_by_its_role(role: str, value: str) -> None:
    with pytest.raises(InvalidIdentifier) as refused:
        protect_identifiers({role: value})
    assert refused.value.role == role
    assert refused.value.value == value


def test_usual_names_of_a_role_are_one() -> None:
    given = {"pull_request": "#1", "prs": "#2", "sha": SHA1, "addr": "10.0.0.7:80"}
    assert protect_identifiers(given) == {"pr": "#1, #2", "commit": SHA1, "ip_port": "10.0.0.7:80"}


def test_several_values_of_a_role_are_checked_one_by_one() -> None:
    assert protect_identifiers({"pr": "#1, #2,#1"}) == {"pr": "#1, #2"}
    with pytest.raises(InvalidIdentifier):
        protect_identifiers({"pr": "#1, #x"})


def test_a_url_keeps_its_commas() -> None:
    url = "https://acme.dev/map?at=1,2,3"
    assert protect_identifiers({"url": f"{url}, https://b.dev/"}) == {
        "url": f"{url}, https://b.dev/"
    }


def test_a_commit_is_kept_in_small_letters() -> None:
    assert protect_identifiers({"commit": SHA1.upper()}) == {"commit": SHA1}


def test_a_role_of_the_callers_own_is_kept_unless_it_looks_cut_off() -> None:
    assert protect_identifiers({"deployment": "eu-west/42"}) == {"deployment": "eu-west/42"}
    with pytest.raises(InvalidIdentifier):
        protect_identifiers({"deployment": "eu-west/42..."})


def test_a_role_must_be_a_name() -> None:
    with pytest.raises(InvalidIdentifier):
        protect_identifiers({"no role": "x"})


def test_an_empty_value_leaves_no_role() -> None:
    assert protect_identifiers({"pr": "  "}) == {}


def test_a_form_that_proves_itself_is_found_in_text() -> None:
    text = (
        f"See https://acme.dev/a, (https://b.dev/c_(d)) and **https://e.dev/f**. Request {UUID} "
        "went to 10.0.0.7:6379 and 10.0.0.8, then localhost:3000."
    )
    assert extract_identifiers(text) == {
        "url": ["https://acme.dev/a", "https://b.dev/c_(d)", "https://e.dev/f"],
        "uuid": [UUID],
        "ip_port": ["10.0.0.7:6379", "localhost:3000"],
        "ip": ["10.0.0.8"],
    }


@pytest.mark.parametrize(
    "text",
    [
        "version 1.2.3.4 is out",
        "v10.0.0.7",
        "see chapter 1.2.3",
        "at 10:30:15 it was src/a.py:120",
        "5be07c12-93fd-4e6a-b1c8-07d2f4a9e635x",
        "the file:notes and https:",
    ],
)
def test_what_only_looks_like_one_is_not_found(text: str) -> None:
    assert extract_identifiers(text) == {}


def test_addresses_glued_together_are_told_apart() -> None:
    text = "https://acme.dev/ahttps://b.dev/c"
    assert extract_identifiers(text)["url"] == ["https://acme.dev/a", "https://b.dev/c"]
