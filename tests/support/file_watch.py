"""When files appear in folders: the kernel's own notices (Linux), for measuring latency."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_IN_CREATE: Final = 0x100
_IN_MOVED_TO: Final = 0x80
_HEADER: Final = struct.Struct("iIII")


class FileWatch:
    """Watches folders that exist; `fileno` becomes readable when something appears in one."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._folders: dict[int, Path] = {}

    def add(self, folder: Path) -> None:
        """Watch one more folder."""
        mask = _IN_CREATE | _IN_MOVED_TO
        number = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask)
        if number < 0:
            raise OSError(ctypes.get_errno(), f"inotify_add_watch {folder}")
        self._folders[number] = folder

    def fileno(self) -> int:
        """For `loop.add_reader`."""
        return self._fd

    def appeared(self) -> Iterator[Path]:
        """What has appeared since the last call."""
        try:
            data = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return
        position = 0
        while position < len(data):
            number, _, _, length = _HEADER.unpack_from(data, position)
            position += _HEADER.size
            name = data[position : position + length].rstrip(b"\0")
            position += length
            yield self._folders[number] / os.fsdecode(name)

    def close(self) -> None:
        """Stop watching."""
        os.close(self._fd)
