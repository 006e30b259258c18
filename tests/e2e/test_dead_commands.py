"""What the worker rejects can be seen, mended and sent again, or dropped, by command."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

import pytest

from streams.keys import Keys
from support.command_line import CommandLine

TOO_LARGE = b'{"text": "' + b"x" * 3000 + b'"}'


@pytest.fixture(autouse=True)
def _tight_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARES_LIMITS_MAX_PAYLOAD_BYTES", "1024")


def xadd(ares: CommandLine, **fields: bytes | str) -> None:
    """What a producer in any language does."""
    with ares.server.admin() as client:
        client.xadd(Keys(ares.tenant).inbox, fields)


def reject(ares: CommandLine, *entries: dict[str, bytes | str]) -> list[dict[str, Any]]:
    """Send entries, let the worker reject them; the letters, newest first."""
    for entry in entries:
        xadd(ares, **entry)
    assert ares("run", "--once").code == 0
    found: list[dict[str, Any]] = ares("dead", "list", "--json").json
    return found


def test_every_kind_of_violation_is_listed_with_its_reason_and_neighbours_go_on(
    ares: CommandLine,
) -> None:
    letters = reject(
        ares,
        {"stream": "s", "type": "t", "payload": "{"},
        {"type": "t"},
        {"stream": "s", "type": "t", "colour": "red"},
        {"stream": "s", "type": "t", "payload": TOO_LARGE},
        {"stream": "s", "type": b"\xff"},
        {"stream": "s", "type": "t", "payload": '{"a":' + "[" * 99 + "]" * 99 + "}"},
        {"stream": "s", "type": "task.completed"},
    )
    assert [
        (letter["code"], re.sub(r"(\[0\]?)+…", "", letter["reason"]))
        for letter in reversed(letters)
    ] == [
        ("encoding", "payload: is not JSON: Expecting property name enclosed in double quotes "
         "at character 1"),
        ("schema", "stream: is missing"),
        ("schema", "entry: has unknown fields: 'colour'"),
        ("too_large", "payload: is 3012 bytes, more than 1024"),
        ("encoding", "type: is not UTF-8 at byte 0"),
        ("limits", "payload.a: is nested deeper than 64"),
    ]  # fmt: skip
    assert ares("streams", "show", "s", "--json").json["stream"]["head"] == 1


def test_a_letter_is_shown_whole_with_where_it_came_from(ares: CommandLine) -> None:
    (letter,) = reject(ares, {"stream": "s", "type": "t", "payload": b"\x93\xff\x00"})

    shown = ares("dead", "show", letter["id"], "--json").json
    text = ares("dead", "show", letter["id"]).out

    fields = {field["name"]: field for field in shown["fields"]}
    assert fields["stream"]["value"] == "s"
    assert base64.b64decode(fields["payload"]["base64"]) == b"\x93\xff\x00"
    assert (shown["attempts"], shown["stream"], shown["type"]) == (1, "s", "t")
    assert shown["first_seen_ms"] == int(shown["origin_id"].partition("-")[0])
    assert shown["first_seen_ms"] <= shown["dead_ms"]
    assert letter["reason"] in text
    assert "payload = \\x93\\xff\\x00" in text


def test_a_large_field_is_cut_for_showing_unless_all_is_asked_for(ares: CommandLine) -> None:
    (letter,) = reject(ares, {"stream": "s", "type": "t", "payload": "x" * 5000})
    assert "(904 B more; --full shows all)" in ares("dead", "show", letter["id"]).out
    assert "x" * 5000 in ares("dead", "show", letter["id"], "--full").out


def test_requeue_after_the_limit_was_raised_brings_the_event_in_once(
    ares: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (letter,) = reject(ares, {"stream": "s", "type": "t", "id": "e1", "payload": TOO_LARGE})
    monkeypatch.setenv("ARES_LIMITS_MAX_PAYLOAD_BYTES", "8192")

    moved = ares("dead", "requeue", letter["id"], "--json")
    ares("run", "--once")

    assert list(moved.json["requeued"]) == [letter["id"]]
    (event,) = ares("streams", "show", "s", "--json").json["events"]
    assert event["id"] == "e1"
    assert event["payload"] == {"text": "x" * 3000}
    assert ares("dead", "list", "--json").json == []
    assert ares("dead", "requeue", letter["id"]).code == 1


def test_a_requeued_event_keeps_the_time_it_was_first_sent(
    ares: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (letter,) = reject(ares, {"stream": "s", "type": "t", "payload": TOO_LARGE})
    monkeypatch.setenv("ARES_LIMITS_MAX_PAYLOAD_BYTES", "8192")
    ares("dead", "requeue", letter["id"])
    ares("run", "--once")
    (event,) = ares("streams", "show", "s", "--json").json["events"]
    sent_ms = int(letter["origin_id"].partition("-")[0])
    assert event["timestamp"].endswith(f"{sent_ms % 1000:03d}000Z") or sent_ms % 1000 == 0


def test_what_is_still_wrong_comes_back_once_and_requeue_all_ends(ares: CommandLine) -> None:
    reject(ares, *({"stream": f"s{n}", "type": "t", "payload": "{"} for n in range(30)))
    answer = ares("dead", "requeue", "--all")
    assert answer.out == "Requeued 30 dead letters.\n"
    ares("run", "--once")
    assert len(ares("dead", "list", "--json").json) == 30


def test_a_code_chooses_among_all(ares: CommandLine) -> None:
    reject(
        ares,
        {"stream": "s", "type": "t", "payload": TOO_LARGE},
        {"stream": "s", "type": "t", "payload": "{"},
    )
    assert len(ares("dead", "list", "--code", "encoding", "--json").json) == 1
    assert ares("dead", "requeue", "--all", "--code", "too_large").out == (
        "Requeued 1 dead letter.\n"
    )
    (left,) = ares("dead", "list", "--json").json
    assert left["code"] == "encoding"


def test_purge_drops_what_it_names(ares: CommandLine) -> None:
    newest, oldest = reject(ares, {"type": "t"}, {"type": "u"})
    assert ares("dead", "purge", newest["id"], "--json").json == {"purged": 1}
    assert [letter["id"] for letter in ares("dead", "list", "--json").json] == [oldest["id"]]
    assert ares("dead", "purge", newest["id"]).code == 1


def test_purge_of_all_asks_on_a_terminal_and_refuses_elsewhere(
    ares: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    reject(ares, {"type": "t"}, {"type": "u"})
    assert ares("dead", "purge", "--all").code == 2

    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert ares("dead", "purge", "--all").code == 1
    assert len(ares("dead", "list", "--json").json) == 2

    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert ares("dead", "purge", "--all").out.endswith("Purged 2 dead letters.\n")
    assert ares("dead", "list", "--json").json == []


def test_purge_by_age_leaves_the_young(ares: CommandLine) -> None:
    reject(ares, {"type": "t"})
    assert ares("dead", "purge", "--all", "--before", "1h", "--yes").out == (
        "Purged 0 dead letters.\n"
    )
    assert ares("dead", "purge", "--all", "--before", "2999-01-01", "--yes").out == (
        "Purged 1 dead letter.\n"
    )


@pytest.mark.parametrize(
    "args",
    [("requeue",), ("purge",), ("requeue", "1-1", "--all"), ("purge", "1-1", "--code", "schema")],
)
def test_a_choice_that_says_nothing_or_two_things_is_refused(
    ares: CommandLine, args: tuple[str, ...]
) -> None:
    assert ares("dead", *args).code == 2


def test_a_letter_nobody_has_is_a_no_and_a_word_is_no_id(ares: CommandLine) -> None:
    assert ares("dead", "show", "1-1").code == 1
    assert ares("dead", "show", "first").code == 2
