"""Pure. What an error means to the shell: the one table from error families to exit codes."""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import Final

from archive.failures import ArchiveFailure, ArchiveMissing
from streams.errors import (
    AresError,
    ConflictError,
    CorruptionError,
    InvalidEvent,
    NotFoundError,
    OutcomeUnknown,
    StoreAccessDenied,
    StoreFull,
    StoreUnavailable,
    TooMuchContention,
    TransientError,
    UsageError,
    VersionConflict,
)


class ExitCode(IntEnum):
    """Exit codes of `ares-worker`; `MEANINGS` says them in words."""

    DONE = 0
    NO = 1
    USAGE = 2
    CORRUPT = 65
    UNAVAILABLE = 69
    BUG = 70
    FULL = 73
    BUSY = 75
    DENIED = 77
    INTERRUPTED = 130
    CLOSED_PIPE = 141


MEANINGS: Final = {
    ExitCode.DONE: "done",
    ExitCode.NO: '"no": nothing found, or a check failed',
    ExitCode.USAGE: "the command, its data or a setting is wrong",
    ExitCode.CORRUPT: "stored or imported data is corrupt",
    ExitCode.UNAVAILABLE: "Redis, the archive or a port can't be reached",
    ExitCode.BUG: "a bug of ares-worker",
    ExitCode.FULL: "Redis or the volume is full",
    ExitCode.BUSY: "busy or a conflict: try again",
    ExitCode.DENIED: "access denied",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
    ExitCode.CLOSED_PIPE: "the reader of the output has gone",
}

# The first that fits decides, so a class stands before its bases.
_CODES: Final[tuple[tuple[type[BaseException], ExitCode], ...]] = (
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (StoreFull, ExitCode.FULL),
    (StoreAccessDenied, ExitCode.DENIED),
    (StoreUnavailable, ExitCode.UNAVAILABLE),
    (TransientError, ExitCode.BUSY),
    (ConflictError, ExitCode.BUSY),
    (CorruptionError, ExitCode.CORRUPT),
    (NotFoundError, ExitCode.NO),
    (UsageError, ExitCode.USAGE),
)

# The operating system's own errors, and the archive's, which carry its number.
_ERRNOS: Final = {
    errno.EPIPE: ExitCode.CLOSED_PIPE,
    errno.ENOSPC: ExitCode.FULL,
    errno.EDQUOT: ExitCode.FULL,
    errno.EFBIG: ExitCode.FULL,
    errno.EACCES: ExitCode.DENIED,
    errno.EPERM: ExitCode.DENIED,
    errno.EROFS: ExitCode.DENIED,
}

_ABOUT_REDIS: Final = {
    "connection": "Start Redis, name another one with --redis URL, or try --redis embedded.",
    "timeout": "Look at Redis' load and the way to it; with rediss://, whether that port has TLS.",
    "loading": "Wait until Redis has read its data, then try again.",
    "read_only": "Name the master, or use redis+sentinel:// so that failovers are followed.",
    "cluster": "redis+cluster:// is for a cluster, redis:// for a single server; "
    "redis-cli --cluster check HOST:PORT says which slots are missing.",
}

_HINTS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (VersionConflict, "Read the stream again, decide again, then append."),
    (TooMuchContention, "Many writers share this stream; try again."),
    (OutcomeUnknown, "Look for the event's id in the stream before you send it again."),
    (ArchiveMissing, "Name it with --archive-dir, or let `ares-worker run` fill it first."),
    (InvalidEvent, "Nothing was sent. The inbox contract is in the README."),
    (StoreFull, "Let the worker archive and compact, or raise Redis' maxmemory."),
    (
        StoreAccessDenied,
        "Check user and password of --redis or ARES_REDIS_URL, and the ACL rights of that user.",
    ),
    (CorruptionError, "Nothing was changed. `ares-worker verify` says what contradicts what."),
)


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code for `error`; whatever belongs to no family is a bug."""
    if isinstance(error, OSError | ArchiveFailure) and error.errno is not None:
        return _ERRNOS.get(error.errno, ExitCode.UNAVAILABLE)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return ExitCode.BUG


def hint_for(error: BaseException) -> str:
    """One sentence on what to do about `error`, or nothing where the message says it."""
    own = getattr(error, "hint", "")
    if isinstance(error, AresError) and isinstance(own, str) and own:
        return own
    if type(error) is StoreUnavailable:
        return _ABOUT_REDIS.get(error.kind, "")
    return next((hint for kind, hint in _HINTS if isinstance(error, kind)), "")
