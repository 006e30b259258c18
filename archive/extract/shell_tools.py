"""Pure. Files that formatters say they rewrote, and those that package managers keep."""

from __future__ import annotations

import re
from typing import Final

from .commands import Invocation
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
