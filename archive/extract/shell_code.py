"""Pure. Files that patches and small programs inside a shell script change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .commands import Invocation
from .edit_tools import book
from .ledger import Ledger
from .patches import read_patch, read_unified
from .paths import join
from .scripts import replaced_lines, script_writes, skill_edits
from .shell import Redirect
from .shell_state import Shell


def apply_patch(shell: Shell, call: Invocation) -> None:
    """Book a patch given as a here-document, an argument or a file that the round wrote."""
    text = call.command.here_document or _input(shell, call.command.redirects)
    if not text and call.name == "apply_patch" and len(call.words) > 1:
        text = call.words[1]
    if not text:
        files = [w for w in call.words[1:] if not w.startswith("-") and w != "apply"]
        if any(map(shell.ledger.unshelve, shell.paths(files))):
            return
        known = (shell.ledger.content(p) for p in shell.paths(files))
        text = next((k for k in known if k), "")
    if shell.run.failed and "uccess" not in shell.run.output[:400]:
        return
    if "verification failed" in shell.run.output[:400]:
        return
    changes = read_patch(text) if call.name == "apply_patch" else read_unified(text)
    for change in changes:
        if not shell.ledger.is_scratch(join(shell.directory, change.path)):
            book(change, shell.ledger, shell.directory, shell.run.index)


def _input(shell: Shell, redirects: Sequence[Redirect]) -> str:
    for redirect in redirects:
        if redirect.operator == "<":
            for path in shell.paths([redirect.target]):
                return shell.ledger.content(path) or ""
    return ""


def run_script(shell: Shell, call: Invocation) -> None:
    """Inline code, code on standard input, or a script that the round itself wrote."""
    words = call.words
    code = call.command.here_document
    for option, value in pairwise(words):
        if option in ("-c", "-e", "--eval", "-pe", "-ne"):
            code = value
    if not code:
        name = next((w for w in words[1:] if w.endswith((".py", ".js", ".mjs", ".rb", ".ts"))), "")
        code = shell.ledger.content(join(shell.directory, name)) or "" if name else ""
    apply_code(code, shell.ledger, shell.directory, shell.run.index)


def apply_code(code: str, ledger: Ledger, directory: str, index: int) -> None:
    """Book the files that a small program writes."""
    for function, name, old, new in skill_edits(code):
        path = join(directory, name)
        if function == "create_file":
            ledger.write(path, "", index, new=True)
        elif function == "edit_file_by_replace":
            ledger.replace(path, old, new, index)
        else:
            ledger.edit(path, new.rstrip("\n").count("\n") + 1, 0, index, sure=False)
    writes = list(script_writes(code))
    counts = replaced_lines(code) if len({w.path for w in writes}) == 1 else (0, 0)
    for write in writes:
        path = join(directory, write.path)
        if ledger.is_scratch(path):
            continue
        if write.verb == "delete":
            ledger.delete(path, index)
        elif write.verb in ("move", "copy"):
            act = ledger.move if write.verb == "move" else ledger.copy
            act(path, join(directory, write.target), index)
        elif write.verb == "append":
            ledger.append(path, write.content, index)
        elif write.content is None and any(counts):
            ledger.edit(path, *counts, index, sure=False)
            counts = (0, 0)
        else:
            ledger.write(path, write.content, index)
