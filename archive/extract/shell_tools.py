"""Pure. Files changed by formatters, by package managers, and by edit tools that are commands."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from .commands import Invocation
from .edit_results import was_done
from .shell_state import Shell

_REWRITTEN: Final = {
    "black": re.compile(r"^reformatted (\S.{0,300})$", re.MULTILINE),
    "isort": re.compile(r"^Fixing (\S.{0,300})$", re.MULTILINE),
    "prettier": re.compile(r"^(\S.{0,300}?) \d+ms$", re.MULTILINE),
}
_NODE: Final = "package.json package-lock.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb"
_PYTHON: Final = "pyproject.toml uv.lock poetry.lock pdm.lock"
_MANIFESTS: Final = {
    name: files.split()
    for name, files in {
        "npm": _NODE, "pnpm": _NODE, "yarn": _NODE, "bun": _NODE, "uv": _PYTHON, "poetry": _PYTHON,
        "pdm": _PYTHON, "go": "go.mod go.sum", "cargo": "Cargo.toml Cargo.lock",
        "composer": "composer.json composer.lock", "bundle": "Gemfile Gemfile.lock",
        "mix": "mix.lock", "dotnet": "*.csproj",
    }.items()
}  # fmt: skip
_CHANGING: Final = frozenset(
    {
        "install", "i", "add", "uninstall", "remove", "rm", "update", "upgrade", "up", "get", "mod",
        "deps.get", "deps.update", "require", "lock", "version",
    }
)  # fmt: skip
NAMES: Final = frozenset(_REWRITTEN) | frozenset(_MANIFESTS)


def edit_with_tool(shell: Shell, call: Invocation) -> None:
    """Book what a formatter names; remember what a package manager may change until git says so."""
    if pattern := _REWRITTEN.get(call.name):
        if call.name != "prettier" or not {"--write", "-w"}.isdisjoint(call.words):
            for path in shell.paths(pattern.findall(shell.run.output[:100_000])):
                shell.ledger.edit(path, 0, 0, shell.run.index, sure=False)
    elif not _CHANGING.isdisjoint(call.words[1:3]):
        shell.note_changing(_MANIFESTS[call.name])


def edit_by_command(shell: Shell, call: Invocation) -> None:
    """`str_replace_editor create PATH --file_text TEXT`: an edit tool that is a command."""
    if len(call.words) < 3 or not was_done(shell.run):
        return
    given = {o.lstrip("-"): v for o, v in pairwise(call.words) if o.startswith("--")}
    for path in shell.paths(call.words[2:3]):
        if call.words[1] == "create":
            shell.ledger.write(path, given.get("file_text", ""), shell.run.index, new=True)
        elif call.words[1] == "str_replace":
            old, new = given.get("old_str", ""), given.get("new_str", "")
            shell.ledger.replace(path, old, new, shell.run.index)
        elif call.words[1] == "insert":
            lines = given.get("new_str", "").rstrip("\n").count("\n") + 1
            shell.ledger.edit(path, lines, 0, shell.run.index)
        elif call.words[1] == "undo_edit":
            shell.ledger.undo(path)
