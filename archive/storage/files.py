"""The one place that changes archive files. Each method is one durable or harmless step.

`FORMAT.md` states the order in which the steps of a publication and of an erasure are called.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from typing import Final, Self

from archive.failures import ArchiveFailure

from .disk import FileFacts
from .layout import TEMP_PREFIX
from .open_folder import OpenFolder

_NO_HARD_LINKS: Final = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
)


@dataclass(frozen=True, slots=True)
class Staged:
    """A complete, fsynced file under a temporary name."""

    name: str
    facts: FileFacts


class Folder(OpenFolder):
    """An open folder of the archive whose files may be made, published and taken away."""

    def make_folder(self, name: str) -> Self:
        """Open a folder below, creating it first where it is missing. Not durable yet."""
        found = self.folder(name)
        if found is not None:
            return found
        try:
            self._disk.make_folder(name, self._modes.folder, self._handle)
        except FileExistsError:
            pass  # another worker was first, or a network call was answered twice
        except OSError as exc:
            raise ArchiveFailure("create", self._join(name), exc) from exc
        made = self.folder(name)
        if made is None:
            raise ArchiveFailure("open", self._join(name), FileNotFoundError(errno.ENOENT, "gone"))
        return made

    def open_up(self) -> None:
        """Give the folder the mode bits it lacks, where we may: a umask took them, or a crash."""
        with contextlib.suppress(OSError):
            self._fit_mode(
                self._handle, self._modes.folder | self._disk.handle_facts(self._handle).permissions
            )

    def stage(self, data: bytes) -> Staged:
        """Write `data` under a temporary name and fsync it; on any failure leave nothing."""
        name, handle = self._create()
        try:
            try:
                self._fit_mode(handle, self._modes.file)
                view = memoryview(data)
                while view:
                    view = view[self._disk.write(handle, view) :]
                self._disk.sync(handle)
                facts = self._disk.handle_facts(handle)
            except OSError:
                with contextlib.suppress(OSError):
                    self._disk.close(handle)
                raise
            # A network volume may only now say that it is full.
            self._disk.close(handle)
        except OSError as exc:
            self.discard(name)
            raise ArchiveFailure("write", self._join(name), exc) from exc
        return Staged(name, facts)

    def _create(self) -> tuple[str, int]:
        for attempts_left in (2, 1, 0):
            name = f"{TEMP_PREFIX}{os.urandom(12).hex()}"
            try:
                return name, self._disk.create(name, self._modes.file, self._handle)
            except FileExistsError as exc:
                # The name is random: a network call was answered twice. Leave that file be.
                if not attempts_left:
                    raise ArchiveFailure("create", self._join(name), exc) from exc
            except OSError as exc:
                raise ArchiveFailure("create", self._join(name), exc) from exc
        raise AssertionError("unreachable")

    def _fit_mode(self, handle: int, wanted: int) -> None:
        """Set the mode through the handle; a refusal is fine where the mode already grants it."""
        found = self._disk.handle_facts(handle).permissions
        wanted |= found & stat.S_ISGID  # how shared folders hand their group on
        if found == wanted:
            return
        try:
            self._disk.set_mode(handle, wanted)
        except PermissionError:
            if found & wanted != wanted:
                raise

    def publish(self, staged: Staged, name: str) -> bool:
        """Give a staged file its final name; False when another file has it.

        Never replaces. Not durable before `sync`. The temporary name is gone afterwards,
        whatever happened.
        """
        try:
            return self._link(staged, name)
        except OSError as exc:
            raise ArchiveFailure("publish", self._join(name), exc) from exc
        finally:
            self.discard(staged.name)

    def _link(self, staged: Staged, name: str) -> bool:
        try:
            self._disk.link(staged.name, name, self._handle)
        except FileExistsError:
            # A network call sent twice answers so to its own success.
            return self._is(name, staged)
        except OSError as exc:
            if exc.errno in _NO_HARD_LINKS:
                return self._rename_new(staged, name)
            raise
        return True

    def _rename_new(self, staged: Staged, name: str) -> bool:
        """Without hard links no call publishes only where the name is free: look, then rename."""
        with contextlib.suppress(FileNotFoundError):
            self._disk.facts(name, self._handle)
            return self._is(name, staged)
        self._rename(staged, name)
        return True

    def can_link(self, staged: Staged, name: str) -> bool:
        """Give a staged file a second name; False where the volume knows no hard links."""
        try:
            self._disk.link(staged.name, name, self._handle)
        except OSError as exc:
            if exc.errno in _NO_HARD_LINKS:
                return False
            raise ArchiveFailure("publish", self._join(name), exc) from exc
        return True

    def replace(self, staged: Staged, name: str) -> None:
        """Put a staged file in the place of `name`: for erasure alone. Not durable yet."""
        try:
            self._rename(staged, name)
        except OSError as exc:
            self.discard(staged.name)
            raise ArchiveFailure("replace", self._join(name), exc) from exc

    def take(self, name: str, taken: str) -> bool:
        """Give `name` the new name `taken` in one step; False when it is gone. Not durable yet."""
        try:
            self._rename(Staged(name, self._disk.facts(name, self._handle)), taken)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise ArchiveFailure("move", self._join(name), exc) from exc
        return True

    def _rename(self, staged: Staged, name: str) -> None:
        try:
            self._disk.rename(staged.name, name, self._handle)
        except FileNotFoundError:
            if not self._is(name, staged):
                raise  # else a network call sent twice: the first had moved it

    def _is(self, name: str, staged: Staged) -> bool:
        return self._disk.facts(name, self._handle).key == staged.facts.key

    def mark(self, name: str) -> None:
        """Make sure an empty file `name` is there, durably."""
        try:
            handle = self._disk.create(name, self._modes.file, self._handle)
        except FileExistsError:
            pass
        except OSError as exc:
            raise ArchiveFailure("create", self._join(name), exc) from exc
        else:
            with contextlib.suppress(OSError):
                self._disk.close(handle)
        self.sync()

    def remove(self, name: str) -> bool:
        """Take a name away; False when it was gone already."""
        try:
            self._disk.unlink(name, self._handle)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise ArchiveFailure("remove", self._join(name), exc) from exc
        return True

    def discard(self, name: str) -> None:
        """Take a temporary name away; what can't be removed now is swept up later."""
        with contextlib.suppress(ArchiveFailure):
            self.remove(name)

    def sync(self) -> None:
        """Make the names in this folder survive power loss."""
        self._sync(self._handle, self.path)

    def sync_file(self, name: str) -> None:
        """Make the content of a file survive power loss, whoever wrote it."""
        try:
            handle = self._disk.open_file(name, self._handle)
        except OSError as exc:
            raise ArchiveFailure("open", self._join(name), exc) from exc
        try:
            self._sync(handle, self._join(name))
        finally:
            self._close(handle)

    def _sync(self, handle: int, path: str) -> None:
        try:
            self._disk.sync(handle)
        except OSError as exc:
            # Some file systems know no fsync of a folder, and say so this way.
            if exc.errno != errno.EINVAL:
                raise ArchiveFailure("sync", path, exc) from exc
