"""The archive's directory, from which folders are walked by handle.

A link below it is never followed; the directory itself may be one: the operator chose it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from typing import Final

from archive.failures import ArchiveFailure, ArchiveMissing, UnsafePath
from streams.errors import UsageError

from .disk import Disk, Modes
from .files import Folder
from .os_disk import OsDisk

Opened = Folder | ArchiveFailure | UnsafePath

_MAX_ANCHORED: Final = 100_000


class Volume:
    """An archive's directory. Holds no handle: every use walks from the top again."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        disk: Disk | None = None,
        modes: Modes | None = None,
        sentinel: str = "",
    ) -> None:
        self.path = os.fspath(directory)
        if not self.path:
            raise UsageError("the archive needs a directory")
        self._disk: Disk = OsDisk() if disk is None else disk
        self._modes = modes or Modes()
        self._sentinel = sentinel
        self._anchored: set[tuple[int, int]] = set()

    def root(self) -> Folder:
        """Open the archive's directory; raises `ArchiveMissing`."""
        try:
            return Folder(self._disk, self._disk.open_root(self.path), self.path, self._modes)
        except FileNotFoundError as exc:
            raise ArchiveMissing(self.path) from exc
        except OSError as exc:
            raise ArchiveFailure("open", self.path, exc) from exc

    def make_root(self) -> Folder:
        """Open the archive's directory, creating it durably where it is missing."""
        try:
            return self.root()
        except ArchiveMissing:
            try:
                self._disk.make_root(self.path, self._modes.folder)
            except OSError as exc:
                raise ArchiveFailure("create", self.path, exc) from exc
            return self.root()

    def _mounted_root(self, opened: contextlib.ExitStack) -> Folder:
        """The archive's directory, created where it is missing, unless a sentinel is asked for.

        That is looked for by the handle that everything is written from: on that very volume.
        """
        if not self._sentinel:
            return opened.enter_context(self.make_root())
        with contextlib.suppress(ArchiveMissing):
            top = opened.enter_context(self.root())
            if top.file_facts(self._sentinel) is not None:
                return top
        missing = FileNotFoundError(errno.ENOENT, "it is missing: is the volume mounted?")
        raise ArchiveFailure("find", f"{self.path}/{self._sentinel}", missing)

    @contextlib.contextmanager
    def folder(self, *parts: str) -> Iterator[Folder | None]:
        """The folder at `parts` below the top; None where one of them is missing."""
        with contextlib.ExitStack() as opened:
            here: Folder | None = opened.enter_context(self.root())
            for part in parts:
                here = here.folder(part) if here else None
                if here is None:
                    break
                opened.enter_context(here)
            yield here

    @contextlib.contextmanager
    def make_folders(self, parent: str, names: Sequence[str]) -> Iterator[list[Opened]]:
        """Folders `names` below `parent`, made where missing, their own names durable.

        One that can't be opened is answered by its error, and harms no other. Another worker
        may have made a folder and died before it was durable, so a folder this object sees for
        the first time is made durable again, whoever made it.
        """
        with contextlib.ExitStack() as opened:
            top = self._mounted_root(opened)
            above = opened.enter_context(top.make_folder(parent))
            self._anchor(top, [above])
            answers: list[Opened] = []
            for name in names:
                try:
                    answers.append(opened.enter_context(above.make_folder(name)))
                except (ArchiveFailure, UnsafePath) as exc:
                    answers.append(exc)
            self._anchor(above, [folder for folder in answers if isinstance(folder, Folder)])
            yield answers

    def _anchor(self, parent: Folder, folders: list[Folder]) -> None:
        keys = [folder.facts().key for folder in folders]
        new = [f for f, key in zip(folders, keys, strict=True) if key not in self._anchored]
        if new:
            for folder in new:
                folder.open_up()
            parent.sync()
            if len(self._anchored) > _MAX_ANCHORED:
                self._anchored = set()
            self._anchored.update(keys)
