"""Pure. Keeps the balance of a round's file changes: what differs at its end, by how many lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from .linediff import changed_lines
from .paths import is_scratch
from .text import count_lines

_MAX_KNOWN: Final = 4_000_000  # characters of file contents remembered


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
    edits: list[tuple[str, str]] = field(default_factory=list)


class Ledger:
    """Entries by path, in the order of their first change."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._known: dict[str, str] = {}
        self._shown: dict[str, Callable[[], str | None]] = {}
        self._room = _MAX_KNOWN
        self._stash: dict[str, Entry] | None = None

    def saw(self, path: str, shown: Callable[[], str | None] | None = None) -> None:
        """The file was there; `shown` reads all of it from a result, when it is needed."""
        if path not in self.entries:
            self.entries[path] = Entry(existed=True)
        if shown is not None:
            self._known.pop(path, None)
            self._shown[path] = shown

    def content(self, path: str) -> str | None:
        """The whole content, where the round has shown it."""
        if shown := self._shown.pop(path, None):
            self._remember(path, shown())
        return self._known.get(path)

    def write(self, path: str, content: str | None, index: int, *, new: bool | None = None) -> None:
        """The file now holds `content` (None: unknown)."""
        if is_scratch(path):
            self._remember(path, content)
            return
        # A file nobody saw before it was written is taken to be new.
        entry = self._touch(path, index, existed=new is False)
        before = self.content(path)
        if content is None:
            entry.uncounted = True
        elif before is not None and entry.exists:
            self._count(entry, *changed_lines(before, content))
        else:
            entry.uncounted = entry.uncounted or entry.existed is True
            self._count(entry, count_lines(content), 0)
        entry.exists = True
        self._remember(path, content)

    def append(self, path: str, content: str | None, index: int) -> None:
        """Text was added at the end."""
        before = self.content(path)
        if not is_scratch(path):
            entry = self._touch(path, index)
            entry.exists = True
            if content is None:
                entry.uncounted = True
            else:
                self._count(entry, count_lines(content), 0)
        known = None if before is None or content is None else before + content
        self._remember(path, known)

    def replace(self, path: str, old: str, new: str, index: int, times: int = 1) -> None:
        """`old` became `new` (`times` 0: wherever it stood); an edit undone is none."""
        if is_scratch(path):
            return
        if times == 0:
            times = max(1, (self.content(path) or "").count(old)) if old else 1
        entry = self._touch(path, index, existed=True)
        added, removed = changed_lines(old, new)
        if (new, old) in entry.edits:
            entry.edits.remove((new, old))
            entry.added, entry.removed = entry.added - removed, entry.removed - added
            entry.changed = bool(entry.edits or entry.added or entry.removed or entry.uncounted)
        else:
            entry.edits.append((old, new))
            self._count(entry, added * times, removed * times)
        before = self.content(path)
        if before is not None:
            self._remember(path, before.replace(old, new, -1 if times > 1 else 1))

    def edit(self, path: str, added: int, removed: int, index: int, *, sure: bool = True) -> None:
        """Lines changed; `sure` is False for an estimate."""
        if is_scratch(path):
            return
        entry = self._touch(path, index, existed=True)
        self._count(entry, added, removed)
        entry.uncounted = entry.uncounted or not sure
        self._remember(path, None)

    def delete(self, path: str, index: int) -> None:
        """The file is gone; a path that ends with "/" is a folder with all that was made in it."""
        name = path.rstrip("/")
        for inner, entry in self.entries.items():
            if inner.startswith(name + "/") and entry.exists:
                self._remove(inner, entry, index)
        if not is_scratch(path) and (name in self.entries or name == path):
            self._remove(name, self._touch(name, index), index)

    def move(self, source: str, target: str, index: int) -> None:
        """The file has another name."""
        known = self.content(source)
        old = self.entries.get(source)
        added = old.added if old is not None else 0
        self.delete(source, index)
        if not is_scratch(target):
            entry = self._touch(target, index)
            entry.exists = True
            self._count(entry, added, 0)
        self._remember(target, known)

    def copy(self, source: str, target: str, index: int) -> None:
        """The file has the content of another one."""
        self.write(target, self.content(source), index)

    def restore(self, path: str, index: int) -> None:
        """The file is as committed: changes of this round are gone, earlier ones were undone."""
        if is_scratch(path):
            return
        entry = self.entries.get(path)
        self._remember(path, None)
        if entry is None or (not entry.changed and entry.existed):
            self._touch(path, index).existed = True
        elif not entry.settled:
            self.entries[path] = Entry(existed=True)

    def restore_all(self) -> None:
        """Whatever wasn't committed in the round is gone."""
        for path, entry in list(self.entries.items()):
            if entry.changed and not entry.settled and entry.existed is not False:
                self.restore(path, entry.last_index)

    def settle(self) -> None:
        """The changes so far were committed."""
        for entry in self.entries.values():
            entry.settled = True

    def stash(self) -> None:
        """Uncommitted changes were put aside."""
        self._stash = dict(self.entries)
        self.restore_all()

    def unstash(self) -> None:
        """They are back."""
        if self._stash is not None:
            self.entries, self._stash = self._stash, None

    def undo(self, path: str) -> None:
        """The last replacement in the file was taken back."""
        entry = self.entries.get(path)
        if entry is not None and entry.edits:
            old, new = entry.edits.pop()
            added, removed = changed_lines(old, new)
            entry.added, entry.removed = entry.added - added, entry.removed - removed
            entry.changed = bool(entry.edits) or entry.added > 0 or entry.removed > 0

    def changed(self) -> dict[str, Entry]:
        """The files whose content differs because of the round."""
        return {
            path: entry
            for path, entry in self.entries.items()
            if entry.changed and (entry.exists or entry.existed is not False)
        }

    def _touch(self, path: str, index: int, existed: bool | None = None) -> Entry:
        entry = self.entries.get(path)
        if entry is None:
            entry = self.entries[path] = Entry(existed=existed)
        elif not entry.changed and entry.existed is None:
            entry.existed = existed
        entry.changed, entry.last_index, entry.settled = True, index, False
        return entry

    def _remove(self, path: str, entry: Entry, index: int) -> None:
        if entry.existed is None:
            entry.existed = True
        entry.exists, entry.changed, entry.last_index = False, True, index
        entry.added, entry.edits = 0, []
        self._remember(path, None)

    def _count(self, entry: Entry, added: int, removed: int) -> None:
        entry.added += added
        entry.removed += removed

    def _remember(self, path: str, content: str | None) -> None:
        self._known.pop(path, None)
        self._shown.pop(path, None)
        if content is not None and len(content) <= self._room:
            self._room -= len(content)
            self._known[path] = content
