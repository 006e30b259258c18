"""Pure. One tool call with its result, whatever the agent calls its tools."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .commands import Invocation, calls_of, program_name
from .envelope import find_directory, unwrap
from .payload import decode_json, is_failed, tool_output
from .text import clean_terminal
from .wrappers import SHELLS

_SCRIPT_KEYS: Final = ("command", "cmd", "script", "code", "commandLine", "CommandLine")
_DIRECTORY_KEYS: Final = ("workdir", "cwd", "dir_path", "directory", "working_directory", "Cwd")
_DIRECTORIES: Final = frozenset(_DIRECTORY_KEYS)
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
    r"|<(?:command with )?shellId: ?(\w+)"
)
_WINDOWS_SHELLS: Final = frozenset({"powershell", "pwsh", "cmd"})
_SHELL_LANGUAGES: Final = frozenset({"bash", "sh", "shell", "zsh", "powershell"})
_RUN_OPTIONS: Final = frozenset({"-c", "-lc", "-ic", "-lic", "-command", "/c"})
_WRITTEN_TO: Final = re.compile(r"[Oo]utput is being written to:? (\S+)")
_LINE_NUMBER: Final = re.compile(r"^ {0,6}\d+(?:→|\t)", re.MULTILINE)
_REFUSED: Final = re.compile(
    r"doesn't want to (?:proceed|take this action)|tool use was rejected|<tool_use_error>"
    r"|[Rr]ejected by (?:the )?user|[Uu]ser (?:rejected|denied|declined|cancelled|aborted)"
    r"|Permission to use \w+ (?:with command .{0,80} )?has been denied|requested permissions? to"
    r"|^aborted by user|[Ss]ibling tool call errored|Request interrupted by user"
    r"|[Oo]peration (?:was )?cancelled by (?:the )?user|[Tt]ool call (?:was )?(?:denied|cancelled)"
    r"|blocked by (?:policy|a hook|hook)|command not allowed|is not allowed by policy"
)

# What a call says that was refused, whole or first, where its agent marks no failure.
_REFUSED_ALONE: Final = re.compile(
    r"\A\s*(?:<\w{1,20}>\s*)?(?:Error: )?\[?(?:"
    r"(?:The u|U)ser (?:has |have )?(?:denied|rejected|declined|cancell?ed|aborted|skipped"
    r"|chose (?:to skip|not to)|did not (?:approve|allow))"
    r"|Operation [Cc]ancell?ed|Rejected(?::|\.?\s*\Z| by )|[Aa]borted by user"
    r"|(?:exec command|patch|[Tt]ool (?:call|use|execution)|[Cc]ommand|[Ee]dit|[Ee]xecution)"
    r"(?: was| execution)? (?:rejected|denied|declined|cancell?ed|not approved)"
    r"|[Pp]ermission denied(?: and could not request|(?: by (?:the )?user)?\.?\s*\Z))"
)


@dataclass(slots=True)  # not frozen: a round has hundreds, and a frozen one takes thrice the time
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
            self._parsed.append(calls_of(self.script))
        return self._parsed[0]


class CallDraft:
    """A call under assembly."""

    __slots__ = ("arguments", "completed", "index", "payloads", "tool")

    def __init__(self, index: int, tool: str, arguments: Any) -> None:
        self.index, self.tool, self.arguments = index, tool, arguments
        self.payloads: list[Mapping[str, Any]] = []
        self.completed = False


def finish_call(draft: CallDraft) -> ToolRun:
    """The tool run that a call and its results, mostly one, amount to."""
    tool = draft.tool.lower()
    if "__" in tool:
        tool = tool.rsplit("__", 1)[-1]
    arguments, text = _as_mapping(draft.arguments)
    script, code = _script_of(tool, draft.arguments, arguments, text)
    outputs: list[str] = []
    exit_code, failed = None, False
    for payload in draft.payloads:
        output, code_field = tool_output(payload)
        outputs.append(output)
        exit_code = code_field if code_field is not None else exit_code
        failed = is_failed(payload)
    raw = "\n".join(outputs)
    refused = (failed and _REFUSED.search(raw[:600]) is not None) or (
        _REFUSED_ALONE.match(raw[:200]) is not None
    )
    directory = _directory_of(arguments)
    if script or code or text or tool in _CONTINUATIONS or tool in _SHELL_TOOLS:
        directory = directory or find_directory(raw)
        raw, written = unwrap(raw)
        exit_code = written if exit_code is None else exit_code
        raw = clean_terminal(raw)
    failed = failed or (exit_code is not None and exit_code != 0)
    return ToolRun(
        draft.index, tool, arguments, text, script, code, raw, exit_code,
        draft.completed, failed, refused, directory,
    )  # fmt: skip


def continue_call(run: ToolRun, later: Sequence[ToolRun]) -> ToolRun:
    """A background run, and what the calls that looked after it say about it."""
    last = later[-1]
    return replace(
        run,
        index=last.index,
        output="\n".join([run.output, *(call.output for call in later)]),
        exit_code=last.exit_code,
        failed=last.failed,
    )


def background_name(run: ToolRun) -> str:
    """The name under which a run goes on in the background, if it says so."""
    head = run.output[:2000] if run.script else ""
    if not ("unning" in head or "background" in head or "<shellId" in head):
        return ""
    match = _RUNNING.search(head)
    return next(g for g in match.groups() if g) if match else ""


def background_file(run: ToolRun) -> str:
    """The file that a run in the background writes its output to, if it says so."""
    head = run.output[:600] if run.script else ""
    match = _WRITTEN_TO.search(head) if "written to" in head else None
    return match[1].rstrip(".") if match else ""


def is_waiting(run: ToolRun) -> bool:
    """Whether a run was left running, to be looked after by an empty command."""
    return bool(run.script) and "no new output after" in run.output[-1500:]


def looks_on(run: ToolRun) -> bool:
    """Whether a call is such an empty command."""
    return run.tool in _SHELL_TOOLS and not run.script.strip() and not run.text


def shows_file(run: ToolRun, path: str) -> bool:
    """Whether a call shows a file."""
    return path in run.script or path in (run.arguments.get("file_path"), run.arguments.get("path"))


def glimpse(run: ToolRun) -> ToolRun:
    """What a call that showed another one's output says about that: no end, but its lines."""
    output = _LINE_NUMBER.sub("", run.output) if not run.script else run.output
    return replace(run, output=output, exit_code=None, failed=False)


