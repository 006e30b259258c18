"""Pure. How one command of a script ended, where the script runs several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .commands import Invocation
from .tool_run import ToolRun

_PAGERS: Final = frozenset({"tail", "head", "cat", "tee", "less", "more", "sort", "uniq", "tr"})
_TROUBLE: Final = re.compile(
    r"\bERROR\b|^(?:error|fatal)\b|\bFAIL(?:ED|URE)?\b|ELIFECYCLE|Traceback \(|\*\*\* \[.*Error \d"
    r"|[Cc]ommand failed|exited with code [1-9]|npm (?:ERR!|error)|\btask failed",
    re.MULTILINE,
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

    `shown` says that nothing behind a pipe took from its output; `leads`, that another command
    runs only if it succeeded.
    """

    code: int | None
    shown: bool
    leads: bool

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
    return Ending(_own_code(run, place, evidence), _is_shown(calls, place), leads)


def sounds_bad(output: str) -> bool:
    """Whether an output speaks of a failure in the words that all tools use."""
    return any(word in output for word in _TROUBLED) and _TROUBLE.search(output) is not None


def _own_code(run: ToolRun, place: int, evidence: str) -> int | None:
    calls, call = run.calls, run.calls[place]
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
        return 0 if run.tool == "bash" and not sounds_bad(evidence) else None
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


def _is_shown(calls: Sequence[Invocation], place: int) -> bool:
    if not calls[place].command.piped:
        return True
    for call in calls[place + 1 :]:
        if call.command.joiner not in ("|", "|&"):
            break
        if call.name not in _PAGERS:
            return False
    return True
