"""Pure. The one normalising layer: events of any emitter become a task, messages and tool runs.

Nothing behind this module looks at an event again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streams.event import TERMINAL_TYPES, Event

from .commands import Invocation, invocations
from .envelope import find_directory, unwrap
from .payload import decode_json, is_failed, message_text, tool_arguments, tool_name, tool_output
from .shell import parse_script
from .text import clean_terminal

_SCRIPT_KEYS: Final = ("command", "cmd", "script", "code", "commandLine", "CommandLine")
_DIRECTORY_KEYS: Final = ("workdir", "cwd", "dir_path", "directory", "working_directory", "Cwd")
_SHELL_TOOLS: Final = frozenset(
    {
        "bash", "shell", "exec_command", "run_shell_command", "execute_bash", "run", "run_command",
        "run_terminal_cmd", "run_terminal_command", "terminal", "execute_command", "local_shell",
        "sh", "command", "cmd", "powershell", "run_in_terminal", "container.exec", "exec",
        "shell_command", "launch-process", "computer_terminal", "cmdrunaction", "console",
        "run_bash", "bash_tool", "execute_shell", "shell_exec", "zsh", "runcommand",
    }
)  # fmt: skip
_CODE_TOOLS: Final = frozenset(
    {"run_ipython", "python", "ipython", "execute_ipython_cell", "run_python", "jupyter"}
)
_CONTINUATIONS: Final = frozenset(
    {
        "write_stdin", "bashoutput", "read_bash", "taskoutput", "get_terminal_output",
        "read_terminal", "read-process", "bash_output", "command_status", "read_output",
    }
)  # fmt: skip
_SESSION_KEYS: Final = ("session_id", "bash_id", "shellId", "shell_id", "task_id", "id", "terminal")
_RUNNING: Final = re.compile(
    r"Process running with session ID (\w+)"
    r"|running in (?:the )?background with (?:ID|id):? ?(\w+)"
    r"|started in background with shellId:? ?(\w+)"
    r"|<shellId: ?(\w+)"
)
_REFUSED: Final = re.compile(
    r"doesn't want to (?:proceed|take this action)|tool use was rejected|<tool_use_error>"
    r"|[Rr]ejected by (?:the )?user|[Uu]ser (?:rejected|denied|declined|cancelled|aborted)"
    r"|Permission to use \w+ (?:with command .{0,80} )?has been denied|requested permissions? to"
    r"|^aborted by user|[Ss]ibling tool call errored|Request interrupted by user"
    r"|[Oo]peration (?:was )?cancelled by (?:the )?user|[Tt]ool call (?:was )?(?:denied|cancelled)"
    r"|blocked by (?:policy|a hook|hook)|command not allowed|is not allowed by policy"
)


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said; `index` is the event's place in the round."""

    index: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One tool call with its result.

    `script` is the shell script it ran, `code` the Python it ran, `text` the arguments where they
    were plain text (a patch). `index` is the place of the last event that belongs to it.
    `exit_code` is None where nothing tells; `failed` says the call did not do what was asked.
    """

    index: int
    tool: str
    arguments: Mapping[str, Any]
    text: str = ""
    script: str = ""
    code: str = ""
    output: str = ""
    exit_code: int | None = None
    completed: bool = True
    failed: bool = False
    refused: bool = False
    directory: str = ""
    _parsed: list[tuple[Invocation, ...]] = field(default_factory=list, repr=False, compare=False)

    @property
    def calls(self) -> tuple[Invocation, ...]:
        """The programs that the script runs, in order; parsed when first asked for."""
        if not self._parsed:
            self._parsed.append(tuple(invocations(parse_script(self.script))))
        return self._parsed[0]


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


class _Draft:
    """A call under assembly."""

    __slots__ = ("arguments", "call_id", "completed", "index", "outputs", "payloads", "tool")

    def __init__(self, index: int, tool: str, arguments: Any, call_id: str) -> None:
        self.index, self.tool, self.arguments, self.call_id = index, tool, arguments, call_id
        self.outputs: list[str] = []
        self.payloads: list[Mapping[str, Any]] = []
        self.completed = False


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
    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._by_id: dict[str, _Draft] = {}
        self._sessions: dict[str, _Draft] = {}

    def start(self, index: int, payload: Mapping[str, Any]) -> None:
        call_id = str(payload.get("tool_call_id") or payload.get("call_id") or "")
        draft = _Draft(index, tool_name(payload), tool_arguments(payload), call_id)
        self._drafts.append(draft)
        if call_id:
            self._by_id[call_id] = draft

    def complete(self, index: int, payload: Mapping[str, Any]) -> None:
        call_id = str(payload.get("tool_call_id") or payload.get("call_id") or "")
        tool = tool_name(payload)
        draft = self._by_id.get(call_id) if call_id else self._oldest_open(tool)
        if draft is None:
            draft = _Draft(index, tool, tool_arguments(payload), call_id)
            self._drafts.append(draft)
            if call_id:
                self._by_id[call_id] = draft
        if draft.arguments is None:
            arguments = tool_arguments(payload)
            draft.arguments = arguments if arguments is not None else dict(payload)
        draft.index, draft.completed = index, True
        draft.payloads.append(payload)

    def _oldest_open(self, tool: str) -> _Draft | None:
        return next((d for d in self._drafts if not d.completed and d.tool == tool), None)

    def runs(self) -> tuple[ToolRun, ...]:
        found: list[ToolRun] = []
        places: dict[str, int] = {}
        for draft in self._drafts:
            run = _finish(draft)
            if run.tool in _CONTINUATIONS and (key := _session_of(run.arguments)) in places:
                place = places[key]
                found[place] = _continue(found[place], run)
                continue
            head = run.output[:2000] if run.script else ""
            if ("unning" in head or "background" in head or "<shellId" in head) and (
                match := _RUNNING.search(head)
            ):
                places[next(g for g in match.groups() if g)] = len(found)
            found.append(run)
        found.sort(key=lambda run: run.index)
        return tuple(found)


def _continue(run: ToolRun, later: ToolRun) -> ToolRun:
    """A background run, and what a later call says about it."""
    return ToolRun(
        later.index, run.tool, run.arguments, run.text, run.script, run.code,
        f"{run.output}\n{later.output}", later.exit_code, run.completed,
        later.failed, run.refused, run.directory,
    )  # fmt: skip


def _finish(draft: _Draft) -> ToolRun:
    tool = draft.tool.rsplit("__", 1)[-1].lower()
    arguments, text = _as_mapping(draft.arguments)
    script, code = _script_of(tool, draft.arguments, arguments, text)
    raw, exit_code, failed = "", None, False
    for payload in draft.payloads:
        output, code_field = tool_output(payload)
        raw = f"{raw}\n{output}" if raw else output
        exit_code = code_field if code_field is not None else exit_code
        failed = is_failed(payload)
    refused = failed and _REFUSED.search(raw[:600]) is not None
    directory = next((str(arguments[k]) for k in _DIRECTORY_KEYS if arguments.get(k)), "")
    if script or code or text:
        directory = directory or find_directory(raw)
        raw, written = unwrap(raw)
        exit_code = written if exit_code is None else exit_code
        raw = clean_terminal(raw)
    failed = failed or (exit_code is not None and exit_code != 0)
    return ToolRun(
        draft.index, tool, arguments, text, script, code, raw, exit_code,
        draft.completed, failed, refused, directory,
    )  # fmt: skip


def _as_mapping(value: Any) -> tuple[Mapping[str, Any], str]:
    if isinstance(value, Mapping):
        inner = value.get("input") or value.get("patch") or value.get("raw")
        return value, inner if isinstance(inner, str) and len(value) == 1 else ""
    if isinstance(value, str):
        return {}, value
    return {}, ""


def _script_of(tool: str, raw: Any, arguments: Mapping[str, Any], text: str) -> tuple[str, str]:
    if tool in _CODE_TOOLS:
        return "", text or next((str(arguments[k]) for k in _SCRIPT_KEYS if arguments.get(k)), "")
    if isinstance(raw, list):
        return _join_argv(raw), ""
    if tool in _SHELL_TOOLS and text and not text.startswith("*** Begin Patch"):
        return text, ""
    for key in _SCRIPT_KEYS[:3] if tool not in _SHELL_TOOLS else _SCRIPT_KEYS:
        value = arguments.get(key)
        if isinstance(value, list):
            return _join_argv(value), ""
        if isinstance(value, str) and value:
            if value[:1] == "[" and isinstance(argv := decode_json(value), list):
                return _join_argv(argv), ""
            return value, ""
    return "", ""


def _join_argv(argv: list[Any]) -> str:
    words = [str(word) for word in argv]
    if len(words) == 3 and words[1] in ("-c", "-lc", "-ic", "-Command", "/c"):
        return words[2]
    return shlex.join(words)


def _session_of(arguments: Mapping[str, Any]) -> str:
    return next((str(arguments[k]) for k in _SESSION_KEYS if arguments.get(k) is not None), "")


def _text_of(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else message_text({"content": value})
