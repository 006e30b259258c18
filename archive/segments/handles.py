"""Files and directories by handle: opened without following links, checked, errors translated.

The system's errors become segment errors here, by number, and nowhere else.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from streams.errors import AresError

from .errors import SegmentBusy, SegmentDenied, SegmentInvalid, SegmentStoreFull

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_DIRECTORY: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED: Final = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ELOOP,  # a link where none may be
        errno.EMLINK,  # the same on FreeBSD
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENXIO,  # a socket, or a pipe nobody reads
    }
)


@contextmanager
def segment_errors(action: str) -> Iterator[None]:
    """Translate an `OSError` of `action` (a verb and what it is done to) into a segment error."""
    try:
        yield
    except AresError:
        raise
    except OSError as exc:
        reason = f"could not {action}: {exc.strerror or type(exc).__name__}"
        if exc.errno in _FULL:
            raise SegmentStoreFull("disk") from exc
        if exc.errno in _DENIED:
            raise SegmentDenied(reason) from exc
        if exc.errno == errno.ENAMETOOLONG:
            raise SegmentInvalid(reason) from exc
        raise SegmentBusy(reason) from exc


def base_parts(base: str | os.PathLike[str]) -> tuple[str, ...]:
    """The components of an absolute base other than `/`, without `..`.

    Raises `SegmentInvalid` for any other path.
    """
    text = os.fspath(base)
    if not isinstance(text, str) or "\0" in text:
        raise SegmentInvalid("the base must be a path of text")
    return _parts(text)


@lru_cache(maxsize=64)
def _parts(base: str) -> tuple[str, ...]:
    try:
        base.encode()
    except UnicodeEncodeError:
        raise SegmentInvalid("the base must be a path of UTF-8 text") from None
    path = PurePosixPath(base)
    if not path.is_absolute() or len(path.parts) < 2:
        raise SegmentInvalid("the base must be an absolute path other than /")
    if ".." in path.parts:
        raise SegmentInvalid("the base must not contain ..")
    return path.parts[1:]


def open_at(name: str, flags: int, directory: int | None = None) -> int:
    """`os.open` below `directory`; never follows a link, never waits for a pipe's other end."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    return os.open(name, flags, FILE_MODE, dir_fd=directory)


def make_path(base: Sequence[str], private: Sequence[str], *, durable: bool) -> int:
    """A handle on `private` below `base`, both made where they are missing.

    The directories of `private` are ours and for us alone. What is made here is synced;
    `durable` syncs the whole path. An existing base keeps its mode: it is the caller's.
    """
    handle = open_at("/", _DIRECTORY)
    try:
        for name in base:
            handle = _descend(handle, name, durable=durable, private=False)
        for name in private:
            handle = _descend(handle, name, durable=durable, private=True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_path(names: Sequence[str]) -> int | None:
    """A handle on the directory at `names` below `/`, which must be ours; None if missing."""
    handle = open_at("/", _DIRECTORY)
    try:
        for name in names:
            child = open_at(name, _DIRECTORY, handle)
            os.close(handle)
            handle = child
        _check_owner(handle)
    except BaseException as exc:
        os.close(handle)
        if isinstance(exc, FileNotFoundError):
            return None
        raise
    return handle


def check_file(handle: int, name: str, *, repair: bool) -> os.stat_result:
    """A regular file of ours with a single link; `repair` makes it private.

    Raises `SegmentDenied`, which calls it `name`. Returns what `fstat` said.
    """
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise SegmentDenied(f"{name} is no regular file")
    if status.st_nlink != 1:
        raise SegmentDenied(f"{name} has {status.st_nlink} links; it may have one")
    if status.st_uid != os.geteuid():
        raise SegmentDenied(f"{name} belongs to another user")
    if repair:
        _set_mode(handle, FILE_MODE)
    return status


def is_at(handle: int, name: str, directory: int) -> bool:
    """Whether `name` in `directory` is the very file behind `handle`."""
    try:
        there = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(handle))


def _descend(parent: int, name: str, *, durable: bool, private: bool) -> int:
    """Go from `parent`, which is closed then, into `name`; make it where it is missing."""
    child, made = _open_or_make(name, parent)
    try:
        if private:
            _check_owner(child)
        if private or made:
            _set_mode(child, DIRECTORY_MODE)
        if made or (durable and private):
            os.fsync(parent)
        elif durable:
            with suppress(OSError):  # not our directories: some can't be synced
                os.fsync(parent)
    except BaseException:
        os.close(child)
        raise
    os.close(parent)
    return child


def _open_or_make(name: str, parent: int) -> tuple[int, bool]:
    with suppress(FileNotFoundError):
        return open_at(name, _DIRECTORY, parent), False
    made = True
    try:
        os.mkdir(name, DIRECTORY_MODE, dir_fd=parent)
    except FileExistsError:  # somebody else was faster
        made = False
    return open_at(name, _DIRECTORY, parent), made


def _check_owner(directory: int) -> None:
    if os.fstat(directory).st_uid != os.geteuid():
        raise SegmentDenied("a directory of the segment store belongs to another user")


def _set_mode(handle: int, mode: int) -> None:
    # Only where it differs: a squashing file server refuses even a change to what already is.
    if os.fstat(handle).st_mode & 0o777 != mode:
        os.fchmod(handle, mode)
