"""Pure. What verification said: the last own run of each tool.

A run counts when the round executed it here: text in an argument, a log that was only shown and
a rejected call are none. The tool's own summary decides, then an exit code that can only be its.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from archive.record import Check, CheckKind, Verdict

from .check_tools import TOOLS, CheckTool
from .commands import Invocation, invocations, names_any, program_name
from .runners import RUNNER_NAMES, may_be_script, named_kind, strip_prefixes, tasks_of
from .shell import parse_script
from .view import RoundView, ToolRun

_MAX_CALLS: Final = 300
_HEAD: Final = 65_536
_TAIL: Final = 196_608
_PAGERS: Final = frozenset({"tail", "head", "cat", "tee", "less", "more", "sort", "uniq", "tr"})
_VIEWERS: Final = frozenset({"cat", "tail", "head", "less", "more", "grep", "rg", "sed"})
_NOT_RUN: Final = re.compile(
    r"command not found|: not found$|No module named (?:'?(?:pytest|ruff|mypy|flake8|pylint|tox|nox"
    r"|unittest)\b)|Missing script:|is not recognized as|Command \"[\w-]+\" not found"
    r"|No such file or directory: '(?:pytest|ruff|mypy)|could not determine executable to run"
    r"|no task .{0,60} found|Unknown command: ",
    re.MULTILINE,
)
_TROUBLE: Final = re.compile(
    r"\bERROR\b|^(?:error|fatal)\b|\bFAIL(?:ED|URE)?\b|ELIFECYCLE|Traceback \(|\*\*\* \[.*Error \d"
    r"|[Cc]ommand failed|exited with code [1-9]|npm (?:ERR!|error)|\btask failed",
    re.MULTILINE,
)
_ECHOED: Final = re.compile(
    r"^(?:\[[\w:.-]{1,40}\] )?(?:\$|>|\+|nox >|[\w.-]{1,30}: commands\[\d+\]>"
    r"|task: \[[\w:.-]{1,40}\]) ?(\S[^\n]{1,400})$",
    re.MULTILINE,
)
_HARMLESS: Final = frozenset(
    {
        "cd", "export", "source", ".", "set", "echo", "mkdir", "pwd", "clear", "true", "eval", "nvm",
        "pushd", "sleep", "printf", "touch", "unset", "ulimit", "date", "ls", "cat", "which", "shopt",
    }
)  # fmt: skip


def _by_program() -> dict[str, list[tuple[str, CheckTool]]]:
    table: dict[str, list[tuple[str, CheckTool]]] = {}
    for tool in TOOLS:
        for start in tool.starts:
            name, _, rest = start.partition(" ")
            table.setdefault(name, []).append((rest, tool))
    return table


_PROGRAMS: Final = _by_program()


_NAMES: Final = frozenset(_PROGRAMS) | RUNNER_NAMES | {"python"}


def find_verdict(view: RoundView) -> Verdict:
    """The checks of a round in the order of their last runs, and the five ARES fields."""
    last: dict[tuple[CheckKind, str], str] = {}
    logs: dict[str, CheckTool] = {}
    for run in view.runs:
        if not run.script or run.refused or not run.completed:
            continue
        if not (logs or names_any(run.script, _NAMES) or may_be_script(run.script)):
            continue
        for kind, tool, result in _checks_of(run, logs):
            last.pop((kind, tool), None)
            last[kind, tool] = result
    checks = tuple(Check(kind, tool, result) for (kind, tool), result in last.items())
    return Verdict(
        go_vet=last.get(("vet", "go vet"), ""),
        go_lint=last.get(("lint", "golangci-lint"), ""),
        go_test=last.get(("test", "go test"), ""),
        race_detector=last.get(("race", "go test -race"), ""),
        examples=next((r for (kind, _), r in last.items() if kind == "examples"), ""),
        checks=checks,
    )


def _checks_of(run: ToolRun, logs: dict[str, CheckTool]) -> list[tuple[CheckKind, str, str]]:
    calls = run.calls[:_MAX_CALLS]
    if not _worth_a_look(calls, logs):
        return []
    evidence = _window(run.output)
    if len(evidence) < 2000 and _NOT_RUN.search(evidence):
        return []
    found: list[tuple[CheckKind, str, str, bool]] = []
    for place, call in enumerate(calls):
        found.extend(_judge_call(run, calls, place, call, evidence, logs))
    if len(found) > 1:
        # A build in front of the tests is part of the test run, unless it stopped them.
        found = [f for f in found if not (f[3] and f[2] == "pass" and f[0] == "build")] or found
        # Of one kind the worse result of a call comes last: it is the call's.
        found.sort(key=lambda f: f[2] not in ("pass", "skip"))
    return [(kind, tool, result) for kind, tool, result, _ in found]


def _worth_a_look(calls: Sequence[Invocation], logs: dict[str, CheckTool]) -> bool:
    return any(
        c.name in _PROGRAMS or tasks_of(c.words) is not None or (logs and c.name in _VIEWERS)
        for c in calls
    )


def _judge_call(
    run: ToolRun,
    calls: Sequence[Invocation],
    place: int,
    call: Invocation,
    evidence: str,
    logs: dict[str, CheckTool],
) -> Iterator[tuple[CheckKind, str, str, bool]]:
    code = _own_exit_code(run, calls, place, evidence)
    shown = _shows_everything(calls, place)
    quiet = shown and not evidence.strip()
    leads = any(c.command.joiner == "&&" for c in calls[place + 1 :])
    tools = list(match_tools(call.words))
    for tool in tools:
        for redirect in call.command.redirects:
            if redirect.operator in (">", "&>", ">>", "&>>"):
                logs[redirect.target] = tool
        result = judge(tool, evidence) or _by_exit(tool, code, quiet, run, evidence)
        if result:
            yield tool.kind, tool.name, result, leads
            yield from _also(tool, call.words, result, leads)
    if not tools and (tasks := tasks_of(call.words)) is not None:
        yield from ((*c, leads) for c in _wrapped(tasks, call, code, shown, run, evidence))
    if logs and call.name in _VIEWERS:
        for word in call.words[1:]:
            if (logged := logs.get(word)) and (result := judge(logged, evidence)):
                yield logged.kind, logged.name, result, False


def match_tools(words: Sequence[str]) -> Iterator[CheckTool]:
    """The tools that a command line runs: usually one, `mvn package` tests and builds."""
    name = program_name(words[0])
    name = "python" if name.startswith("python") else name
    if "--version" in words or "--help" in words or "--dry-run" in words:
        return
    if name in _MAKES and (any(w.startswith("-n") for w in words) or tasks_of(words)):
        return
    arguments = [w for w in words[1:] if not w.startswith(("+", "-C"))]
    seen: set[CheckKind] = set()
    for rest, tool in _PROGRAMS.get(name, _NONE) if name != "python" else _python_tools(words):
        if tool.kind in seen or not _matches(rest, arguments):
            continue
        if tool.unless and not set(tool.unless).isdisjoint(words):
            continue
        if tool.needs and set(tool.needs).isdisjoint(words):
            continue
        seen.add(tool.kind)
        yield tool
        if name not in ("mvn", "mvnw", "gradle", "gradlew"):
            return


_MAKES: Final = frozenset({"make", "gmake", "just"})
_NONE: Final[list[tuple[str, CheckTool]]] = []


def _python_tools(words: Sequence[str]) -> list[tuple[str, CheckTool]]:
    script = next((program_name(w) for w in words[1:] if w.endswith(".py")), "")
    return [(rest, tool) for rest, tool in _PROGRAMS.get(script, _NONE)] if script else _NONE


def _matches(rest: str, arguments: Sequence[str]) -> bool:
    if not rest:
        return True
    parts = rest.split(" ")
    if parts[0].startswith("-"):
        return any(
            a == parts[0] or (a.startswith(parts[0]) and len(parts[0]) == 2) for a in arguments
        )
    plain = [a for a in arguments if not a.startswith("-")]
    if plain[: len(parts)] == parts:
        return True
    # Goals, tasks and scripts may stand anywhere: `mvn clean verify`, `python manage.py test`.
    return len(parts) == 1 and parts[0] in plain and parts[0] in _ANYWHERE


_ANYWHERE: Final = frozenset({"test", "verify", "install", "package", "check", "build", "compile"})


def judge(tool: CheckTool, evidence: str) -> str:
    """pass, fail, skip or "N issues" by the tool's own words, or nothing."""
    if not any(needle in evidence for needle in tool.needles):
        return ""
    for rule in tool.rules:
        if rule.outcome == "count":
            last = None
            for last in rule.pattern.finditer(evidence):  # noqa: B007
                pass
            if last is not None:
                return f"{next(g for g in last.groups() if g)} issues"
        elif rule.outcome == "lines":
            if number := sum(1 for _ in rule.pattern.finditer(evidence)):
                return f"{number} issues"
        elif rule.pattern.search(evidence):
            return rule.outcome
    return ""


