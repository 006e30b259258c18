"""Pure. What verification said: the last own run of each tool.

A run counts when the round executed it here: text in an argument, a log that was only shown and
a rejected call are none. The tool's own summary decides, then an exit code that can only be its.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Final

from archive.prefilter import Hinted
from archive.record import Check, Verdict

from .check_match import PROGRAMS, CheckKey, also_ran, checked_by, key_of, match_tools
from .checks import CheckTool, judge, without_failures
from .commands import Invocation, names_any
from .endings import Ending, read_ending
from .runners import RUNNER_NAMES, may_be_script, tasks_of
from .tool_run import ToolRun
from .view import RoundView
from .wrapped import is_test_tool, judge_tasks, judge_test_tool

_Logs = dict[str, CheckTool]

_MAX_CALLS: Final = 200
_MAX_REMEMBERED: Final = 1_000
_HEAD: Final = 65_536
_TAIL: Final = 196_608
_VIEWERS: Final = frozenset({"cat", "tail", "head", "less", "more", "grep", "rg", "sed"})
_NOT_RUN: Final = Hinted(
    "not found|no module named|missing script|is not recognized|no such file|not determine"
    "|no task |unknown command",
    r"command not found|: not found$|No module named (?:'?(?:pytest|ruff|mypy|flake8|pylint|tox|nox"
    r"|unittest)\b)|Missing script:|is not recognized as|Command \"[\w-]+\" not found"
    r"|No such file or directory: '(?:pytest|ruff|mypy)|could not determine executable to run"
    r"|no task .{0,60} found|Unknown command: |\bcd: .{0,300}: No such file or directory"
    r"|(?:No|no) such file or directory: \S*activate|activate: No such file or directory",
    re.MULTILINE,
)


_NAMES: Final = frozenset(PROGRAMS) | RUNNER_NAMES | {"python"}


def find_verdict(view: RoundView) -> Verdict:
    """The checks of a round in the order of their last runs, and the five ARES fields."""
    last = _last_checks(view.runs)
    results = {key: check.result for key, check in last.items()}
    return Verdict(
        go_vet=results.get(("vet", "go vet"), ""),
        go_lint=results.get(("lint", "golangci-lint"), ""),
        go_test=results.get(("test", "go test"), ""),
        race_detector=results.get(("race", "go test -race"), ""),
        examples=next((c.result for c in last.values() if c.kind == "examples"), ""),
        checks=tuple(last.values()),
    )


def _last_checks(runs: Sequence[ToolRun]) -> dict[CheckKey, Check]:
    """What the last run of each check said, in the order of these runs.

    Agents run the same tests many times: a run whose checks all ran again later is not read.
    """
    last: dict[CheckKey, Check] = {}
    by_run: list[dict[CheckKey, Check]] = []
    for run, logs in reversed(_candidates(runs)):
        if last and _ran_again(run, logs, last):
            continue
        found: dict[CheckKey, Check] = {}
        for check in _checks_of(run, dict(logs)):
            key = key_of(check)
            found.pop(key, None)
            if key not in last:
                found[key] = check
        last |= found
        by_run.append(found)
    return {key: check for found in reversed(by_run) for key, check in found.items()}


def _candidates(runs: Sequence[ToolRun]) -> list[tuple[ToolRun, _Logs]]:
    """The runs that may hold checks, each with the files that earlier checks wrote to."""
    found: list[tuple[ToolRun, _Logs]] = []
    logs: _Logs = {}
    for run in runs:
        if run.refused or not run.completed:
            continue
        if not run.script:
            if is_test_tool(run.tool):
                found.append((run, logs))
            continue
        if not (logs or _may_check(run.script)):
            continue
        calls = run.calls[:_MAX_CALLS]
        if _worth_a_look(calls, logs):
            found.append((run, logs))
            for call in calls:
                if written := _written(call, match_tools(call.words)):
                    logs = logs | written
    return found


def _names_check(script: str) -> bool:
    return names_any(script, _NAMES) or may_be_script(script)


_remembered: Final = lru_cache(maxsize=2_000)(_names_check)


def _may_check(script: str) -> bool:
    """Whether a script may call a check at all: a cheap look before it is parsed."""
    return _remembered(script) if len(script) <= _MAX_REMEMBERED else _names_check(script)


def _written(call: Invocation, tools: Sequence[CheckTool]) -> _Logs:
    """The files that a check's output went to."""
    return {
        redirect.target: tool
        for redirect in call.command.redirects
        if redirect.operator in (">", "&>", ">>", "&>>")
        for tool in tools
    }


def _ran_again(run: ToolRun, logs: _Logs, last: Container[CheckKey]) -> bool:
    """Whether all that a run can have checked is known from later runs."""
    if not run.script:
        return False
    for call in run.calls[:_MAX_CALLS]:
        if logs and call.name in _VIEWERS:
            return False
        keys = checked_by(call.words)
        if keys is None or not all(key in last for key in keys):
            return False
    return True


def _checks_of(run: ToolRun, logs: _Logs) -> list[Check]:
    if not run.script:
        return list(judge_test_tool(run))
    calls = run.calls[:_MAX_CALLS]
    evidence = _window(run.output)
    if len(evidence) < 2000 and _NOT_RUN.search(evidence):
        return [check for call in calls for check in _judge_stopped(call, evidence)]
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


def _worth_a_look(calls: Sequence[Invocation], logs: _Logs) -> bool:
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
    logs: _Logs,
    *,
    alone: bool,
) -> Iterator[Check]:
    call = run.calls[place]
    tools = match_tools(call.words)
    logs |= _written(call, tools)
    for tool in tools:
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
