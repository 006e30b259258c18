"""The system calls the archive is made of, as a protocol: tests put a failing disk in its place.

Every method raises `OSError` as the system does. `open_folder` and `files` alone call them, and
`volume` for the archive's own directory: they turn those into the archive's own errors. Names are
single path components below an open folder.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class FileFacts(NamedTuple):
    """What `stat` tells of a file or folder. A tuple, for it is made a thousand times a query."""

    device: int
    inode: int
    mode: int
    size: int
    mtime_ns: int

    @property
    def key(self) -> tuple[int, int]:
        """What two names share when they stand for one file."""
        return self.device, self.inode

    @property
    def permissions(self) -> int:
        """The permission bits of `mode`."""
        return stat.S_IMODE(self.mode)

    @property
    def kind(self) -> str:
        """file, folder, link or other."""
        if stat.S_ISREG(self.mode):
            return "file"
        if stat.S_ISDIR(self.mode):
            return "folder"
        return "link" if stat.S_ISLNK(self.mode) else "other"


@dataclass(frozen=True, slots=True)
class Space:
    """Room on a volume, in bytes."""

    free_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Modes:
    """Permission bits of what the archive creates, whatever the umask."""

    file: int = 0o640
    folder: int = 0o750


class Disk(Protocol):
    """File operations relative to an open folder, whose handle is `at`."""

    def open_root(self, path: str) -> int:
        """Open the archive's directory, following links: the operator chose the path."""
        ...

    def make_root(self, path: str, mode: int) -> None:
        """Create the archive's directory and what is missing above it, durably."""
        ...

    def open_folder(self, name: str, at: int) -> int:
        """Open a folder; a link or a file is refused with ENOTDIR or ELOOP."""
        ...

    def make_folder(self, name: str, mode: int, at: int) -> None:
        """Create a folder."""
        ...

    def create(self, name: str, mode: int, at: int) -> int:
        """Create a new file and open it for writing; an existing name is refused."""
        ...

    def open_file(self, name: str, at: int) -> int:
        """Open a file for reading; a link is refused with ELOOP."""
        ...

    def read(self, handle: int, size: int) -> bytes:
        """Up to `size` bytes; none at the end."""
        ...

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write a part of `data`, at least one byte; return how much."""
        ...

    def set_mode(self, handle: int, mode: int) -> None:
        """Set the permission bits."""
        ...

    def sync(self, handle: int) -> None:
        """Make the content of a file, or the names in a folder, survive power loss."""
        ...

    def close(self, handle: int) -> None:
        """Close a handle; on network volumes a late write error surfaces here."""
        ...

    def link(self, source: str, target: str, at: int) -> None:
        """Give a file a second name; an existing target is refused."""
        ...

    def rename(self, source: str, target: str, at: int) -> None:
        """Change a file's name; an existing target is replaced."""
        ...

    def unlink(self, name: str, at: int) -> None:
        """Take a name away."""
        ...

    def names(self, handle: int) -> list[str]:
        """Every name in a folder, in no order."""
        ...

    def kinds(self, handle: int) -> dict[str, str]:
        """Every name in a folder with its kind: file, folder, link or other."""
        ...

    def facts(self, name: str, at: int) -> FileFacts:
        """What a name stands for; a link itself, not its target."""
        ...

    def handle_facts(self, handle: int) -> FileFacts:
        """What an open handle stands for."""
        ...

    def space(self, handle: int) -> Space:
        """Room on the volume of an open handle."""
        ...
