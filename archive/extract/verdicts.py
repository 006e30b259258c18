"""Pure. What verification said: the last own run of each tool.

A run counts when the round executed it here: text in an argument, a log that was only shown and
a rejected call are none. The tool's own summary decides, then an exit code that can only be its.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from archive.record import Check, CheckKind, Verdict

from .check_match import PROGRAMS, also_ran, match_tools
from .checks import CheckTool, judge, without_failures
from .commands import Invocation, names_any
from .endings import Ending, read_ending
from .runners import RUNNER_NAMES, may_be_script, tasks_of
from .tool_run import ToolRun
from .view import RoundView
from .wrapped import judge_tasks

_MAX_CALLS: Final = 200
_HEAD: Final = 65_536
_TAIL: Final = 196_608
_VIEWERS: Final = frozenset({"cat", "tail", "head", "less", "more", "grep", "rg", "sed"})
_NOT_RUN: Final = re.compile(
    r"command not found|: not found$|No module named (?:'?(?:pytest|ruff|mypy|flake8|pylint|tox|nox"
    r"|unittest)\b)|Missing script:|is not recognized as|Command \"[\w-]+\" not found"
    r"|No such file or directory: '(?:pytest|ruff|mypy)|could not determine executable to run"
    r"|no task .{0,60} found|Unknown command: ",
    re.MULTILINE,
)


_NAMES: Final = frozenset(PROGRAMS) | RUNNER_NAMES | {"python"}


def find_verdict(view: RoundView) -> Verdict:
    """The checks of a round in the order of their last runs, and the five ARES fields."""
    last: dict[tuple[CheckKind, str], Check] = {}
    logs: dict[str, CheckTool] = {}
    for run in view.runs:
        if not run.script or run.refused or not run.completed:
            continue
        if not (logs or names_any(run.script, _NAMES) or may_be_script(run.script)):
            continue
        for check in _checks_of(run, logs):
            last.pop((check.kind, check.tool), None)
            last[check.kind, check.tool] = check
    results = {key: check.result for key, check in last.items()}
    return Verdict(
        go_vet=results.get(("vet", "go vet"), ""),
        go_lint=results.get(("lint", "golangci-lint"), ""),
        go_test=results.get(("test", "go test"), ""),
        race_detector=results.get(("race", "go test -race"), ""),
        examples=next((c.result for c in last.values() if c.kind == "examples"), ""),
        checks=tuple(last.values()),
    )


def _checks_of(run: ToolRun, logs: dict[str, CheckTool]) -> list[Check]:
    calls = run.calls[:_MAX_CALLS]
    if not _worth_a_look(calls, logs):
        return []
    evidence = _window(run.output)
    if len(evidence) < 2000 and _NOT_RUN.search(evidence):
        return []
    found: list[Check] = []
    led: list[Check] = []
    rest, stopped = evidence, False
    alone = sum(_is_check(call) for call in calls) == 1
    for place, call in enumerate(calls):
        if call.command.joiner != "&&":
            rest, stopped = evidence, False
        ending = read_ending(run, place, evidence)
        if stopped:
            checks = list(_judge_stopped(call, rest))
        else:
            checks = list(_judge_call(run, place, ending, evidence, logs, alone=alone))
            if not checks and ending.leads and not call.command.piped:
                checks = list(_led_on(calls, place, evidence))
        if not call.command.piped and any(c.result not in ("pass", "skip") for c in checks):
            for tool in match_tools(call.words):
                rest, stopped = without_failures(tool, rest), True
        for check in checks:
            # A build in front of the tests is part of the test run, unless it stopped them.
            passed_on = ending.leads and check.kind == "build" and check.result == "pass"
            (led if passed_on else found).append(check)
    # Of one kind the worse result of a call comes last: it is the call's.
    return sorted(found or led, key=lambda check: check.result not in ("pass", "skip"))


def _worth_a_look(calls: Sequence[Invocation], logs: dict[str, CheckTool]) -> bool:
    return any(
        c.name in PROGRAMS or tasks_of(c.words) is not None or (logs and c.name in _VIEWERS)
        for c in calls
    )


def _is_check(call: Invocation) -> bool:
    return bool(match_tools(call.words)) or tasks_of(call.words) is not None


def _led_on(calls: Sequence[Invocation], place: int, evidence: str) -> Iterator[Check]:
    """A silent check succeeded if what stands behind its `&&` has something to say."""
    following = calls[place + 1]
    if following.command.joiner == "&&" and any(
        judge(tool, evidence) for tool in match_tools(following.words)
    ):
        for tool in match_tools(calls[place].words):
            if tool.silent:
                yield Check(tool.kind, tool.name, "pass")


def _judge_call(
    run: ToolRun,
    place: int,
    ending: Ending,
    evidence: str,
    logs: dict[str, CheckTool],
    *,
    alone: bool,
) -> Iterator[Check]:
    call = run.calls[place]
    tools = match_tools(call.words)
    for tool in tools:
        for redirect in call.command.redirects:
            if redirect.operator in (">", "&>", ">>", "&>>"):
                logs[redirect.target] = tool
        result = judge(tool, evidence, own=alone, whole=ending.shown)
        if result := result or _by_exit(tool, ending, run, evidence):
            yield Check(tool.kind, tool.name, result)
            yield from also_ran(tool, call.words, result)
    if not tools and (tasks := tasks_of(call.words)) is not None:
        yield from judge_tasks(tasks, call, ending, run, evidence)
    if logs and call.name in _VIEWERS:
        for word in call.words[1:]:
            if (logged := logs.get(word)) and (result := judge(logged, evidence, own=True)):
                yield Check(logged.kind, logged.name, result)


def _judge_stopped(call: Invocation, rest: str) -> Iterator[Check]:
    """A check behind one that failed did not run, unless it says something of its own."""
    for tool in match_tools(call.words):
        if result := judge(tool, rest):
            yield Check(tool.kind, tool.name, result)


def _by_exit(tool: CheckTool, ending: Ending, run: ToolRun, evidence: str) -> str:
    if ending.code is not None:
        return ending.verdict
    if tool.silent and (number := _counted(run, evidence)):
        return "pass" if number == "0" else "fail"
    quiet = ending.calm or (ending.shown and not evidence.strip())
    if quiet and (tool.silent or (tool.kind == "build" and not run.failed)):
        return "pass"
    return ""


def _counted(run: ToolRun, evidence: str) -> str:
    """The number to which `| wc -l` or `| grep -c error` cut an output down."""
    words = run.calls[-1].words
    if run.calls[-1].name == "wc" or (run.calls[-1].name in ("grep", "rg") and "-c" in words):
        return evidence.strip() if evidence.strip().isdecimal() else ""
    return ""


def _window(output: str) -> str:
    if len(output) <= _HEAD + _TAIL:
        return output
    return f"{output[:_HEAD]}\n{output[-_TAIL:]}"
