"""Whatever the events, a round has a record that keeps what it promises."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from archive.build import build_round_record, cut_rounds
from archive.extract.shell import parse_script
from archive.identifiers import protect_identifiers
from archive.record import ACTIONS
from archive.screening.screen import screen_text
from streams.event import TERMINAL_TYPES, Event

START = datetime(2026, 3, 1, tzinfo=UTC)
SAID = [
    "Fix the parser in src/a.py, please don't touch the tests.",
    "See https://acme.dev/pull/12 and #31, commit 4c1e09b.",
    "We decided to keep the old format. TODO: remove it later.",
    "必须保留旧格式。后续需要清理。",
    "<system-reminder>never shown</system-reminder> ok",
    "```\ncode\n```\n- one\n- two\n\n## Next steps\n- three",
    "password=hunter2x! and ghp_" + "a1B2c3D4e5F6" * 3,
]
SHELL = [
    "pytest -q", "cd x && make test | tail -3", "git commit -m x", "cat > f <<EOF\nbody\nEOF",
    "sed -i s/a/b/ src/a.py", "rm -rf x", "git checkout .", "python - <<'P'\nopen('f','w')\nP",
    "$(",
]  # fmt: skip
OUTPUT = [
    "1 failed, 2 passed in 0.10s", "Exit code: 1\nx", "[main 4c1e09b] x", "ok", "", "Error: no",
    '{"output":"3 passed in 0.10s","metadata":{"exit_code":0}}', "The file a has been updated.",
]  # fmt: skip
words = st.sampled_from(SAID) | st.text(max_size=80)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
arguments = st.one_of(
    st.fixed_dictionaries({"command": st.sampled_from(SHELL)}),
    st.fixed_dictionaries({"file_path": words, "old_string": words, "new_string": words}),
    st.fixed_dictionaries({"path": words, "content": words}),
    st.lists(st.sampled_from(SHELL), max_size=3),
    anything,
)
call_ids = st.sampled_from(["", "1", "2", None])
speakers = st.sampled_from(["user", "assistant", "tool"])
tools = st.sampled_from(["Bash", "Edit", "Write", "apply_patch", "shell", "view", "mcp__x__y", ""])
payloads = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool"]), "content": words}
    ),
    st.fixed_dictionaries({"tool_name": tools, "args": arguments, "tool_call_id": call_ids}),
    st.fixed_dictionaries(
        {"tool_name": tools, "output": st.sampled_from(OUTPUT) | anything, "tool_call_id": call_ids}
    ),
    st.fixed_dictionaries({"task": words, "result": words, "error": words, "refs": anything}),
    st.dictionaries(st.sampled_from(["role", "content", "tool", "input", "cwd", "x"]), anything),
)
types = st.sampled_from(
    ["message.added", "tool.call.started", "tool.call.completed", "session.created",
     "task.created", "task.completed", "task.failed", "step.failed", "weather.changed"]
)  # fmt: skip


@st.composite
def rounds(draw: st.DrawFn) -> list[Event]:
    drawn = draw(st.lists(st.tuples(types, payloads), min_size=1, max_size=14))
    return [
        Event(
            type=type,
            payload=payload,
            id=f"e-{version}",
            stream_id="s-1",
            version=version,
            timestamp=START + timedelta(seconds=version),
        )
        for version, (type, payload) in enumerate(drawn, 1)
    ]


@given(rounds())
@settings(max_examples=150, deadline=None)
def test_any_events_make_a_record(events: list[Event]) -> None:
    record = build_round_record(round=1, events=events)
    assert record.action in ACTIONS
    assert 0 < len(record.summary) <= 200 + len("[withheld: azure-storage-key]") * 8
    assert "\n" not in record.summary
    assert record == build_round_record(round=1, events=list(events))


@given(rounds())
@settings(max_examples=100, deadline=None)
def test_every_kept_ref_is_whole(events: list[Event]) -> None:
    refs = build_round_record(round=1, events=events, screen=False).refs
    assert protect_identifiers(refs) == refs


@given(rounds())
@settings(max_examples=100, deadline=None)
def test_decisions_and_todos_are_somebodys_words(events: list[Event]) -> None:
    said = re.sub(r"\s+", " ", " ".join(_texts(event.payload) for event in events))
    record = build_round_record(round=1, events=events, screen=False)
    for note in (*record.decisions, *record.todos):
        assert note in said


@given(rounds())
@settings(max_examples=100, deadline=None)
def test_no_file_is_listed_twice_nor_with_less_than_no_lines(events: list[Event]) -> None:
    files = build_round_record(round=1, events=events).files
    assert len({change.path for change in files}) == len(files)
    assert all(change.lines_added >= 0 and change.lines_removed >= 0 for change in files)


@given(rounds())
@settings(max_examples=100, deadline=None)
def test_cut_rounds_hold_every_event_once(events: list[Event]) -> None:
    cut = cut_rounds(events)
    assert [e for part in (*cut.finished, cut.open) for e in part] == events
    for part in cut.finished:
        assert [e.type in TERMINAL_TYPES for e in part] == [False] * (len(part) - 1) + [True]
    assert all(e.type not in TERMINAL_TYPES for e in cut.open)


@given(st.text(st.sampled_from("ab#={!\u3000\u00a0\x1f" + " \t\r\n'\"\\$`;&|<>()" * 2)))
@settings(max_examples=300, deadline=None)
def test_every_script_is_read_to_its_end(script: str) -> None:
    words = [word for command in parse_script(script) for word in command.words]
    assert sum(map(len, words)) <= len(script) + len(words)


@given(st.lists(words, max_size=4).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_screened_text_screens_to_itself(text: str) -> None:
    once = screen_text(text).text
    assert screen_text(once).text == once
    assert "hunter2" not in once


def _texts(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(map(_texts, value.values()))
    return " ".join(map(_texts, value)) if isinstance(value, list) else str(value)
