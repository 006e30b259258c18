"""Pure. Files that a shell script changes: redirections, tee, rm, mv, cp and what edits files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from .commands import Invocation, names_any
from .contents import MAX_CHARACTERS
from .ledger import Ledger
from .paths import Roots
from .shell import parse_script
from .shell_code import apply_patch, run_script
from .shell_git import GIT_VERBS, edit_with_git
from .shell_powershell import NAMES as POWERSHELL_NAMES
from .shell_powershell import POWERSHELL
from .shell_sed import edit_with_perl, edit_with_sed
from .shell_state import Shell, has_flag, plain_words
from .shell_tools import NAMES as TOOL_NAMES
from .shell_tools import edit_by_command, edit_with_tool
from .tool_run import ToolRun

_WRITES: Final = frozenset({">", ">|", "&>", ">>", "&>>"})
_INTERPRETERS: Final = ("python", "node", "ruby", "bun", "deno", "tsx")
_PIPED_WRITERS: Final = frozenset({"tee", "sponge"})
_NEVER_FAIL: Final = frozenset({"echo", "printf", "cat"})
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")
_PLACE: Final = re.compile(r"%[-0-9.]*[sdibq]")
_MAX_JOINED: Final = 100  # files of one `cat`
_ESCAPED_BREAK: Final = re.compile(r"\\n")


def apply_shell(run: ToolRun, ledger: Ledger, roots: Roots) -> None:
    """Book what the commands of a shell run did to files."""
    if run.refused or not run.completed:
        return
    listed = ledger.emptied or ledger.globs  # by what git says of them, whatever it is asked
    if not (listed or _could_change(run.script)):
        return
    if not any(_may_change(call) for call in run.calls):
        return
    start = run.directory if run.directory.startswith("/") else roots.directory
    _book(Shell(run, ledger, start))


def _could_change(script: str) -> bool:
    """A cheap look before a script is parsed: most only read, and redirect their errors."""
    if ">" in script and ">" in script.replace("2>&1", "").replace("2>/dev/null", ""):
        return True
    return names_any(script, _NAMES) or ("sed" in script and _IN_PLACE.search(script) is not None)


def _may_change(call: Invocation) -> bool:
    return (
        call.name in _HANDLERS
        or call.name in _PIPED_WRITERS
        or bool(call.command.redirects)
        or call.name.startswith(_INTERPRETERS)
    )


def _book(shell: Shell) -> None:
    calls = shell.run.calls
    if "=" in shell.run.script and "$" in shell.run.script:
        for command in parse_script(shell.run.script):
            if all(_ASSIGNED.match(word) for word in command.words):
                shell.assign(command.words)
    for place, call in enumerate(calls):
        words = call.words
        shell.stand_in(call.command.group)
        if call.name == "cd" or call.name == "pushd":
            shell.enter(words)
            continue
        if words[0] == "for" and len(words) > 3 and words[2] == "in":
            shell.loop(words[1], words[3:])
            continue
        if not _succeeded(shell, call, place, len(calls)):
            continue
        _redirections(shell, call)
        handler = _HANDLERS.get(call.name)
        if call.name in _PIPED_WRITERS:
            before = calls[place - 1] if place and call.command.joiner == "|" else None
            _write_piped(shell, call, before)
        elif handler is not None:
            handler(shell, call)
        elif call.name.startswith(_INTERPRETERS):
            run_script(shell, call)


def _succeeded(shell: Shell, call: Invocation, place: int, number: int) -> bool:
    """Whether the command did its work, as far as the run's end and output tell."""
    run = shell.run
    if f"{call.name}: " in shell.head and re.search(
        rf"^(?:/?[\w/.-]*: (?:line )?\d+: )?{re.escape(call.name)}: (?!warning)",
        shell.head,
        re.MULTILINE,
    ):
        return False
    if not run.failed or place < number - 1:
        return True
    if call.name in _NEVER_FAIL:
        return call.command.joiner != "&&"  # what stands in front of it failed
    if call.name.startswith("python"):
        return "Traceback (most recent call last)" not in shell.head
    return bool(call.command.redirects) or call.name.startswith("node")


def _redirections(shell: Shell, call: Invocation) -> None:
    for redirect in call.command.redirects:
        if redirect.operator not in _WRITES or redirect.target in ("", "-"):
            continue
        for path in shell.paths([redirect.target]):
            if call.name == "git" and f"HEAD:{redirect.target}" in call.words:
                shell.ledger.restore(path, shell.run.index)
                continue
            content = _printed(shell, call)
            if redirect.operator in (">>", "&>>"):
                shell.ledger.append(path, content, shell.run.index)
            else:
                shell.ledger.write(path, content, shell.run.index)


