"""Pure. What a task runner ran, by its tools' summaries, its echoed commands and its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from archive.prefilter import Index
from archive.record import Check, CheckKind

from .check_match import MAKES, PROGRAMS, also_ran, match_tools
from .checks import TOOLS, CheckTool, judge
from .commands import Invocation, calls_of, program_name
from .endings import Ending, sounds_bad
from .runners import named_kind, strip_prefixes
from .sessions import SESSION_RUNNERS, session_results
from .tool_run import ToolRun

_ECHOED: Final = re.compile(
    r"^(?:\[[\w:.-]{1,40}\] )?(?:\$|>|\+|nox >(?! (?:Command|Session|Running|Creating|\*))"
    r"|[\w.-]{1,30}: commands\[\d+\]>|task: \[[\w:.-]{1,40}\]) ?(\S[^\n]{1,400})$",
    re.MULTILINE,
)
_TEST_TOOL: Final = re.compile(
    r"(?:run|execute)_?(?:unit_?|all_?)?tests?|test_(?:sim|macos|device)(?:_\w{1,20})?"
)
_PASSED: Final = re.compile(r"\bpassed[\"']?\s?[=:]\s?[\"']?(\d{1,9})", re.IGNORECASE)
_FAILED: Final = re.compile(r"\bfail(?:ed|ures)[\"']?\s?[=:]\s?[\"']?(\d{1,9})", re.IGNORECASE)
# Runners that stop at the first of their commands that fails.
_IN_TURN: Final = frozenset({"npm", "pnpm", "yarn", "bun", "composer", "make", "gmake", "just"})
# A task that its name calls one of these, though it is the other that it runs.
_TWINS: Final[dict[CheckKind, CheckKind]] = {"lint": "vet", "vet": "lint"}
_TESTED: Final = ("py", "test", "cov", "3.", "django")
_GOOD: Final = re.compile(
    r"\b(?:pass(?:ed|ing|es)?|ok|success\w*|succeeded|clean|done|built|complete[d]?|finished"
    r"|0 (?:errors|failures|failed|issues|problems|warnings)"
    r"|no (?:errors|failures|issues|problems|warnings)|up[- ]to[- ]date)\b|[✓✔]",
    re.IGNORECASE,
)
# Tools whose output is too plain to be recognised without their command.
_ECHO_ONLY: Final = frozenset(
    {
        "go vet", "go build", "cargo check", "cargo build", "cargo fmt", "mix compile", "isort",
        "yamllint", "staticcheck", "stylelint", "bats", "ktlint", "gradle build", "mvn build",
        "dotnet format", "bun test", "playwright", "sbt", "gofmt", "cmake", "cargo clippy",
        "deno test", "flutter analyze", "ava", "gradle", "mix format", "zig test", "zig build",
        "swift build", "sbt build", "deno check", "mvn lint", "doctest",
    }
)  # fmt: skip

_OUTSPOKEN: Final = Index(
    (tool for tool in TOOLS if tool.name not in _ECHO_ONLY), lambda tool: tool.needles
)


def judge_tasks(
    tasks: Sequence[str], call: Invocation, ending: Ending, run: ToolRun, evidence: str
) -> Iterator[Check]:
    """A task runner is what it prints: its tools' summaries, its echoed commands, its name."""
    text = strip_prefixes(call.name, evidence)
    kinds: set[CheckKind] = set()
    for check in _by_echo(call, ending, run, text):
        kinds.add(check.kind)
        yield check
    echoed = bool(kinds)
    for check in _by_summary(text, frozenset(kinds)):
        kinds.add(check.kind)
        yield check
    if call.name in SESSION_RUNNERS:
        for check in _by_session(tasks, call.name, text, frozenset(kinds)):
            kinds.add(check.kind)
            yield check
    for task in tasks:
        kind = named_kind(task)
        if kind is None or kind in kinds or (echoed and _TWINS.get(kind) in kinds):
            continue
        if result := _by_name(ending, run, text):
            kinds.add(kind)
            yield Check(kind, f"{call.name} {task}".strip(), result)


def is_test_tool(tool: str) -> bool:
    """Whether an agent's tool, no command, runs tests: `runTests`, `test_sim`."""
    return _TEST_TOOL.fullmatch(tool) is not None


def judge_test_tool(run: ToolRun) -> Iterator[Check]:
    """What such a tool counted, else what the test tool behind it printed."""
    passed, failed = _PASSED.search(run.output), _FAILED.search(run.output)
    if passed or failed:
        good = failed is None or int(failed[1]) == 0
        some = passed is not None and int(passed[1]) > 0
        yield Check("test", run.tool, "fail" if not good else "pass" if some else "skip")
    else:
        for check in _by_summary(run.output[-200_000:], frozenset()):
            if check.kind == "test":
                yield check


def _by_echo(call: Invocation, ending: Ending, run: ToolRun, text: str) -> Iterator[Check]:
    echoed = list(_echoed_calls(call, text))
    ran = [(words, tool) for words in echoed for tool in match_tools(words)]
    results = [_of_echoed(tool, ending, run, text, alone=len(echoed) == 1) for _, tool in ran]
    for place, (words, tool) in enumerate(ran):
        result = results[place]
        if not result and tool.silent and call.name in _IN_TURN and any(results[place + 1 :]):
            result = "pass"  # what comes after it ran
        if result:
            yield Check(tool.kind, tool.name, result)
            yield from also_ran(tool, words, result)


def _of_echoed(tool: CheckTool, ending: Ending, run: ToolRun, text: str, *, alone: bool) -> str:
    result = judge(tool, text, own=alone, whole=ending.shown)
    if not result and (ending.code == 0 or alone):
        result = ending.verdict
    quiet = tool.silent and ending.shown and not run.failed
    if not result and quiet and not sounds_bad(text):
        result = "pass"
    return result


def _by_summary(text: str, known: frozenset[CheckKind]) -> Iterator[Check]:
    for tool in _OUTSPOKEN.named_in(text):
        if tool.kind not in known and (result := judge(tool, text)):
            yield Check(tool.kind, tool.name, result)


def _by_session(
    tasks: Sequence[str], name: str, text: str, known: frozenset[CheckKind]
) -> Iterator[Check]:
    """The worst end of the environments of each kind that nothing else told about."""
    worst: dict[CheckKind, str] = {}
    for session, result in session_results(tasks, text).items():
        kind = named_kind(session) or ("test" if session.startswith(_TESTED) else None)
        if kind is not None and kind not in known and worst.get(kind) != "fail":
            worst[kind] = result
    for kind, result in worst.items():
        yield Check(kind, name, result)


def _by_name(ending: Ending, run: ToolRun, text: str) -> str:
    if ending.code is not None:
        return ending.verdict
    if run.failed:
        return ""
    if ending.calm:
        return "pass"
    if sounds_bad(text):
        return "fail"
    said = _ECHOED.sub("", text).strip()
    good = said and _GOOD.search(said) if said or not text.strip() else text
    return "pass" if ending.shown and good else ""


def _echoed_calls(call: Invocation, text: str) -> Iterator[tuple[str, ...]]:
    lines = [match[1] for match in _ECHOED.finditer(text)]
    if call.name in MAKES:
        lines += [line for line in text.split("\n", 200)[:200] if _starts_a_tool(line)]
    for line in lines[:50]:
        for inner in calls_of(line):
            yield inner.words


def _starts_a_tool(line: str) -> bool:
    word, _, rest = line[:400].partition(" ")
    return bool(rest) and program_name(word) in PROGRAMS and "=" not in word