def _by_exit(tool: CheckTool, code: int | None, quiet: bool, run: ToolRun, evidence: str) -> str:
    if code is not None:
        return "pass" if code == 0 else "fail"
    if tool.silent and quiet:
        return "pass"
    if run.exit_code is None and not run.failed and quiet:
        return "pass" if tool.kind == "build" else ""
    return ""


def _also(
    tool: CheckTool, words: Sequence[str], result: str, leads: bool
) -> Iterator[tuple[CheckKind, str, str, bool]]:
    if tool.name == "go test" and any(w in ("-race", "--race") for w in words):
        yield "race", "go test -race", result, leads
    if tool.kind in ("test", "build") and _runs_examples(words):
        yield "examples", f"{tool.name} examples", result, leads


def _runs_examples(words: Sequence[str]) -> bool:
    for before, word in pairwise(words):
        if before in ("-run", "--run") and word.lstrip("^").startswith("Example"):
            return True
    return any(
        w in ("--examples", "--example")
        or w.lstrip("./").startswith("examples/")
        or w.lstrip("^").startswith("-run=Example")
        for w in words[1:]
    )


def _wrapped(
    tasks: Sequence[str],
    call: Invocation,
    code: int | None,
    shown: bool,
    run: ToolRun,
    evidence: str,
) -> Iterator[tuple[CheckKind, str, str]]:
    """A task runner is what it prints: its tools' summaries, its echoed commands, its name."""
    text = strip_prefixes(call.name, evidence)
    kinds: set[CheckKind] = set()
    echoed = list(_echoed_calls(call, text))
    for words in echoed:
        for tool in match_tools(words):
            result = judge(tool, text)
            if not result and code is not None and (code == 0 or len(echoed) == 1):
                result = "pass" if code == 0 else "fail"
            if not result and tool.silent and not run.failed and not _TROUBLE.search(text):
                result = "pass" if run.exit_code in (0, None) else ""
            if result:
                kinds.add(tool.kind)
                yield tool.kind, tool.name, result
                for kind, name, also, _ in _also(tool, words, result, False):
                    kinds.add(kind)
                    yield kind, name, also
    for tool in _signed(text, kinds):
        if result := judge(tool, text):
            kinds.add(tool.kind)
            yield tool.kind, tool.name, result
    for task in tasks:
        named = named_kind(task)
        if named is None or named in kinds:
            continue
        if result := _by_name(code, shown, run, text):
            kinds.add(named)
            yield named, f"{call.name} {task}".strip(), result