def _printed(shell: Shell, call: Invocation) -> str | None:
    """What a command prints, where the script itself says it."""
    command = call.command
    if call.name == "cat":
        if body := command.here_document:
            return body
        files = plain_words(call.words)
        parts = [shell.ledger.content(path) for path in shell.paths(files[:_MAX_JOINED])]
        known = [part for part in parts if part]
        if not files or len(known) < len(files) or sum(map(len, known)) > MAX_CHARACTERS:
            return None
        return "".join(known)
    if call.name == "echo":
        words = [w for w in call.words[1:] if w not in ("-e", "-n", "-ne", "-en", "-E")]
        text = " ".join(words)
        if "-e" in call.words or "-ne" in call.words or "-en" in call.words:
            text = _ESCAPED_BREAK.sub("\n", text)
        return text + ("" if "-n" in call.words else "\n")
    if call.name == "printf" and len(call.words) > 1:
        return _formatted(_ESCAPED_BREAK.sub("\n", call.words[1]), call.words[2:])
    if call.name == "tee" and (body := command.here_document):
        return body
    return None


def _formatted(form: str, values: Sequence[str]) -> str | None:
    """What printf makes of a format and values: the format again while there are any."""
    places = len(_PLACE.findall(form))
    if not places or not values:
        return form
    rounds = -(-len(values) // places)
    if rounds * len(form) > MAX_CHARACTERS:
        return None
    left = iter(values)
    return "".join(_PLACE.sub(lambda _: next(left, ""), form) for _ in range(rounds))


def _write_piped(shell: Shell, call: Invocation, before: Invocation | None) -> None:
    """`tee` and its like, with what the command in front of the pipe prints."""
    content = call.command.here_document or None
    if content is None and before is not None:
        content = _printed(shell, before)
    for path in shell.paths(plain_words(call.words)):
        if "-a" in call.words:
            shell.ledger.append(path, content, shell.run.index)
        else:
            shell.ledger.write(path, content, shell.run.index)


def _remove(shell: Shell, call: Invocation) -> None:
    words = plain_words(call.words)
    shell.note_globs(words)
    recursive = any(has_flag(w, "r") or has_flag(w, "R") for w in call.words)
    for path in shell.paths(words):
        shell.ledger.delete(f"{path}/" if recursive else path, shell.run.index)


def _move(shell: Shell, call: Invocation) -> None:
    words = plain_words(call.words)
    shell.transfer(words, shell.ledger.move)


def _copy(shell: Shell, call: Invocation) -> None:
    recursive = any(
        has_flag(w, "r") or has_flag(w, "R") or w == "--recursive" or has_flag(w, "a")
        for w in call.words
    )
    words = plain_words(call.words)
    if not recursive:
        shell.transfer(words, shell.ledger.copy)


def _edit_by_script(shell: Shell, call: Invocation) -> None:
    """A line editor that reads its commands from elsewhere."""
    files = [w for w in call.words[1:] if not w.startswith(("-", "+", "%"))]
    for path in shell.paths(files[-1:]):
        shell.ledger.edit(path, 1, 1, shell.run.index, sure=False)


def _touch(shell: Shell, call: Invocation) -> None:
    for path in shell.paths(plain_words(call.words)):
        if path not in shell.ledger.entries:
            shell.ledger.write(path, "", shell.run.index)


def _download(shell: Shell, call: Invocation) -> None:
    for option, target in pairwise(call.words):
        if option in ("-o", "-O", "--output", "--output-document") and target != "-":
            for path in shell.paths([target]):
                shell.ledger.write(path, None, shell.run.index)


_HANDLERS: Final[dict[str, Callable[[Shell, Invocation], None]]] = {
    "rm": _remove, "unlink": _remove, "trash": _remove, "mv": _move, "cp": _copy,
    "del": _remove, "erase": _remove, "move": _move, "ren": _move, "copy": _copy,
    "str_replace_editor": edit_by_command, "edit_anthropic": edit_by_command,
    **dict.fromkeys(TOOL_NAMES, edit_with_tool), **POWERSHELL,
    "ed": _edit_by_script, "ex": _edit_by_script,
    "install": _copy, "touch": _touch, "truncate": _touch, "curl": _download, "wget": _download,
    "sed": edit_with_sed, "gsed": edit_with_sed, "perl": edit_with_perl, "awk": edit_with_perl,
    "gawk": edit_with_perl, "patch": apply_patch, "apply_patch": apply_patch, "git": edit_with_git,
}  # fmt: skip
# Most calls of git, sed and awk only look: what counts is a verb, or an option, that doesn't.
_NAMES: Final = (
    (frozenset(_HANDLERS) - {"git", "sed", "gsed", "awk", "gawk"} | GIT_VERBS | {"inplace"})
    | frozenset(_INTERPRETERS) | _PIPED_WRITERS | POWERSHELL_NAMES
)  # fmt: skip
_IN_PLACE: Final = re.compile(r"-[-\w]{0,3}i")
