"""Pure. How one command of a script ended, where the script runs several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from archive.prefilter import has_any

from .commands import Invocation
from .tool_run import ToolRun

_PAGERS: Final = frozenset({"tail", "cat", "tee", "less", "more", "sort", "uniq", "tr"})
_HEAD_LINES: Final = 10
_CALM: Final = -(10**9)  # no exit code of any system
_NEGATED: Final = frozenset({"-v", "-c", "-q", "-l", "-L", "-vE", "-Ev", "--count", "--quiet"})
_TO_FILE: Final = frozenset({">", ">>", "&>", "&>>", ">|"})
_TROUBLE: Final = re.compile(
    r"E(?<!\wE)RROR\b|F(?<!\wF)AIL(?:ED|URE)?\b|ELIFECYCLE|Traceback \(|\*\*\* \[.*Error \d"
    r"|Command failed|command failed|exited with code [1-9]|npm (?:ERR!|error)"
    r"|t(?<!\wt)ask failed|error(?<!.error)\b|fatal(?<!.fatal)\b"
)
_TROUBLED: Final = (
    "ERROR", "error", "fatal", "FAIL", "ELIFECYCLE", "Traceback (", "*** [", "ommand failed",
    "exited with", "npm ERR!", "task failed",
)  # fmt: skip
# What may stand in front of a check and cannot be why the script failed.
_HARMLESS: Final = frozenset(
    {
        "cd", "export", "source", ".", "set", "echo", "mkdir", "pwd", "clear", "true", "eval",
        "nvm", "pushd", "sleep", "printf", "touch", "unset", "ulimit", "date", "ls", "cat",
        "which", "shopt",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ending:
    """`code` is the command's own exit code, None where it may be another command's.

    `calm` says that no code is written, yet none is missed: the agent's tool marks what fails.
    `shown` says that the end of its output is there to be read; `leads`, that another command
    runs only if it succeeded.
    """

    code: int | None
    shown: bool
    leads: bool
    calm: bool = False

    @property
    def verdict(self) -> str:
        """pass or fail by the exit code, or nothing."""
        if self.code is None:
            return ""
        return "pass" if self.code == 0 else "fail"


def read_ending(run: ToolRun, place: int, evidence: str) -> Ending:
    """How the command at `place` of a run's calls ended."""
    calls = run.calls
    leads = any(c.command.joiner == "&&" for c in calls[place + 1 :])
    code = _own_code(run, place, evidence)
    calm = code == _CALM
    return Ending(None if calm else code, _is_shown(calls, place, evidence), leads, calm)


def sounds_bad(output: str) -> bool:
    """Whether an output speaks of a failure in the words that all tools use."""
    return has_any(output, _TROUBLED) and _TROUBLE.search(output) is not None


def _own_code(run: ToolRun, place: int, evidence: str) -> int | None:
    calls, call = run.calls, run.calls[place]
    following = calls[place + 1 :]
    if following and following[0].name == "echo" and any("$?" in w for w in following[0].words):
        return _echoed_code(following[0].words, evidence)
    if not call.command.piped and (said := _told_by_echo(following, evidence)) is not None:
        return said
    code = run.exit_code if run.exit_code is not None else (1 if run.failed else None)
    if call.command.piped and "pipefail" not in run.script:
        return None
    rest = [c for c in following if not (call.command.piped and c.command.joiner == "|")]
    if any(c.command.joiner not in ("&&", "|") for c in rest):
        return None
    if code is None:
        # An agent that marks errors and marked none: the script ended well.
        return _CALM if run.tool == "bash" and not sounds_bad(evidence) else None
    if code == 0:
        return 0
    # A failure is this command's if nothing in front of it could have ended the script.
    before = [c for c in calls[:place] if c.name not in _HARMLESS]
    return None if rest or (before and call.command.joiner == "&&") else code


def _echoed_code(words: Sequence[str], evidence: str) -> int | None:
    """The code that `echo "exit $?"` behind the command printed."""
    before = " ".join(words[1:]).split("$?", 1)[0]
    match = re.search(re.escape(before[-40:]) + r"(\d{1,3})\b", evidence)
    return int(match[1]) if match else None


def _told_by_echo(following: Sequence[Invocation], evidence: str) -> int | None:
    """0 or 1 by what `&& echo OK` or `|| echo BAD` behind the command printed or did not."""
    lines: list[str] = []
    for call in following[:2]:
        if call.name != "echo" or call.command.joiner not in ("&&", "||"):
            break
        words = " ".join(w for w in call.words[1:] if w not in ("-e", "-n")).strip()
        if not words or "$" in words or "`" in words or call.command.redirects:
            break
        lines = lines or [line.strip() for line in evidence.rstrip().split("\n")[-50:]]
        if words in lines:
            return 0 if call.command.joiner == "&&" else 1
        if call.command.joiner == "||" and call is following[-1]:
            return 0
    return None


def _is_shown(calls: Sequence[Invocation], place: int, evidence: str) -> bool:
    command = calls[place].command
    if any(r.operator in _TO_FILE and r.target != "/dev/null" for r in command.redirects):
        return False
    if not command.piped:
        return True
    for call in calls[place + 1 :]:
        if call.command.joiner not in ("|", "|&"):
            break
        if call.name == "head":
            if evidence.count("\n") + 1 >= _lines_of(call.words):
                return False
        elif call.name not in _PAGERS and not _lets_failures_through(call):
            return False
    return True


def _lets_failures_through(call: Invocation) -> bool:
    """Whether a filter keeps the lines that speak of failures: without one there was none."""
    if call.name not in ("grep", "egrep", "rg") or not _NEGATED.isdisjoint(call.words):
        return False
    wanted = " ".join(call.words[1:]).lower()
    return "error" in wanted or "fail" in wanted


def _lines_of(words: Sequence[str]) -> int:
    """How many lines a `head` lets through."""
    number = next((w.lstrip("-n") for w in words[1:] if w.lstrip("-n").isdecimal()), "")
    return int(number[:6]) if number else _HEAD_LINES
