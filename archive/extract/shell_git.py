"""Pure. Files that git removes, moves, restores and applies patches to."""

from __future__ import annotations

import re
from fnmatch import translate
from itertools import islice
from typing import Final

from .balance import folders_of
from .commands import Invocation
from .paths import join
from .shell_code import apply_patch
from .shell_state import Shell, has_flag

_GIT_REMOVED: Final = re.compile(r"^rm '([^'\n]+)'$", re.MULTILINE)
_GIT_CLEANED: Final = re.compile(r"^Removing (.+)$", re.MULTILINE)
_GIT_LISTED: Final = re.compile(
    r"^(?:D  | D |D\t| delete mode \d{6} )(.+)$|^(?:R  |R\d{3}\t)(.+?)(?: -> |\t)(.+)$"
    r"|^ rename (?:([^{\n]{0,400})\{([^{}\n]{0,200}?) => ([^{}\n]{0,200})\}([^(\n]{0,400}?)"
    r"|(\S+) => (\S+)) \(\d+%\)$",
    re.MULTILINE,
)
_GIT_CHANGED: Final = re.compile(
    r"^([MD ][MD ]?)[ \t](\S.*)$|^ (\S.{0,300}?) +\| +\d+ ([+-]*)$", re.MULTILINE
)
_MAX_CHANGES: Final = 2000
_LISTING: Final = frozenset({"status", "commit", "diff", "show", "log"})

GIT_VERBS: Final = frozenset(
    {"rm", "clean", "mv", "apply", "checkout", "restore", "stash", "reset", "commit"}
)
"""Verbs that change the work tree or end what can be restored, redirections apart."""


def edit_with_git(shell: Shell, call: Invocation) -> None:
    """Book what a git command did to the files of the work tree."""
    words, here = list(call.words[1:]), shell.directory
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            shell.directory = join(shell.directory, words[1])
        words = words[2:] if words[0] in ("-C", "-c") else words[1:]
    if words:
        _git_command(shell, words[0], words[1:], call)
    shell.directory = here


def _git_command(shell: Shell, verb: str, words: list[str], call: Invocation) -> None:
    ledger, index = shell.ledger, shell.run.index
    plain = [w for w in words if not w.startswith("-")]
    if verb == "rm":
        if "--cached" not in words:
            listed = _GIT_REMOVED.findall(shell.run.output[:100_000])
            recursive = not listed and any(has_flag(w, "r") for w in words)
            for path in shell.paths(listed or plain):
                ledger.delete(f"{path}/" if recursive else path, index)
    elif verb == "clean":
        for path in shell.paths(_GIT_CLEANED.findall(shell.run.output[:100_000])):
            ledger.delete(path, index)
    elif verb == "mv":
        shell.transfer(plain, ledger.move)
    elif verb == "apply" and not {"--check", "--stat", "--numstat"} & set(words):
        apply_patch(shell, call)
    elif verb in ("checkout", "restore"):
        _git_restore(shell, verb, words, plain)
    elif verb == "stash":
        if plain[:1] in (["pop"], ["apply"]):
            ledger.unshelve()
        elif plain[:1] in ([], ["push"], ["save"]):
            ledger.shelve()
            ledger.restore_all()
    elif verb == "reset" and "--hard" in words:
        ledger.restore_all()
    elif verb == "diff":
        for redirect in call.command.redirects:
            if redirect.operator == ">" and not plain:
                ledger.shelve(join(shell.directory, redirect.target))
    elif verb == "commit" and not shell.run.failed:
        ledger.settle()
    if verb in _LISTING and ledger.emptied:
        _read_listing(shell)
    if verb in _LISTING and ledger.globs:
        _read_changes(shell)


def _read_listing(shell: Shell) -> None:
    """The files of folders that were removed or renamed whole, as git lists them afterwards."""
    for match in _GIT_LISTED.finditer(shell.run.output[:100_000]):
        removed, source, target, head, old, new, tail, plain_old, plain_new = match.groups("")
        if not removed and not source:
            source, target = plain_old, plain_new
            if not plain_old:
                source, target = (f"{head}{part}{tail}".replace("//", "/") for part in (old, new))
        path = join(shell.directory, removed or source)
        folder = next((f for f in folders_of(path) if f in shell.ledger.emptied), "")
        if not folder:
            continue
        shell.ledger.forget(folder)
        if removed:
            shell.ledger.delete(path, shell.run.index)
        else:
            goal = join(shell.directory, target)
            shell.ledger.forget(goal[: len(goal) - len(path) + len(folder)])
            shell.ledger.move(path, goal, shell.run.index)


def _read_changes(shell: Shell) -> None:
    """The files of patterns that were edited or removed, as git lists them afterwards."""
    patterns = [re.compile(translate(glob)) for glob in shell.ledger.globs]
    for match in islice(_GIT_CHANGED.finditer(shell.run.output[:100_000]), _MAX_CHANGES):
        path = join(shell.directory, match[2] or match[3])
        if path in shell.ledger.entries or not any(p.match(path) for p in patterns):
            continue
        if match[1] and "D" in match[1]:
            shell.ledger.delete(path, shell.run.index)
        else:
            added, removed = (match[4] or "").count("+"), (match[4] or "").count("-")
            shell.ledger.edit(path, added, removed, shell.run.index, sure=False)


def _git_restore(shell: Shell, verb: str, words: list[str], plain: list[str]) -> None:
    if "--staged" in words and "--worktree" not in words:
        return
    if not {"-b", "-B", "-t", "--track", "--orphan", "--detach"}.isdisjoint(words):
        return
    sides = {"--theirs", "--ours"} & set(words)
    if "--" in words:
        files = words[words.index("--") + 1 :]
    elif verb == "restore" or sides:
        files = plain
    else:
        # `git checkout NAME`: a branch, unless it looks like a file.
        files = [w for w in plain if "." in w.rsplit("/", 1)[-1] and not w.startswith("origin/")]
        files = files if len(files) == len(plain) else []
    for path in shell.paths(f for f in files if f not in (".", ":/")):
        shell.ledger.restore(path, shell.run.index)
    if any(f in (".", ":/") for f in files):
        shell.ledger.restore_all()
