"""Pure. What can go wrong with the archive's files, in the five families of `streams.errors`.

Every error of a file operation carries `reason`, the closed label of the archive's error
metrics, and `path`, the file a person has to look at.
"""

from __future__ import annotations

import errno
from typing import Final, Literal

from streams.errors import ConflictError, CorruptionError, NotFoundError, TransientError, UsageError

from .record import RoundIdentity

FailureReason = Literal["no_space", "permission", "read_only", "stale_handle", "conflict", "io"]

FAILURE_REASONS: Final[tuple[FailureReason, ...]] = (
    "no_space",
    "permission",
    "read_only",
    "stale_handle",
    "conflict",
    "io",
)

_REASONS: Final[dict[int, FailureReason]] = {
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.EFBIG: "no_space",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.EROFS: "read_only",
    errno.ESTALE: "stale_handle",
}


def failure_reason(error: OSError) -> FailureReason:
    """The closed reason of an operating-system error; `io` where no other fits."""
    return _REASONS.get(error.errno or 0, "io")


class ArchiveFailure(TransientError):
    """The volume refuses or fails; nothing was lost, and the same call may succeed later.

    `reason` is no_space, permission, read_only, stale_handle or io; `operation` what was
    tried, `path` on which file, `errno` the system's number.
    """

    def __init__(self, operation: str, path: str, error: OSError) -> None:
        super().__init__(f"{operation} {path}: {error.strerror or error}")
        self.reason: FailureReason = failure_reason(error)
        self.operation, self.path, self.errno = operation, path, error.errno


class UnsafePath(CorruptionError):
    """Something that isn't a plain folder or file stands where the archive keeps one.

    A symbolic link could lead reads and writes out of the archive, so none is followed. `detail`
    says what it is.
    """

    reason: FailureReason = "permission"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path, self.detail = path, detail


class ArchiveMissing(NotFoundError):
    """The archive's directory does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no archive at {path}")
        self.path = path


class PublicationConflict(ConflictError):
    """The folder holds rounds this one doesn't continue: the archive knows more than the caller.

    Read the stream's state again. Moved: build the round anew. Not moved: record it again with
    `confirmed=True`.
    """

    reason: FailureReason = "conflict"

    def __init__(self, stream: str, round: int, highest: int) -> None:
        super().__init__(
            f"stream {stream!r}: round {round} can't be published, "
            f"its folder holds other rounds up to {highest}"
        )
        self.stream, self.round, self.highest = stream, round, highest


class RecordDamaged(CorruptionError):
    """A round file's bytes are no record. `detail` says why."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class RoundDamaged(RecordDamaged):
    """Round `round` of `stream` is damaged; other rounds are not concerned."""

    def __init__(self, path: str, detail: str) -> None:
        CorruptionError.__init__(self, f"{path}: {detail}")
        self.path, self.detail = path, detail


class RoundNotFound(NotFoundError):
    """The archive holds no such round."""

    def __init__(self, stream: str, round: int) -> None:
        super().__init__(f"stream {stream!r} has no round {round}")
        self.stream, self.round = stream, round


class RoundErased(RoundNotFound):
    """The round was erased on request; only its identity is left."""

    def __init__(self, stream: str, round: int, identity: RoundIdentity) -> None:
        NotFoundError.__init__(self, f"round {round} of stream {stream!r} was erased")
        self.stream, self.round, self.identity = stream, round, identity


class InvalidQuery(UsageError):
    """A recall query or filter can't be understood. `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class IndexUnusable(TransientError):
    """The index can't be used now; what it is for can be had from the files.

    `damaged`: its file is broken and may be thrown away.
    """

    def __init__(self, reason: str, *, damaged: bool) -> None:
        super().__init__(reason)
        self.damaged = damaged
