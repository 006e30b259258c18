"""The private directory of one scope: reached without links, locked, published to durably.

Every component of the path is opened relative to its parent's handle, anew for each operation,
so nothing planted under the path at any time leads elsewhere. The lock serialises cooperating
processes; it is no defence against a hostile process of the same user.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final, Self

from .errors import SegmentBusy, SegmentCorrupt, SegmentUnsupported
from .handles import (
    base_parts,
    check_file,
    is_at,
    make_path,
    open_at,
    open_path,
    segment_errors,
)
from .limits import MAX_SEGMENT_BYTES, MAX_SEGMENTS

try:
    import fcntl
except ImportError:  # not Unix: opening says so
    fcntl = None  # type: ignore[assignment]

ROOT_NAME: Final = "context-archives"
_LOCK: Final = "lock"
_PENDING: Final = "pending.tmp"
_SLOT_NAME: Final = re.compile(r"([0-9]{3})\.json")
_MAX_LISTED: Final = 1_024
_HANDLE_RELATIVE: Final = hasattr(os, "O_NOFOLLOW") and os.supports_dir_fd >= {
    os.open,
    os.mkdir,
    os.stat,
    os.unlink,
    os.rename,
}
_NO_FLOCK: Final = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})


class PrivateDir:
    """An open handle on `<base>/context-archives/<scope hash>`; a context manager."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def open(cls, base: str | os.PathLike[str], scope_hash: str, *, durable: bool = False) -> Self:
        """Open it, with every missing directory made, private and ours.

        `durable` syncs the whole path: that a directory exists doesn't say that its entry was
        ever synced. Raises the segment errors.
        """
        parts = base_parts(base)
        _check_platform()
        with segment_errors("open the segment store"):
            return cls(make_path(parts, (ROOT_NAME, scope_hash), durable=durable))

    @classmethod
    def open_existing(cls, base: str | os.PathLike[str], scope_hash: str) -> Self | None:
        """Open it as it is, changing nothing; None where a component is missing."""
        parts = base_parts(base)
        _check_platform()
        with segment_errors("open the segment store"):
            handle = open_path((*parts, ROOT_NAME, scope_hash))
            return None if handle is None else cls(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self._handle)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the scope alone. Raises `SegmentBusy` at once where somebody holds it."""
        with segment_errors("open the lock"):
            handle = open_at(_LOCK, os.O_RDWR | os.O_CREAT, self._handle)
        try:
            with segment_errors("lock the scope"):
                check_file(handle, "the lock", repair=True)
                self._acquire(handle, exclusive=True)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def lock_to_read(self) -> Iterator[bool]:
        """Share the lock file that is there, changing nothing; false where there is none."""
        with segment_errors("open the lock"):
            try:
                handle = open_at(_LOCK, os.O_RDONLY, self._handle)
            except FileNotFoundError:
                handle = -1
        if handle < 0:
            yield False
            return
        try:
            with segment_errors("lock the scope"):
                check_file(handle, "the lock", repair=False)
                self._acquire(handle, exclusive=False)
            yield True
        finally:
            os.close(handle)

    def slots(self) -> list[int]:
        """The slots in use, in order."""
        with segment_errors("list the segment store"), os.scandir(self._handle) as entries:
            names = [entry.name for entry in islice(entries, _MAX_LISTED)]
        if len(names) == _MAX_LISTED:  # somebody's rubbish: don't read on, try each name
            return list(range(MAX_SEGMENTS))
        found = (int(match[1]) for name in names if (match := _SLOT_NAME.fullmatch(name)))
        return sorted(slot for slot in found if slot < MAX_SEGMENTS)

    def read(self, slot: int, most: int, *, repair: bool) -> bytes | None:
        """The file of `slot`; None where there is none.

        Raises `SegmentCorrupt` where it has more than `most` bytes or the limit of a file.
        """
        limit = min(most, MAX_SEGMENT_BYTES)
        name = f"segment file {_name(slot)}"
        with segment_errors(f"read {name}"):
            try:
                handle = open_at(_name(slot), os.O_RDONLY, self._handle)
            except FileNotFoundError:
                return None
            with os.fdopen(handle, "rb", buffering=0) as file:
                size = check_file(handle, name, repair=repair).st_size
                if size > limit:
                    raise SegmentCorrupt("it is larger than the format allows", slot)
                data = file.read(size)
                # Anything after the size that was checked is a writer without our lock.
                if len(data) != size or file.read(1):
                    raise SegmentCorrupt("it changed while it was read", slot)
        return data

    def publish(self, slot: int, parts: Sequence[bytes], *, replace: bool) -> None:
        """Make `parts`, joined, the file of `slot`, atomically and durably, under the lock.

        An error after the rename leaves the file in place, perhaps not yet durable; any other
        leaves the slot as it was. `replace` says whether the slot is in use already.
        """
        with segment_errors(f"publish segment file {slot:03}.json"):
            with suppress(FileNotFoundError):
                os.unlink(_PENDING, dir_fd=self._handle)
            handle = open_at(_PENDING, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._handle)
            try:
                check_file(handle, _PENDING, repair=True)
                for part in parts:
                    _write_all(handle, part)
                os.fsync(handle)
                self._check_target(slot, replace=replace)
                self._rename(handle, slot)
            except BaseException:
                with suppress(OSError):
                    if is_at(handle, _PENDING, self._handle):
                        os.unlink(_PENDING, dir_fd=self._handle)
                raise
            finally:
                os.close(handle)
            os.fsync(self._handle)

    def sync(self) -> None:
        """Make every entry of the directory durable."""
        with segment_errors("sync the segment store"):
            os.fsync(self._handle)

    def _acquire(self, handle: int, *, exclusive: bool) -> None:
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SegmentBusy from None
        except OSError as exc:
            reason = f"the file system grants no lock: {exc.strerror}"
            if exc.errno in _NO_FLOCK:
                raise SegmentUnsupported(reason) from exc
            raise SegmentBusy(reason) from exc
        # Who unlinks a lock file lets two processes hold "the" lock, on two files.
        if not is_at(handle, _LOCK, self._handle):
            raise SegmentBusy("the lock file was replaced")

    def _check_target(self, slot: int, *, replace: bool) -> None:
        """Refuse a link or several links; and a file where the scan under our lock saw none."""
        try:
            handle = open_at(_name(slot), os.O_RDONLY, self._handle)
        except FileNotFoundError:
            return
        try:
            check_file(handle, f"segment file {_name(slot)}", repair=True)
        finally:
            os.close(handle)
        if not replace:
            raise SegmentBusy("another process took the slot in spite of the lock")

    def _rename(self, handle: int, slot: int) -> None:
        # Where locks do nothing, a file may be under its name and yet not be ours.
        if not is_at(handle, _PENDING, self._handle):
            raise SegmentBusy("another process took the temporary file in spite of the lock")
        os.rename(_PENDING, _name(slot), src_dir_fd=self._handle, dst_dir_fd=self._handle)
        if not is_at(handle, _name(slot), self._handle):
            raise SegmentBusy("another process replaced the file in spite of the lock")


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _name(slot: int) -> str:
    return f"{slot:03}.json"


def _check_platform() -> None:
    if fcntl is None or not _HANDLE_RELATIVE:
        raise SegmentUnsupported("sealed segments need a Unix system")
