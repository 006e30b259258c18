"""Pure. A file's balance in a round: lines, edits, and whether it was and is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_MAX_DEPTH: Final = 40  # folders around a file that are told from it


@dataclass(slots=True)
class Entry:
    """A file's balance. `existed` is before the round, None when nothing tells."""

    added: int = 0
    removed: int = 0
    existed: bool | None = None
    exists: bool = True
    changed: bool = False
    uncounted: bool = False
    settled: bool = False
    last_index: int = 0
    edits: dict[tuple[str, str], int] = field(default_factory=dict)


def is_same(before: str, after: str) -> bool:
    """Whether two contents differ at most in the line break at their end."""
    return before.rstrip("\n") == after.rstrip("\n")


def take_edit(edits: dict[tuple[str, str], int], edit: tuple[str, str]) -> tuple[str, str]:
    """Take one of equal edits out of the count of them."""
    edits[edit] -= 1
    if edits[edit] == 0:
        del edits[edit]
    return edit


def folders_of(path: str) -> Iterator[str]:
    """The folders around a file, inside out."""
    at = path.rfind("/")
    for _ in range(_MAX_DEPTH):
        if at <= 0:
            return
        yield path[:at]
        at = path.rfind("/", 0, at)
