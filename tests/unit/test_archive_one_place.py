"""Who may touch archive files: everybody else asks them, and gets the archive's own errors."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import archive
from archive.storage.disk import Disk

PACKAGE = Path(archive.__file__).parent
DISKS = ("disk", "_disk")
SYSTEM_CALLS = {name for name, _ in inspect.getmembers(Disk, inspect.isfunction)}
OS_CALLS = {
    *("open", "close", "read", "write", "fsync", "link", "rename", "replace", "unlink", "remove"),
    *("mkdir", "makedirs", "rmdir", "listdir", "scandir", "walk", "stat", "fstat", "fchmod"),
    *("chmod", "truncate", "utime", "symlink", "readlink", "fstatvfs", "statvfs"),
}
PATH_CALLS = {
    *("write_text", "write_bytes", "read_bytes", "unlink", "mkdir", "rename", "rmdir", "iterdir"),
    *("glob", "rglob", "touch", "chmod", "hardlink_to", "symlink_to"),
}


def calls(module: Path) -> Iterator[tuple[str, str]]:
    """Every call of a method in `module`: the name it is called on, and the method's."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value).rpartition(".")[2], node.func.attr


def modules() -> list[Path]:
    """The modules that see the archive's volume; segments have a folder and rules of their own."""
    return [path for path in PACKAGE.rglob("*.py") if "segments" not in path.parts]


def test_three_modules_call_the_disk():
    callers = {
        module.stem
        for module in modules()
        for owner, method in calls(module)
        if owner in DISKS and method in SYSTEM_CALLS
    }
    assert callers == {"open_folder", "files", "volume"}


def test_nothing_but_the_disk_asks_the_system_for_archive_files():
    """`index` keeps a file of its own, in the reader's cache."""
    callers = {
        module.stem
        for module in modules()
        for owner, method in calls(module)
        if (owner == "os" and method in OS_CALLS) or (owner not in DISKS and method in PATH_CALLS)
    }
    assert callers == {"os_disk", "index"}
