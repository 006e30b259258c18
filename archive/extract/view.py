"""Pure. The one normalising layer: events of any emitter become a task, messages and tool runs.

Nothing behind this module looks at an event again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from streams.event import TERMINAL_TYPES, Event

from .payload import message_text, tool_arguments, tool_name
from .tool_run import (
    CallDraft,
    ToolRun,
    background_file,
    background_name,
    continue_call,
    continued_name,
    finish_call,
    glimpse,
    is_waiting,
    looks_on,
    shows_file,
)

_MAX_FILES: Final = 100  # that runs in the background write to


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
    calls = _Calls()
    for index, event in enumerate(events):
        kind, payload = event.type, event.payload
        if kind == "tool.call.started":
            calls.start(index, payload)
        elif kind == "tool.call.completed":
            calls.complete(index, payload)
        elif kind == "message.added":
            if text := message_text(payload):
                messages.append(Message(index, str(payload.get("role") or ""), text))
        elif kind == "session.created":
            directory = _text_of(payload, "cwd") or directory
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


class _Calls:
    """Tool calls under assembly, in the order started."""

    def __init__(self) -> None:
        self._drafts: list[CallDraft] = []
        self._by_id: dict[str, CallDraft] = {}
        self._by_tool: defaultdict[str, deque[CallDraft]] = defaultdict(deque)

    def start(self, index: int, payload: Mapping[str, Any]) -> None:
        self._add(index, payload, _call_id(payload))

    def complete(self, index: int, payload: Mapping[str, Any]) -> None:
        call_id = _call_id(payload)
        draft = self._by_id.get(call_id) if call_id else self._oldest_open(tool_name(payload))
        if draft is None:
            draft = self._add(index, payload, call_id)
        if draft.arguments is None:
            arguments = tool_arguments(payload)
            draft.arguments = arguments if arguments is not None else dict(payload)
        draft.index, draft.completed = index, True
        draft.payloads.append(payload)

    def _add(self, index: int, payload: Mapping[str, Any], call_id: str) -> CallDraft:
        draft = CallDraft(index, tool_name(payload), tool_arguments(payload))
        self._drafts.append(draft)
        self._by_tool[draft.tool].append(draft)
        if call_id:
            self._by_id[call_id] = draft
        return draft

    def _oldest_open(self, tool: str) -> CallDraft | None:
        waiting = self._by_tool.get(tool)
        while waiting and waiting[0].completed:
            waiting.popleft()
        return waiting[0] if waiting else None

    def runs(self) -> tuple[ToolRun, ...]:
        found: list[ToolRun] = []
        places: dict[str, int] = {}
        files: dict[str, int] = {}
        waiting = -1
        later: defaultdict[int, list[ToolRun]] = defaultdict(list)
        for draft in self._drafts:
            run = finish_call(draft)
            if (name := continued_name(run)) in places:
                later[places[name]].append(run)
                continue
            if waiting >= 0 and looks_on(run):
                later[waiting].append(run)
                continue
            for path, place in files.items():
                if shows_file(run, path):
                    later[place].append(glimpse(run))
            if name := background_name(run):
                places[name] = len(found)
                if (path := background_file(run)) and len(files) < _MAX_FILES:
                    files[path] = len(found)
            if is_waiting(run):
                waiting = len(found)
            found.append(run)
        for place, calls in later.items():
            found[place] = continue_call(found[place], calls)
        found.sort(key=attrgetter("index"))
        return tuple(found)


def _call_id(payload: Mapping[str, Any]) -> str:
    return str(payload.get("tool_call_id") or payload.get("call_id") or "")


def _text_of(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else message_text({"content": value})
