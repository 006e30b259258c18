"""Pure. Every error of ares-worker belongs to one of five families; each asks for one reaction.

`UsageError` fix the call, `TransientError` try again, `ConflictError` read again and decide
again, `NotFoundError` it is not there, `CorruptionError` stop and keep the bytes.
"""

from __future__ import annotations


class AresError(Exception):
    """Root of the project's errors; catch a family instead where you can react to it."""


class UsageError(AresError, ValueError):
    """The call or its data is wrong; repeating it can't help."""


class TransientError(AresError):
    """Something needed is out of reach for now; the same call may succeed later."""


class ConflictError(AresError):
    """Somebody else was first: read again, decide again, then call again."""


class NotFoundError(AresError, LookupError):
    """What the call names does not exist."""


class CorruptionError(AresError):
    """Stored data contradicts itself; nothing was changed, a person has to look."""


class InvalidEvent(UsageError):
    """An event breaks the contract of the inbox.

    `path` is where (`payload.items[3]`), `reason` what, `code` the closed reason of the
    dead-letter metrics: schema, encoding, too_large or limits.
    """

    def __init__(self, path: str, reason: str, *, code: str = "schema") -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason, self.code = path, reason, code


class VersionConflict(ConflictError):
    """Another writer appended first: read again, decide again, then append."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(f"stream {stream!r} is at version {actual}, expected {expected}")
        self.stream, self.expected, self.actual = stream, expected, actual


class TooMuchContention(ConflictError):
    """A commit lost the race for a stream more often than its attempt limit allows."""

    def __init__(self, stream: str, attempts: int) -> None:
        super().__init__(f"stream {stream!r} moved during each of {attempts} commit attempts")
        self.stream, self.attempts = stream, attempts


class LeaseLost(ConflictError):
    """The lease guarding a write belongs to somebody else; nothing was written."""

    def __init__(self, name: str) -> None:
        super().__init__(f"lease {name!r} is held by somebody else")
        self.name = name


class StreamNotFound(NotFoundError):
    """A stream that must exist has no event."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"stream {stream!r} does not exist")
        self.stream = stream


class StreamCorrupted(CorruptionError):
    """A log was written or deleted by somebody else; the stream is quarantined."""

    def __init__(self, stream: str, reason: str) -> None:
        super().__init__(f"stream {stream!r} is quarantined: {reason}")
        self.stream, self.reason = stream, reason


class MalformedKey(CorruptionError, ValueError):
    """A key of ours holds what we never write there."""


class StreamIntegrityError(CorruptionError):
    """A sequence of events has a gap or a repeat at `index`."""

    def __init__(self, index: int, expected: int, got: int) -> None:
        super().__init__(f"event {index} has version {got}, expected {expected}")
        self.index, self.expected, self.got = index, expected, got


class StoreUnavailable(TransientError):
    """Redis can't be reached, is loading, or answers as a replica.

    `kind` is the closed reason of the Redis error metrics: connection, timeout, loading,
    read_only, oom, auth, cluster or other.
    """

    def __init__(self, reason: str, *, kind: str = "connection") -> None:
        super().__init__(reason)
        self.kind = kind


class StoreFull(StoreUnavailable):
    """Redis is at `maxmemory` and refuses writes."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, kind="oom")


class StoreAccessDenied(StoreUnavailable):
    """Redis refuses the credentials, or an ACL forbids the command or key."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, kind="auth")


class OutcomeUnknown(TransientError):
    """A connection broke around EXEC and reading back could not tell what happened.

    The events may or may not be in the log. Look for their ids before appending again.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(f"it is unknown whether the append to stream {stream!r} was committed")
        self.stream = stream