def continued_name(run: ToolRun) -> str:
    """The name of the background run that a call looks after, if it does."""
    if run.tool not in _CONTINUATIONS:
        return ""
    named = run.arguments
    return next((str(named[k]) for k in _SESSION_KEYS if named.get(k) is not None), "")


def _directory_of(arguments: Mapping[str, Any]) -> str:
    for key in _DIRECTORY_KEYS if not _DIRECTORIES.isdisjoint(arguments) else ():
        if arguments.get(key):
            return str(arguments[key])
    return ""


def _as_mapping(value: Any) -> tuple[Mapping[str, Any], str]:
    if isinstance(value, (dict, Mapping)):  # a dict is told sooner than a mapping
        if len(value) == 1 and isinstance(wrapped := next(iter(value.values())), Mapping):
            value = wrapped
        inner = value.get("input") or value.get("patch") or value.get("raw")
        return value, inner if isinstance(inner, str) and len(value) == 1 else ""
    if isinstance(value, str):
        return {}, value
    return {}, ""


def _script_of(tool: str, raw: Any, arguments: Mapping[str, Any], text: str) -> tuple[str, str]:
    if tool in _CODE_TOOLS:
        return "", text or next((str(arguments[k]) for k in _SCRIPT_KEYS if arguments.get(k)), "")
    language = arguments.get("language")
    if language is not None and isinstance(given := arguments.get("code"), str):
        if str(language).lower().startswith("python"):
            return "", given
        return (given, "") if str(language).lower() in _SHELL_LANGUAGES else ("", "")
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
            return value.replace("\\", "/") if tool in _WINDOWS_SHELLS else value, ""
    return "", ""


def _join_argv(argv: list[Any]) -> str:
    words = [str(word) for word in argv]
    program = program_name(words[0]) if words else ""
    windows = program in _WINDOWS_SHELLS
    if len(words) > 2 and words[-2].lower() in _RUN_OPTIONS and (windows or program in SHELLS):
        # Backslashes part folders there, where a shell of Unix would take them for quotes.
        return words[-1].replace("\\", "/") if windows else words[-1]
    return shlex.join(words)
