"""Inputs made to hang an extractor: each costs about what plain text of its size costs.

The bounds are a hundred times what the work takes; what is quadratic in these sizes takes minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from archive.build import build_round_record
from archive.screening.screen import screen_text
from streams.event import Event

SIZE = 60_000
MANY = 4_000
UNITS = [
    "a", "ab", "=", "-", "x-", "(", "[", "{", "<", "\"", "'", "`", "\\", "$(", "${", "\n",
    " ",
    "\t", "#1 ", "1", "0.", "1.2.3.4 ", "a/b ", "https://", "://a:", "@", "%3D", "\x1b[1m", "\r",
    "\b", '{"a":[1,2,{"b":"c"}]},', "\\\"", "=== 1 failed, ", "1 passed, ", "FAILED a.py::",
    "error: ",
    "<<EOF\n", "cd a;", "a | ", "a && ", "> f ", "git commit ", "commit abcdef1 ", "#12, #13 ",
    "```\n", "- [ ] ", "TODO: ", "instead ", "I'll only ", "let's ", "password=", "token: ", "ghp_",
    "sk-", "eyJ", "aA1.", "-----BEGIN PRIVATE KEY-----", "@@ -1 +1 @@\n", "diff --git a/x b/x\n",
    "*** Update File: a\n", "<<<<<<< SEARCH\n", "必须", "Tests: 1 failed, ", "%s: %s\n",
]  # fmt: skip
MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


class Round:
    """Collects the events of a round."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, type: str, **payload: Any) -> Round:
        number = len(self.events) + 1
        self.events.append(
            Event(
                type=type,
                payload=payload,
                id=f"{number:032x}",
                stream_id="s-1",
                version=number,
                timestamp=MOMENT,
            )
        )
        return self

    def call(self, tool: str, args: Any, output: str = "", **fields: Any) -> Round:
        self.add("tool.call.started", tool_name=tool, args=args, **fields)
        return self.add("tool.call.completed", tool_name=tool, output=output, **fields)

    def build(self) -> None:
        self.add("task.completed", task="Change it", result="Done.")
        assert build_round_record(round=1, events=self.events).event_count == len(self.events)


PLACES: dict[str, Callable[[str], Round]] = {
    "task": lambda text: Round().add("task.created", task=text),
    "user": lambda text: Round().add("message.added", role="user", content=text),
    "assistant": lambda text: Round().add("message.added", role="assistant", content=text),
    "test output": lambda text: Round().call("Bash", {"command": "pytest -q && ruff check"}, text),
    "runner output": lambda text: Round().call("Bash", {"command": "make test"}, text),
    "git output": lambda text: Round().call("Bash", {"command": "git log; git diff"}, text),
    "command": lambda text: Round().call("Bash", {"command": text}, "ok"),
    "patch": lambda text: Round().call("apply_patch", {"input": "*** Begin Patch\n" + text}, "ok"),
    "edit": lambda text: Round().call(
        "Edit", {"file_path": "a.py", "old_string": text, "new_string": text[::-1]}, "updated"
    ),
    "path": lambda text: Round().call("Write", {"file_path": text, "content": "x"}, "created"),
}


@contextmanager
def cpu_seconds_below(limit: float) -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < limit


@pytest.mark.parametrize("place", PLACES, ids=[name.replace(" ", "-") for name in PLACES])
def test_no_repeated_text_hangs_a_round(place: str) -> None:
    for unit in UNITS:
        text = unit * (SIZE // len(unit))
        made = PLACES[place](text)
        with cpu_seconds_below(20):
            made.build()


def test_no_repeated_text_hangs_the_screening() -> None:
    for unit in UNITS:
        with cpu_seconds_below(20):
            screen_text(unit * (SIZE // len(unit)))


@pytest.mark.parametrize("depth", [60, 100, 900, 100_000])
def test_deep_nesting_is_no_recursion(depth: int) -> None:
    deep: Any = "x"
    for _ in range(60):
        deep = [{"text": deep}] if depth == 60 else [deep]
    text = '[{"text":' * depth + '"x"' + "}]" * depth
    made = Round().call("Bash", deep, text).call("Bash", text, deep).call("Edit", text, text)
    made.add("message.added", role="user", content=deep)
    made.call("Bash", {"command": text}, "ok").call("shell", {"command": deep}, {"output": deep})
    made.call("run_ipython", {"code": "-" * depth + "open('f', 'w').create_file(1)"}, "")
    with cpu_seconds_below(20):
        made.build()


def _shell(count: int, command: str, output: str = "") -> Round:
    made = Round()
    for number in range(count):
        made.call("Bash", {"command": command.replace("%", str(number))}, output)
    return made


def _edits(count: int) -> Round:
    made = Round()
    for number in range(count):
        edit = {"file_path": "a.py", "old_string": f"a{number}", "new_string": f"b{number}"}
        made.call("Edit", edit, "The file a.py has been updated.")
    return made


def _files_then(command: str) -> Round:
    script = "".join(f"echo x > d{n}/f{n}\n" for n in range(MANY))
    return Round().call("Bash", {"command": script + command})


MADE: dict[str, Callable[[], Round]] = {
    "edits of one file": lambda: _edits(MANY),
    "calls without an id": lambda: _shell(MANY, "echo x > f%"),
    "commands of one script": lambda: _files_then(""),
    "folders removed": lambda: _files_then("".join(f"rm -r d{n}\n" for n in range(MANY))),
    "folder moved to and fro": lambda: _files_then("mv d1 e\nmv e d1\n" * MANY),
    "restored again and again": lambda: _files_then("git checkout .\n" * MANY),
    "stashed again and again": lambda: _files_then("git stash\ngit stash pop\n" * MANY),
    "committed again and again": lambda: _files_then("git commit -m x\n" * MANY),
    "doubled files": lambda: _shell(60, "cat a a > b; cat b b > a; echo x >> a"),
    "one loop in another": lambda: Round().call(
        "Bash", {"command": "for f in " + "x " * MANY + "; do\n" + "rm $f; touch $f\n" * 500}
    ),
    "grown by a replacement": lambda: (
        Round()
        .call("Write", {"file_path": "a", "content": "a" * 100_000}, "File created")
        .call("Edit", {"file_path": "a", "old_string": "a", "new_string": "b" * 100_000,
                       "replace_all": True}, "The file a has been updated.")
    ),
    "polled again and again": lambda: _polled(MANY),
    "numbers without end": lambda: Round()
    .call("Bash", {"command": f"sed -i {'9' * 5000}d a.py"}, "")
    .call("Edit", {"file_path": "a", "old_string": "a", "new_string": "b",
                   "expected_replacements": 10**30}, "updated", exit_code="9" * 5000)
    .call("Bash", {"command": "git diff"}, f"diff --git a/x b/x\n@@ -1,{'9' * 5000} +1 @@\n"),
}  # fmt: skip


def _polled(count: int) -> Round:
    made = Round().call("exec_command", {"cmd": "make"}, "Process running with session ID 7\n")
    for _ in range(count):
        made.call("write_stdin", {"session_id": 7, "chars": ""}, "still compiling\n" * 20)
    return made


@pytest.mark.parametrize("name", MADE, ids=[name.replace(" ", "-") for name in MADE])
def test_no_round_of_many_steps_hangs(name: str) -> None:
    made = MADE[name]()
    with cpu_seconds_below(20):
        made.build()
