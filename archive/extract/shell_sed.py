"""Pure. Files that sed, perl and awk edit in place: a guess at how many lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .commands import Invocation
from .shell_code import run_script
from .shell_state import Shell, has_flag

_SED_TEXT: Final = re.compile(
    r"^\s*(?:\d+|\$|/[^/]*/)?(?:,(?:\d+|\$))?\s*([aic])\\?\s*(.*)", re.DOTALL
)
_BACKUP: Final = re.compile(r"-p?i(\.\w{1,20})$|--in-place=(\.\w{1,20})$")
_SED_DELETE: Final = re.compile(r"^\s*(\d{1,9})?(?:,(\d{1,9}))?\s*d\s*$")


def edit_with_sed(shell: Shell, call: Invocation) -> None:
    """Book a `sed -i`."""
    if not any(w.startswith(("-i", "--in-place")) or has_flag(w, "i") for w in call.words):
        return
    scripts, files = _sed_arguments(call.words)
    added, removed = 0, 0
    for script in scripts:
        plus, minus = _sed_lines(script)
        added, removed = added + plus, removed + minus
    _edit_in_place(shell, call, files, added, removed)


def _edit_in_place(
    shell: Shell, call: Invocation, files: Sequence[str], added: int, removed: int
) -> None:
    backup = next((m[1] or m[2] for w in call.words if (m := _BACKUP.match(w))), "")
    shell.note_globs(files)
    for path in shell.paths(files):
        if backup:
            shell.ledger.copy(path, path + backup, shell.run.index)
        shell.ledger.edit(path, added, removed, shell.run.index, sure=False)


def edit_with_perl(shell: Shell, call: Invocation) -> None:
    """Book a `perl -i` or an awk in place; perl without it may be a script that writes."""
    if call.name == "perl" and not any(has_flag(w, "i") for w in call.words):
        run_script(shell, call)
        return
    if call.name in ("awk", "gawk") and "inplace" not in call.words:
        return
    files = [w for w in call.words[1:] if not w.startswith("-")][1:]
    _edit_in_place(shell, call, files, 1, 1)


def _sed_arguments(words: Sequence[str]) -> tuple[list[str], list[str]]:
    scripts: list[str] = []
    rest: list[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word in ("-e", "--expression", "-f", "--file") and at + 1 < len(words):
            scripts.append(words[at + 1])
            at += 1
        elif word == "-i" and at + 1 < len(words) and words[at + 1] == "":
            at += 1  # BSD: an empty suffix
        elif not word.startswith("-"):
            rest.append(word)
        at += 1
    if not scripts and rest:
        scripts, rest = rest[:1], rest[1:]
    return scripts, rest


def _sed_lines(script: str) -> tuple[int, int]:
    """A guess at the lines that one sed script adds and removes."""
    if match := _SED_TEXT.match(script):
        lines = match[2].count("\n") + match[2].count("\\n") + 1
        return lines, int(match[1] == "c")
    if match := _SED_DELETE.match(script):
        first, last = int(match[1] or 0), int(match[2] or 0)
        return 0, max(1, last - first + 1) if last else 1
    commands = [
        c for c in re.split(r"[;\n]", script[:2000]) if re.match(r"^\s*[\d,$/]*.*s[/|#,@!]", c)
    ]
    number = max(1, len(commands)) if len(commands) < 50 else 1
    breaks = script.count("\\n")
    return number + breaks, number
