"""Pure. Files that PowerShell's cmdlets write, remove, move and copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from .commands import Invocation
from .shell_state import Shell

_SWITCHES: Final = frozenset(
    {"-force", "-recurse", "-nonewline", "-append", "-passthru", "-confirm:$false", "-whatif"}
)


def _arguments(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Named and other arguments of a cmdlet; names in lower case."""
    named: dict[str, str] = {}
    plain: list[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-"):
            plain.append(word)
        elif word.lower() not in _SWITCHES and at < len(words):
            named[word.lower()] = words[at]
            at += 1
    return named, plain


def _target(call: Invocation) -> tuple[str, str | None]:
    """The file of a cmdlet that writes, and its content where the call holds it."""
    named, plain = _arguments(call.words)
    path = named.get("-path") or named.get("-filepath") or named.get("-literalpath")
    if path is None:
        path = plain.pop(0) if plain else ""
    return path, named.get("-value", plain[0] if plain else None)


def _write(shell: Shell, call: Invocation) -> None:
    path, value = _target(call)
    content = None if value is None or value.startswith("$") else value + "\n"
    appends = call.name == "add-content" or "-append" in [w.lower() for w in call.words]
    for name in shell.paths([path] if path else ()):
        if appends:
            shell.ledger.append(name, content, shell.run.index)
        else:
            shell.ledger.write(name, content, shell.run.index)


def _remove(shell: Shell, call: Invocation) -> None:
    path, _ = _target(call)
    recurses = "-recurse" in [w.lower() for w in call.words]
    for name in shell.paths([path] if path else ()):
        shell.ledger.delete(f"{name}/" if recurses else name, shell.run.index)


def _transfer(shell: Shell, call: Invocation) -> None:
    named, plain = _arguments(call.words)
    source = named.get("-path") or named.get("-literalpath") or (plain.pop(0) if plain else "")
    target = named.get("-destination") or named.get("-newname") or (plain[0] if plain else "")
    if source and target:
        act = shell.ledger.copy if call.name.startswith("copy") else shell.ledger.move
        shell.transfer([source, target], act)


POWERSHELL: Final[dict[str, Callable[[Shell, Invocation], None]]] = {
    "set-content": _write, "add-content": _write, "out-file": _write, "clear-content": _write,
    "remove-item": _remove, "move-item": _transfer, "copy-item": _transfer,
    "rename-item": _transfer,
}  # fmt: skip
NAMES: Final = frozenset(
    {
        "Set-Content", "Add-Content", "Out-File", "Clear-Content", "Remove-Item", "Move-Item",
        "Copy-Item", "Rename-Item",
    }
) | frozenset(POWERSHELL)  # fmt: skip
"""The cmdlets as people write them."""