def _by_name(code: int | None, shown: bool, run: ToolRun, text: str) -> str:
    if code is not None:
        return "pass" if code == 0 else "fail"
    if run.failed:
        return ""
    if _TROUBLE.search(text):
        return "fail"
    return "pass" if shown and text.strip() else ""


def _signed(text: str, kinds: Iterable[CheckKind]) -> Iterator[CheckTool]:
    known = frozenset(kinds)
    for tool in TOOLS:
        if tool.kind not in known and tool.name not in _ECHO_ONLY:
            yield tool


# Tools whose output is too plain to be recognised without their command.
_ECHO_ONLY: Final = frozenset(
    {
        "go vet", "go build", "cargo check", "cargo build", "cargo fmt", "mix compile", "isort",
        "yamllint", "staticcheck", "stylelint", "bats", "ktlint", "gradle build", "mvn build",
        "dotnet format", "bun test", "playwright", "sbt", "tox", "nox", "cmake", "cargo clippy",
        "deno test", "flutter analyze", "ava", "gradle", "mix format",
    }
)  # fmt: skip


def _echoed_calls(call: Invocation, text: str) -> Iterator[tuple[str, ...]]:
    lines = [match[1] for match in _ECHOED.finditer(text)]
    if call.name in _MAKES:
        lines += [line for line in text.split("\n", 200)[:200] if _starts_a_tool(line)]
    for line in lines[:50]:
        for inner in invocations(parse_script(line)):
            yield inner.words


def _starts_a_tool(line: str) -> bool:
    word, _, rest = line[:400].partition(" ")
    return bool(rest) and program_name(word) in _PROGRAMS and "=" not in word


def _own_exit_code(
    run: ToolRun, calls: Sequence[Invocation], place: int, evidence: str
) -> int | None:
    """The exit code of the script where it can only be this command's."""
    call = calls[place]
    following = calls[place + 1 :]
    if following and following[0].name == "echo" and any("$?" in w for w in following[0].words):
        return _echoed_code(following[0].words, evidence)
    code = run.exit_code if run.exit_code is not None else (1 if run.failed else None)
    if call.command.piped and "pipefail" not in run.script:
        return None
    rest = [c for c in following if not (call.command.piped and c.command.joiner == "|")]
    if any(c.command.joiner not in ("&&", "|") for c in rest):
        return None
    if code is None:
        # An agent that marks errors and marked none: the script ended well.
        return (
            0 if run.tool == "bash" and not run.failed and not _TROUBLE.search(evidence) else None
        )
    if code == 0:
        return 0
    # A failure is this command's if nothing in front of it could have ended the script.
    before = [c for c in calls[:place] if c.name not in _HARMLESS]
    return None if rest or (before and call.command.joiner == "&&") else code


def _echoed_code(words: Sequence[str], evidence: str) -> int | None:
    line = " ".join(words[1:])
    before = line.split("$?", 1)[0]
    match = re.search(re.escape(before[-40:]) + r"(\d{1,3})\b", evidence)
    return int(match[1]) if match else None


def _shows_everything(calls: Sequence[Invocation], place: int) -> bool:
    if not calls[place].command.piped:
        return True
    for call in calls[place + 1 :]:
        if call.command.joiner not in ("|", "|&"):
            break
        if call.name not in _PAGERS:
            return False
    return True


def _window(output: str) -> str:
    if len(output) <= _HEAD + _TAIL:
        return output
    return f"{output[:_HEAD]}\n{output[-_TAIL:]}"
