"""The one place that looks at archive files and reads them; it changes nothing."""

from __future__ import annotations

import contextlib
import errno
from typing import Final, Self

from archive.failures import ArchiveFailure, RoundDamaged, UnsafePath

from .disk import Disk, FileFacts, Modes, Space

MAX_FILE_BYTES: Final = 256 << 20
"""A larger round file counts as damaged: no record this project writes comes near it."""

_PAGE: Final = 1 << 16
_RECORD_END: Final = b"\n}\n"
"""How each of our files ends: no line before it is a brace alone."""

LINK: Final = "it is a symbolic link; the archive follows none"
_NO_FOLDER: Final = "a symbolic link or a file stands where a folder belongs"

_NO_LINK: Final = frozenset({errno.ELOOP, errno.ENOTDIR})


class OpenFolder:
    """An open folder of the archive; a context manager that closes its handle."""

    def __init__(self, disk: Disk, handle: int, path: str, modes: Modes) -> None:
        self._disk, self._handle, self._modes = disk, handle, modes
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the handle."""
        self._close(self._handle)

    def names(self) -> list[str]:
        """Every name in the folder."""
        try:
            return self._disk.names(self._handle)
        except OSError as exc:
            raise ArchiveFailure("list", self.path, exc) from exc

    def kinds(self) -> dict[str, str]:
        """Every name in the folder with its kind: file, folder, link or other."""
        try:
            return self._disk.kinds(self._handle)
        except OSError as exc:
            raise ArchiveFailure("list", self.path, exc) from exc

    def facts(self) -> FileFacts:
        """What the folder's handle stands for."""
        try:
            return self._disk.handle_facts(self._handle)
        except OSError as exc:
            raise ArchiveFailure("look at", self.path, exc) from exc

    def file_facts(self, name: str) -> FileFacts | None:
        """What `name` stands for; None when it is gone."""
        try:
            return self._disk.facts(name, self._handle)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise ArchiveFailure("look at", self._join(name), exc) from exc

    def folder(self, name: str) -> Self | None:
        """Open a folder below; None when there is none. Raises `UnsafePath` for a link."""
        try:
            handle = self._disk.open_folder(name, self._handle)
        except FileNotFoundError:
            return None
        except OSError as exc:
            if exc.errno in _NO_LINK:
                raise UnsafePath(self._join(name), _NO_FOLDER) from exc
            raise ArchiveFailure("open", self._join(name), exc) from exc
        return type(self)(self._disk, handle, self._join(name), self._modes)

    def read(self, name: str) -> bytes | None:
        """The whole of a file; None when it is gone.

        Raises `UnsafePath` for a link or a folder, `RoundDamaged` beyond `MAX_FILE_BYTES`.
        """
        disk = self._disk
        try:
            handle = disk.open_file(name, self._handle)
        except FileNotFoundError:
            return None
        except OSError as exc:
            if exc.errno in _NO_LINK:
                raise UnsafePath(self._join(name), LINK) from exc
            raise ArchiveFailure("open", self._join(name), exc) from exc
        try:
            data = disk.read(handle, _PAGE)
            return data if data.endswith(_RECORD_END) else self._read_on(handle, name, data)
        except IsADirectoryError as exc:
            raise UnsafePath(self._join(name), "it is a folder where a file belongs") from exc
        except OSError as exc:
            raise ArchiveFailure("read", self._join(name), exc) from exc
        finally:
            try:  # noqa: SIM105 - at every file read a context manager or a call more is felt
                disk.close(handle)
            except OSError:
                pass  # nothing is lost

    def _read_on(self, handle: int, name: str, data: bytes) -> bytes:
        """The whole file, of which `data` was read: a network volume may give less than asked."""
        if not data and self._disk.handle_facts(handle).kind != "file":
            raise RoundDamaged(self._join(name), "it is no plain file")
        pages = [data]
        while page := self._disk.read(handle, _PAGE):
            pages.append(page)
            if len(pages) == 2 and self._disk.handle_facts(handle).size > MAX_FILE_BYTES:
                raise RoundDamaged(self._join(name), f"larger than {MAX_FILE_BYTES} bytes")
        return data if len(pages) == 1 else b"".join(pages)

    def space(self) -> Space:
        """Room on the volume."""
        try:
            return self._disk.space(self._handle)
        except OSError as exc:
            raise ArchiveFailure("measure", self.path, exc) from exc

    def _close(self, handle: int) -> None:
        """Close a handle that was only read from: nothing is lost when that fails."""
        with contextlib.suppress(OSError):
            self._disk.close(handle)

    def _join(self, name: str) -> str:
        return f"{self.path}/{name}"
