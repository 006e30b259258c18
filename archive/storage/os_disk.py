"""The real disk: each operation is one system call, or few; errors are the system's own."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from .disk import FileFacts, Space

_T = TypeVar("_T")

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: a pipe standing where a round should be must not hang its reader.
_OLD_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class OsDisk:
    """A `Disk` of the operating system."""

    def open_root(self, path: str) -> int:
        return os.open(path, _FOLDER)

    def make_root(self, path: str, mode: int) -> None:
        missing = []
        level = Path(path).absolute()
        while not level.exists():
            missing.append(level)
            level = level.parent
        for folder in reversed(missing):
            folder.mkdir(mode, exist_ok=True)
            made = os.open(folder, _FOLDER | os.O_NOFOLLOW)
            try:
                # The umask took bits away. A refusal means that another user was faster.
                with contextlib.suppress(PermissionError):
                    os.fchmod(made, mode | stat.S_IMODE(os.fstat(made).st_mode) & stat.S_ISGID)
            finally:
                os.close(made)
            # A folder whose name isn't durable takes everything in it along at power loss.
            above = os.open(folder.parent, _FOLDER)
            try:
                os.fsync(above)
            finally:
                os.close(above)

    def open_folder(self, name: str, at: int) -> int:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)

    def make_folder(self, name: str, mode: int, at: int) -> None:
        os.mkdir(name, mode, dir_fd=at)

    def create(self, name: str, mode: int, at: int) -> int:
        return os.open(name, _NEW_FILE, mode, dir_fd=at)

    def open_file(self, name: str, at: int) -> int:
        return os.open(name, _OLD_FILE, dir_fd=at)

    def read(self, handle: int, size: int) -> bytes:
        return os.read(handle, size)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        return os.write(handle, data)

    def set_mode(self, handle: int, mode: int) -> None:
        os.fchmod(handle, mode)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def link(self, source: str, target: str, at: int) -> None:
        os.link(source, target, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)

    def rename(self, source: str, target: str, at: int) -> None:
        os.rename(source, target, src_dir_fd=at, dst_dir_fd=at)

    def unlink(self, name: str, at: int) -> None:
        os.unlink(name, dir_fd=at)

    def names(self, handle: int) -> list[str]:
        return _listed(handle, os.listdir)

    def kinds(self, handle: int) -> dict[str, str]:
        return _listed(handle, _kinds)

    def facts(self, name: str, at: int) -> FileFacts:
        return _facts(os.stat(name, dir_fd=at, follow_symlinks=False))

    def handle_facts(self, handle: int) -> FileFacts:
        return _facts(os.fstat(handle))

    def space(self, handle: int) -> Space:
        volume = os.fstatvfs(handle)
        return Space(volume.f_bavail * volume.f_frsize, volume.f_blocks * volume.f_frsize)


def _listed(folder: int, read: Callable[[int], _T]) -> _T:
    """By a handle of its own: sshfs lists a folder once for a handle, then calls it empty."""
    handle = os.open(".", _FOLDER, dir_fd=folder)
    try:
        return read(handle)
    finally:
        os.close(handle)


def _kinds(folder: int) -> dict[str, str]:
    with os.scandir(folder) as entries:
        return {entry.name: _entry_kind(entry) for entry in entries}


def _entry_kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _facts(status: os.stat_result) -> FileFacts:
    return FileFacts(
        status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns
    )
