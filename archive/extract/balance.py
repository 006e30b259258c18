"""Pure. A file's balance in a round: lines, edits, and whether it was and is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from .linediff import changed_lines

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

    def count(self, added: int, removed: int) -> None:
        """So many lines more."""
        self.added += added
        self.removed += removed

    def take_back(self, old: str, new: str) -> None:
        """A replacement is undone."""
        self.edits[old, new] -= 1
        if self.edits[old, new] == 0:
            del self.edits[old, new]
        added, removed = changed_lines(old, new)
        self.count(-added, -removed)
        self.changed = bool(self.edits or self.added or self.removed or self.uncounted)


def is_same(before: str, after: str) -> bool:
    """Whether two contents differ at most in the line break at their end."""
    return before.rstrip("\n") == after.rstrip("\n")


def folders_of(path: str) -> Iterator[str]:
    """The folders around a file, inside out."""
    at = path.rfind("/")
    for _ in range(_MAX_DEPTH):
        if at <= 0:
            return
        yield path[:at]
        at = path.rfind("/", 0, at)
