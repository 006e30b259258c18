"""Output: safe on a terminal, exact in JSON, one document whatever happens."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from streams.event import Event
from worker.console import output, words

HOSTILE = "a\x1b]52;c;Zm9v\x07b\x1b[2J\x9bc\x7f\u202ed\u2066e\u200ff\u2028g\ud83d\x00\r"


def test_control_characters_are_spelled_out_and_text_of_any_script_stays() -> None:
    shown = output.visible(HOSTILE)
    assert shown == (
        "a\\x1b]52;c;Zm9v\\x07b\\x1b[2J\\x9bc\\x7f\\u202ed\\u2066e\\u200ff\\u2028g\\ud83d\\x00\\r"
    )
    assert output.visible("日本 שלום é 👩‍💻\tx\ny") == "日本 שלום é 👩‍💻\tx\ny"


def test_a_line_stays_one_line() -> None:
    forged = "s1\n2026-01-01 WARNING all is lost\tx"
    assert output.visible_line(forged) == "s1\\n2026-01-01 WARNING all is lost\\tx"


def test_json_is_exact_and_free_of_what_a_terminal_acts_on() -> None:
    text = output.to_json({"k": HOSTILE})
    assert json.loads(text) == {"k": HOSTILE}
    assert output.visible_line(text) == text


def test_json_is_ascii_where_the_stream_is_not_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    class Latin:
        encoding = "latin-1"

    monkeypatch.setattr("sys.stdout", Latin())
    text = output.to_json(["é👍"])
    assert text.isascii()
    assert json.loads(text) == ["é👍"]


def test_json_has_times_as_rfc3339_and_refuses_what_has_no_form() -> None:
    assert output.to_json(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == '"2026-01-02T03:04:05Z"'
    with pytest.raises(TypeError, match="set has no JSON form"):
        output.to_json({1})


@pytest.mark.parametrize("items", [[], [1], [{"a": "x"}, {"a": "y"}, None]])
def test_an_array_written_item_by_item_is_one_document(
    items: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with output.json_array() as array:
        for item in items:
            array.add(item)
    assert json.loads(capsys.readouterr().out) == items


def test_an_array_inside_an_object_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    with output.json_array('{"a": 1, "items": ', "}") as array:
        array.add("x")
        array.add("y")
    assert json.loads(capsys.readouterr().out) == {"a": 1, "items": ["x", "y"]}


def test_an_array_is_closed_when_an_error_breaks_it_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        with output.json_array() as array:
            array.add(1)
            raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        fail()
    assert json.loads(capsys.readouterr().out) == [1]


def test_an_error_before_the_first_item_leaves_stdout_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match="early"), output.json_array():
        raise ValueError("early")
    assert capsys.readouterr().out == ""


def test_columns_line_up_with_wide_characters_too() -> None:
    lines = output.table(("NAME", "N"), [("日本", "1"), ("abcdef", "22")])
    assert lines == ["NAME     N", "日本     1", "abcdef  22"]


def test_a_cell_cannot_break_the_table() -> None:
    _, row = output.table(("NAME", "N"), [("a\nb\x1b[2J", "1")])
    assert row == "a\\nb\\x1b[2J  1"


def test_text_is_clipped_with_a_mark() -> None:
    assert output.clip("abcdef", 6) == "abcdef"
    assert output.clip("abcdefg", 6) == "abcde…"


@pytest.mark.parametrize(
    ("choice", "environ", "tty", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {}, True, False),
    ],
)
def test_colour_is_for_terminals_unless_asked(
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    environ: dict[str, str],
    tty: bool,
    wanted: bool,
) -> None:
    class Stdout:
        def isatty(self) -> bool:
            return tty

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Stdout())
    assert output.wants_color(choice) is wanted


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (40 << 20, "40 MiB"), (None, "-")],
)
def test_sizes_read_well(number: int | None, said: str) -> None:
    assert words.size(number) == said


@pytest.mark.parametrize(
    ("then_ms", "said"),
    [(0, "-"), (100_000_000, "0s"), (99_941_000, "59s"), (99_940_000, "1m"), (13_600_000, "1d")],
)
def test_ages_take_the_largest_fitting_unit(then_ms: int, said: str) -> None:
    assert words.age(then_ms, 100_000_000) == said


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ({"role": "user", "content": "hello"}, "user: hello"),
        ({"task": "fix it", "result": "done"}, "done"),
        ({"task": "fix it"}, "fix it"),
        ({"tool_name": "bash", "args": {"command": "ls"}}, 'bash: {"command": "ls"}'),
        ({"tool": "bash", "output": "a b", "exit_code": 0}, "bash: a b"),
        ({"model": "m", "tokens": 3}, '{"model": "m", "tokens": 3}'),
        ({}, ""),
    ],
)
def test_an_event_tells_its_message_tool_or_result(payload: dict[str, Any], told: str) -> None:
    assert words.telling(Event("t", payload)) == told


def test_a_time_beyond_every_date_is_still_shown() -> None:
    assert words.moment_of_ms(10**18) == f"{10**18} ms"
    assert words.moment_of_ms(1_700_000_000_000) == "2023-11-14 22:13:20Z"
