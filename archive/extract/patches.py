"""Pure. Reads patches: unified diffs, the apply_patch format, and search/replace blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from .linediff import changed_lines

ChangeKind = Literal["edit", "create", "delete", "move"]

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")
_SECTION: Final = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_GIT_HEADER: Final = re.compile(r'diff --git "?a/(.+?)"? "?b/(.+?)"?$')
_BLOCK_START: Final = re.compile(r"^(?:<{5,9}|-{5,9}) ?(?:SEARCH|ORIGINAL|HEAD)\b.*$")
_BLOCK_MIDDLE: Final = re.compile(r"^={5,9}$")
_BLOCK_FACT: Final = re.compile(r"^(?::(?:start|end)_line:\s*\d+|-{5,9})\s*$")
_BLOCK_END: Final = re.compile(r"^(?:>{5,9}|\+{5,9}) ?(?:REPLACE|UPDATED)\b.*$")


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """What a patch does to one file; `target` is the new name of a moved one."""

    path: str
    kind: ChangeKind
    added: int = 0
    removed: int = 0
    target: str = ""


def read_patch(text: str) -> list[PatchedFile]:
    """The files of a patch in whichever of the formats it is."""
    if "*** Begin Patch" in text or _SECTION.search(text[:400]):
        return _read_sections(text)
    if "SEARCH" in text or "ORIGINAL" in text:
        return [PatchedFile(b.path, "edit", b.added, b.removed) for b in read_blocks(text)]
    return read_unified(text)


def read_unified(text: str) -> list[PatchedFile]:
    """The files of a unified diff; hunk headers say which lines are content."""
    return list(_Unified(text.split("\n")))


def read_blocks(text: str) -> Iterator[PatchedFile]:
    """Search/replace blocks, each under a line that names its file (the last one named)."""
    lines, path, at = text.split("\n"), "", 0
    while at < len(lines):
        if not _BLOCK_START.match(lines[at][:80]):
            at += 1
            continue
        path = _path_above(lines, at) or path
        middle = _find(lines, at + 1, _BLOCK_MIDDLE)
        end = _find(lines, middle + 1, _BLOCK_END) if middle else 0
        if not end:
            return
        start = at + 1
        while start < middle and _BLOCK_FACT.match(lines[start]):
            start += 1
        added, removed = changed_lines(
            "\n".join(lines[start:middle]), "\n".join(lines[middle + 1 : end])
        )
        yield PatchedFile(path, "edit", added, removed)
        at = end + 1


def read_loose(text: str) -> Iterator[PatchedFile]:
    """Diffs in fences whose hunks say no line numbers, as models write them."""
    path, added, removed = "", 0, 0
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("+++ ") and at and lines[at - 1].startswith("--- "):
            if path and (added or removed):
                yield PatchedFile(path, "edit", added, removed)
            path, added, removed = _name(line[4:]), 0, 0
        elif line.startswith("```"):
            if path and (added or removed):
                yield PatchedFile(path, "edit", added, removed)
            path, added, removed = "", 0, 0
        elif path and line.startswith("+"):
            added += 1
        elif path and line.startswith("-") and not line.startswith("--- "):
            removed += 1


def _path_above(lines: list[str], at: int) -> str:
    for line in reversed(lines[max(0, at - 3) : at]):
        name = line.strip().strip("`*#:").strip()
        if name and " " not in name and ("." in name or "/" in name):
            return name
    return ""


def _find(lines: list[str], start: int, pattern: re.Pattern[str]) -> int:
    for at in range(start, len(lines)):
        if pattern.match(lines[at][:80]):
            return at
    return 0


def _read_sections(text: str) -> list[PatchedFile]:
    found: list[PatchedFile] = []
    path, verb, target, added, removed = "", "", "", 0, 0

    def close() -> None:
        if path:
            kind: ChangeKind = "move" if target else _KINDS[verb]
            found.append(PatchedFile(path, kind, added, removed, target))

    for line in text.split("\n"):
        if line.startswith("*** "):
            if match := _SECTION.match(line):
                close()
                verb, path = match[1], match[2].strip()
                target, added, removed = "", 0, 0
            elif line.startswith("*** Move to: "):
                target = line[13:].strip()
            elif line.startswith("*** End Patch"):
                break
        elif line.startswith("+"):
            added += 1
        elif line.startswith("-"):
            removed += 1
    close()
    return found


_KINDS: Final[dict[str, ChangeKind]] = {"Add": "create", "Update": "edit", "Delete": "delete"}


class _Unified:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def __iter__(self) -> Iterator[PatchedFile]:
        old = new = ""
        added = removed = 0
        started = False
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith("diff --git "):
                if started:
                    yield _patched(old, new, added, removed)
                match = _GIT_HEADER.match(line)
                old, new = (match[1], match[2]) if match else ("", "")
                added, removed, started = 0, 0, bool(match)
            elif line.startswith("--- ") and self._peek().startswith("+++ "):
                if started and (added or removed):
                    yield _patched(old, new, added, removed)
                    added = removed = 0
                old, new = _name(line[4:]), _name(self._peek()[4:])
                self._at += 1
                started = True
            elif line.startswith("deleted file mode"):
                new = "/dev/null"
            elif line.startswith("new file mode"):
                old = "/dev/null"
            elif started and line.startswith("@@") and (match := _HUNK.match(line)):
                plus, minus = self._hunk(int(match[1] or 1), int(match[2] or 1))
                added, removed = added + plus, removed + minus
        if started:
            yield _patched(old, new, added, removed)

    def _peek(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _hunk(self, old_left: int, new_left: int) -> tuple[int, int]:
        added = removed = 0
        while (old_left > 0 or new_left > 0) and self._at < len(self._lines):
            mark = self._lines[self._at][:1]
            if mark == "+":
                added, new_left = added + 1, new_left - 1
            elif mark == "-":
                removed, old_left = removed + 1, old_left - 1
            elif mark in (" ", ""):
                old_left, new_left = old_left - 1, new_left - 1
            elif mark != "\\":
                break
            self._at += 1
        return added, removed


def _patched(old: str, new: str, added: int, removed: int) -> PatchedFile:
    if new == "/dev/null":
        return PatchedFile(old, "delete", added, removed)
    if old == "/dev/null":
        return PatchedFile(new, "create", added, removed)
    if old and old != new:
        return PatchedFile(old, "move", added, removed, new)
    return PatchedFile(new, "edit", added, removed)


def _name(text: str) -> str:
    name = text.split("\t", 1)[0].strip().strip('"')
    return name[2:] if name[:2] in ("a/", "b/") else name
