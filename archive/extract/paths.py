"""Pure. Paths as the repository sees them, whatever directory a tool was called in."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from archive.prefilter import has_any

from .view import RoundView

_SCRATCH: Final = (  # places for what does not last
    "/tmp/", "/var/tmp/", "/private/tmp/",  # noqa: S108 - compared with, never written to
    "/private/var/folders/", "/var/folders/", "/dev/",
    "/proc/", "/run/", "~/.cache/", "/dev",
)  # fmt: skip
_LONGEST: Final = 4096
_MAX_PATHS: Final = 200
_NO_ROOTS: Final = frozenset(
    {"/", "/home", "/Users", "/root", "/usr", "/etc", "/opt", "/var", "/mnt", "/usr/local"}
)
_SHOWN_FILE: Final = re.compile(r"\[File: (/[^\n]+?) \(\d+ lines")
_NO_PATH: Final = ("\x00", "$", "-", "<(", ">(")
_FILE_NAME: Final = re.compile(r"[^/]\.[A-Za-z]\w{0,4}$")
_HOME: Final = re.compile(r"/(?:home|Users)/[^/]+(?=/)|/root(?=/)")
_WINDOWS: Final = re.compile(r"^[A-Za-z]:[\\/]")
_ABSOLUTE_CD: Final = re.compile(
    r"(?:c(?<![^\s;&(]c)d|-(?<![^\s;&(]-)(?:C|-cwd|-dir(?:ectory)?))"
    r"[ =]+[\"']?(/[^\s\"';&|)]+)"
)
_CD_HINTS: Final = ("cd ", "-C", "--cwd", "--dir")
_RELATIVE_CD: Final = re.compile(r"(?:^|[;&(] *)cd +[\"']?(\w[^\s\"';&|)]*)")
_RELATIVE: Final = re.compile(r"(?<![\w/.~$-])(?:\./)?((?:[\w@.+-]+/)+[\w@.+-]+)")
_PATH_KEYS: Final = (
    "file_path", "path", "filePath", "target_file", "TargetFile", "notebook_path", "filename",
    "absolute_path", "AbsolutePath", "relative_path", "relativePath", "file", "file_name",
    "relative_workspace_path", "filepath", "pathInProject", "targetFile",
)  # fmt: skip
_PATHS: Final = frozenset(_PATH_KEYS)
_SEARCHERS: Final = frozenset(
    {"grep", "glob", "ls", "search", "find", "list_directory", "grep_search"}
)
UNKNOWN: Final = "\x00"
"""The directory after `cd` into something only a running shell knows."""


def path_argument(arguments: Mapping[str, Any]) -> str:
    """The path among a tool's arguments, or nothing."""
    for key in _PATH_KEYS if not _PATHS.isdisjoint(arguments) else ():
        if key in arguments:
            value = arguments[key]
            if isinstance(value, str) and 0 < len(value) <= _LONGEST:
                return value.removeprefix("file://")
    return ""


def is_scratch(path: str) -> bool:
    """Whether a path is no place for work that lasts, or no path at all."""
    return not path or path.startswith(_NO_PATH + _SCRATCH) or "/Temp/" in path or "\n" in path


def join(directory: str, path: str) -> str:
    """`path` seen from `directory`, `.` and `..` resolved."""
    if "\\" in path and (_WINDOWS.match(path) or _WINDOWS.match(directory)):
        path = path.replace("\\", "/")
    if not _WINDOWS.match(path) and not path.startswith(("/", "~", "$")) and directory:
        path = UNKNOWN if directory == UNKNOWN else f"{directory}/{path}"
    if path.startswith(UNKNOWN):
        return UNKNOWN
    return posixpath.normpath(path) if path else ""


class Roots:
    """Makes paths relative to the repository, whose place the round tells more or less plainly."""

    def __init__(self, view: RoundView) -> None:
        self._view = view

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        return _candidates(self._view)

    @cached_property
    def session(self) -> str:
        """The directory that the session named, if it did."""
        directory = self._view.directory
        return directory.replace("\\", "/") if _WINDOWS.match(directory) else directory

    @cached_property
    def directory(self) -> str:
        """Where relative paths start, as far as is known."""
        return self.session or (self._roots[0] if self._roots else "")

    def relative(self, path: str) -> str:
        """`path` without the root it lies under; unchanged when it lies under none."""
        if path.startswith("~/") and (home := _HOME.match(self.session)):
            inside = self._below_root(home[0] + path[1:])
            return path if inside.startswith("/") else inside
        if not path.startswith("/") and not _WINDOWS.match(path):
            return path
        return self._below_root(path)

    def _below_root(self, path: str) -> str:
        for root in self._roots:
            if path.startswith(root + "/"):
                return path[len(root) + 1 :]
        return path


def _candidates(view: RoundView) -> tuple[str, ...]:
    """Session directory, else the inferred one, then the directories worked in, outermost first."""
    worked: set[str] = set()
    for run in view.runs:
        worked.add(run.directory)
        if has_any(run.script, _CD_HINTS):
            worked.update(match[1] for match in _ABSOLUTE_CD.finditer(run.script[:4000]))
    first = view.directory.replace("\\", "/").rstrip("/") or _inferred(view)
    outermost = _outermost(worked)
    if not view.directory and any(first.startswith(d + "/") for d in outermost):
        return tuple(outermost)
    return tuple(d for d in (first, *outermost) if d)


def _outermost(directories: Iterable[str]) -> list[str]:
    kept = {
        posixpath.normpath(d)
        for d in directories
        if d.startswith("/")
        and d not in _NO_ROOTS
        and not is_scratch(d + "/")
        and not _FILE_NAME.search(d)
    }
    return sorted(kept, key=lambda d: (d.count("/"), d))


def _inferred(view: RoundView) -> str:
    """The outermost root under which absolute paths of some calls are relative ones of others."""
    absolute = {p for run in view.runs if (p := path_argument(run.arguments)).startswith("/")}
    shown = (run.output for run in view.runs if run.output.startswith("[File: "))
    absolute.update(m[1] for output in shown if (m := _SHOWN_FILE.match(output)))
    absolute = {p for p in absolute if len(p) <= _LONGEST and p.count("/") < 64}
    if not absolute:
        return ""
    if len(absolute) > _MAX_PATHS:
        absolute = set(sorted(absolute)[:_MAX_PATHS])
    names = {path.rsplit("/", 1)[-1] for path in absolute}
    endings = set(_relative_paths(view, names))
    votes: set[str] = set()
    for path in sorted(absolute):
        parts = path.split("/")
        for cut in range(2, len(parts) - 1):
            if "/".join(parts[cut:]) in endings:
                votes.add("/".join(parts[:cut]))
                break
    root = min(votes, key=lambda root: (root.count("/"), root)) if votes else ""
    for run in view.runs:
        if "cd " not in run.script[:400]:
            continue
        for match in _RELATIVE_CD.finditer(run.script[:400]):
            root = root.removesuffix("/" + match[1].strip("/"))
    return root


def _relative_paths(view: RoundView, names: Iterable[str]) -> Iterator[str]:
    """Relative paths in what searches and scripts were given and printed, near one of `names`."""
    words: set[str] = set()
    for run in view.runs:
        if not run.script and run.tool not in _SEARCHERS:
            continue
        texts = (run.script[:2000], run.output[:4000])
        for text in texts:
            if "/" in text and has_any(text, names):
                words.update([word for word in text.split() if "/" in word])
    for match in _RELATIVE.finditer(" ".join(words)):
        yield match[1].removesuffix(":")
