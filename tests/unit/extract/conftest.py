"""Rounds made by hand: a few calls that read like what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from archive.extract import Extraction, extract
from streams.event import Event

Events = list[Event]
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class RoundScript:
    """Collects events in order; every method adds some and returns the script itself."""

    def __init__(self) -> None:
        self.events: Events = []
        self._calls = 0

    def event(self, type: str, payload: Mapping[str, Any]) -> RoundScript:
        number = len(self.events) + 1
        moment = START + timedelta(seconds=number)
        self.events.append(
            Event(
                type=type,
                payload=payload,
                id=f"{number:032x}",
                stream_id="s-1",
                version=number,
                timestamp=moment,
            )
        )
        return self

    def session(self, cwd: str) -> RoundScript:
        return self.event("session.created", {"session_id": "s-1", "cwd": cwd})

    def user(self, text: str) -> RoundScript:
        return self.event("message.added", {"role": "user", "content": text})

    def assistant(self, text: str) -> RoundScript:
        return self.event("message.added", {"role": "assistant", "content": text})

    def call(self, tool: str, args: Any, output: Any = "", **fields: Any) -> RoundScript:
        self._calls += 1
        call_id = f"call-{self._calls}"
        self.event("tool.call.started", {"tool_name": tool, "args": args, "tool_call_id": call_id})
        return self.event(
            "tool.call.completed",
            {"tool_name": tool, "output": output, "tool_call_id": call_id, **fields},
        )

    def shell(self, command: str, output: str = "", code: int | None = None) -> RoundScript:
        fields = {} if code is None else {"exit_code": code}
        return self.call("Bash", {"command": command}, output, **fields)

    def done(self, result: str = "Done.", task: str = "Change the parser") -> RoundScript:
        return self.event("task.completed", {"task": task, "result": result})

    def extract(self) -> Extraction:
        return extract(self.events)

    def checks(self) -> list[tuple[str, str, str]]:
        return [(c.kind, c.tool, c.result) for c in self.extract().verdict.checks]

    def files(self) -> dict[str, tuple[int, int]]:
        return {f.path: (f.lines_added, f.lines_removed) for f in self.extract().files}

    def refs(self) -> dict[str, Sequence[str]]:
        return dict(self.extract().refs)


@pytest.fixture
def script() -> RoundScript:
    return RoundScript()


@pytest.fixture
def checks_of() -> Callable[..., list[tuple[str, str, str]]]:
    """The checks of a round whose only call is one shell command."""

    def run(command: str, output: str, code: int | None = None) -> list[tuple[str, str, str]]:
        return RoundScript().shell(command, output, code).done().checks()

    return run
