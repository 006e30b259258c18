"""Pure. Keeps the balance of a round's file changes: what differs at its end, by how many lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .balance import Entry, folders_of, is_same
from .contents import Contents
from .linediff import changed_lines
from .paths import is_scratch
from .text import count_lines

_MAX_SHELVES: Final = 50
_MAX_MOVES: Final = 20_000  # of files along with their folder


class Ledger:
    """Entries by path, in the order of their first change."""

    def __init__(self, home: str = "") -> None:
        self._home = home.rstrip("/") + "/" if home and is_scratch(home + "/") else ""
        self.entries: dict[str, Entry] = {}
        self._unsettled: dict[str, None] = {}  # changed since the last commit
        self._tracked: dict[str, None] = {}  # of these, the files that git can restore
        self._within: dict[str, dict[str, None]] = {}
        self._contents = Contents()
        self._moves = _MAX_MOVES
        self._shelves: dict[str, dict[str, Entry]] = {}
        self.emptied: dict[str, None] = {}
        """Folders removed or renamed of which no file is known."""
        self.globs: dict[str, None] = {}
        """Patterns of files that were edited or removed, of which none is known."""
        self._backups: dict[str, tuple[str, Entry | None]] = {}

    def is_scratch(self, path: str) -> bool:
        """Whether a path is no place for work that lasts: none is where the round worked."""
        return is_scratch(path) and not (self._home and path.startswith(self._home))

    def saw(self, path: str, shown: Callable[[], str | None] | None = None) -> None:
        """The file was there; `shown` reads all of it from a result, when it is needed."""
        if path not in self.entries:
            self._enter(path, Entry(existed=True))
        if shown is not None:
            self._contents.show(path, shown)

    def content(self, path: str) -> str | None:
        """The whole content, where the round has shown it."""
        return self._contents.get(path)

    def write(self, path: str, content: str | None, index: int, *, new: bool | None = None) -> None:
        """The file now holds `content` (None: unknown)."""
        if self.is_scratch(path):
            self._contents.put(path, content)
            return
        before = self.content(path)
        if before is not None and content is not None and is_same(before, content):
            known = self.entries.get(path)
            if known is not None and known.exists:
                return
        # A file nobody saw before it was written is taken to be new.
        entry = self._touch(path, index, existed=new is False)
        if content is None:
            entry.uncounted = True
        elif before is not None and entry.exists:
            entry.count(*changed_lines(before, content))
        else:
            entry.uncounted = entry.uncounted or entry.existed is True
            entry.count(count_lines(content), 0)
        entry.exists = True
        self._contents.put(path, content)

    def append(self, path: str, content: str | None, index: int) -> None:
        """Text was added at the end."""
        before = self.content(path)
        if not self.is_scratch(path):
            entry = self._touch(path, index)
            entry.exists = True
            if content is None:
                entry.uncounted = True
            else:
                entry.count(count_lines(content), 0)
        known = None if before is None or content is None else before + content
        self._contents.put(path, known)

    def replace(self, path: str, old: str, new: str, index: int, times: int = 1) -> None:
        """`old` became `new` (`times` 0: wherever it stood); an edit undone is none."""
        if self.is_scratch(path):
            return
        if times == 0:
            times = max(1, (self.content(path) or "").count(old)) if old else 1
        entry = self._touch(path, index, existed=True)
        added, removed = changed_lines(old, new)
        if (new, old) in entry.edits:
            entry.take_back(new, old)
        else:
            entry.edits[old, new] = entry.edits.get((old, new), 0) + 1
            entry.count(added * times, removed * times)
        self._contents.replace(path, old, new, times)

    def edit(self, path: str, added: int, removed: int, index: int, *, sure: bool = True) -> None:
        """Lines changed; `sure` is False for an estimate."""
        if self.is_scratch(path):
            return
        entry = self._touch(path, index, existed=True)
        entry.count(added, removed)
        entry.uncounted = entry.uncounted or not sure
        self._contents.put(path, None)

    def delete(self, path: str, index: int) -> None:
        """The file is gone; a path that ends with "/" is a folder with all that was made in it."""
        name = path.rstrip("/")
        if name != path and name not in self._within and not self.is_scratch(path):
            self.emptied[name] = None
        for inner in self._within.pop(name, ()):
            if (entry := self.entries[inner]).exists:
                self._remove(inner, entry, index)
        if not self.is_scratch(path) and (name in self.entries or name == path):
            self._remove(name, self._touch(name, index), index)

    def move(self, source: str, target: str, index: int) -> None:
        """The file, or the folder with all that was made in it, has another name."""
        if inside := self._within.pop(source, None):
            for inner in list(inside)[: self._moves]:
                self._moves -= 1
                if self.entries[inner].exists:
                    self.move(inner, target + inner[len(source) :], index)
            return
        if self._put_back(source, target):
            self.delete(source, index)
            return
        known = self.content(source)
        old = self.entries.get(source)
        if old is None and "." not in source.rsplit("/", 1)[-1]:
            self.emptied[source] = None  # perhaps a folder
        added = old.added if old is not None else 0
        self.delete(source, index)
        if not self.is_scratch(target):
            entry = self._touch(target, index)
            entry.exists = True
            entry.count(added, 0)
        self._contents.put(target, known)

    def copy(self, source: str, target: str, index: int) -> None:
        """The file has the content of another one."""
        if self._put_back(source, target):
            return
        entry = self.entries.get(source)
        self._backups[target] = source, replace(entry, edits=dict(entry.edits)) if entry else None
        self.write(target, self.content(source), index)

    def _put_back(self, source: str, target: str) -> bool:
        """Whether `source` is a copy of `target`, which is then again what it was."""
        origin, entry = self._backups.get(source, ("", None))
        if origin != target:
            return False
        self._contents.put(target, None)
        self.entries[target] = entry or Entry(existed=True)
        return True

    def restore(self, path: str, index: int) -> None:
        """The file is as committed: changes of this round are gone, earlier ones were undone."""
        if self.is_scratch(path):
            return
        entry = self.entries.get(path)
        self._contents.put(path, None)
        if entry is None or (not entry.changed and entry.existed):
            self._touch(path, index).existed = True
        elif not entry.settled:
            self.entries[path] = Entry(existed=True)

    def restore_all(self) -> None:
        """Whatever wasn't committed in the round is gone, new files apart."""
        tracked, self._tracked = self._tracked, {}
        for path in tracked:
            if (entry := self.entries[path]).changed and entry.existed is not False:
                self.restore(path, entry.last_index)

    def settle(self) -> None:
        """The changes so far were committed."""
        for path in self._unsettled:
            self.entries[path].settled = True
        self._unsettled, self._tracked = {}, {}

    def shelve(self, name: str = "") -> None:
        """Uncommitted changes were put aside, into the stash or into the file of this name."""
        if len(self._shelves) < _MAX_SHELVES or name in self._shelves:
            self._shelves[name] = {path: replace(self.entries[path]) for path in self._tracked}

    def unshelve(self, name: str = "") -> bool:
        """They are back, if there were any."""
        entries = self._shelves.pop(name, None)
        if entries is None:
            return False
        self.entries.update(entries)
        self._unsettled.update(dict.fromkeys(entries))
        self._tracked.update(dict.fromkeys(entries))
        return True

    def forget(self, path: str) -> None:
        """A path taken for a file turned out to be a folder."""
        entry = self.entries.get(path)
        if entry is not None and path not in self._within:
            del self.entries[path]
            self._tracked.pop(path, None)
            self._unsettled.pop(path, None)

    def undo(self, path: str) -> None:
        """The last replacement in the file was taken back."""
        entry = self.entries.get(path)
        if entry is not None and entry.edits:
            entry.take_back(*next(reversed(entry.edits)))

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
            entry = self._enter(path, Entry(existed=existed))
        elif not entry.exists:
            self._enter(path, entry)
        elif not entry.changed and entry.existed is None:
            entry.existed = existed
        entry.changed, entry.last_index, entry.settled = True, index, False
        self._unsettled[path] = None
        if entry.existed is not False:
            self._tracked[path] = None
        return entry

    def _enter(self, path: str, entry: Entry) -> Entry:
        self.entries[path] = entry
        for folder in folders_of(path):
            self._within.setdefault(folder, {})[path] = None
        return entry

    def _remove(self, path: str, entry: Entry, index: int) -> None:
        if entry.existed is None:
            entry.existed = True
        entry.exists, entry.changed, entry.last_index = False, True, index
        entry.added, entry.edits = 0, {}
        self._contents.put(path, None)
