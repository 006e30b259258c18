"""Pure. The one normalising layer: events of any emitter become a task, messages and tool runs.

Nothing behind this module looks at an event again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streams.event import TERMINAL_TYPES, Event

from .calls import Calls
from .payload import message_text
from .tool_run import ToolRun

_BEGINNINGS: Final = frozenset(
    {"session.created", "agent.started", "task.created", "task.dispatched"}
)
"""Events that may name the directory and the task."""


@dataclass(slots=True)  # not frozen, as a `ToolRun` isn't
class Message:
    """What somebody said; `index` is the event's place in the round."""

    index: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class RoundView:
    """A round as the extractors see it."""

    task: str
    result: str
    error: str
    ended: str
    directory: str
    messages: tuple[Message, ...]
    runs: tuple[ToolRun, ...]


def build_view(events: Iterable[Event]) -> RoundView:
    """The round's task, messages and tool runs; calls paired by id, else by name and order."""
    task = result = error = ended = directory = ""
    messages: list[Message] = []
    calls = Calls()
    for index, event in enumerate(events):
        kind, payload = event.type, event.payload
        if kind == "tool.call.started":
            calls.start(index, payload)
        elif kind == "tool.call.completed":
            calls.complete(index, payload)
        elif kind == "message.added":
            calls.said(index, payload)
            if text := message_text(payload):
                messages.append(Message(index, str(payload.get("role") or ""), text))
        elif kind in _BEGINNINGS:
            directory = _text_of(payload, "cwd") or directory
            task = _text_of(payload, "task") or task
        elif kind in TERMINAL_TYPES:
            ended = kind
            task = task or _text_of(payload, "task")
            result = _text_of(payload, "result")
            error = _text_of(payload, "error") or error
        elif kind.startswith("task."):
            task = _text_of(payload, "task") or task
        elif kind == "step.failed" and not error:
            error = _text_of(payload, "error")
    return RoundView(task, result, error, ended, directory, tuple(messages), calls.runs())


def _text_of(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else message_text({"content": value})
