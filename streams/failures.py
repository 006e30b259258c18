"""Pure. redis-py's exceptions, translated once, by class, into the project's families."""

from __future__ import annotations

from typing import Final

from redis import exceptions as redis_errors

from .errors import (
    AresError,
    CorruptionError,
    StoreAccessDenied,
    StoreFull,
    StoreUnavailable,
)

# Order matters: redis-py makes BusyLoadingError and AuthenticationError ConnectionErrors.
_KINDS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (redis_errors.BusyLoadingError, "loading"),
    (redis_errors.ReadOnlyError, "read_only"),
    (redis_errors.MasterDownError, "read_only"),
    (redis_errors.ClusterDownError, "cluster"),
    (redis_errors.MovedError, "cluster"),
    (redis_errors.AskError, "cluster"),
    (redis_errors.TryAgainError, "cluster"),
    (redis_errors.SlotNotCoveredError, "cluster"),
    (redis_errors.ClusterError, "cluster"),
    (redis_errors.RedisClusterException, "cluster"),
    (redis_errors.TimeoutError, "timeout"),
    (TimeoutError, "timeout"),
    (redis_errors.ConnectionError, "connection"),
    (OSError, "connection"),
)

_DENIED: Final = (
    redis_errors.AuthenticationError,
    redis_errors.AuthorizationError,
    redis_errors.AuthenticationWrongNumberOfArgsError,
    redis_errors.NoPermissionError,
)


def translate(exc: BaseException) -> AresError:
    """The project's error for a failure of redis-py; its own errors come back as they are."""
    if isinstance(exc, AresError):
        return exc
    reason = str(exc) or type(exc).__name__
    if isinstance(exc, _DENIED):
        return StoreAccessDenied(f"Redis denies access: {reason}")
    if isinstance(exc, redis_errors.OutOfMemoryError):
        return StoreFull(f"Redis is out of memory: {reason}")
    if error_code(exc) == "WRONGTYPE":
        return CorruptionError("a key of this tenant holds another type than it should")
    if isinstance(exc, redis_errors.AskError):  # a MovedError, too
        reason = "the server is part of a cluster, and another node serves this tenant"
    for kind_of, kind in _KINDS:
        if isinstance(exc, kind_of):
            return StoreUnavailable(reason, kind=kind)
    return StoreUnavailable(reason, kind="other")


def error_code(reply: object) -> str:
    """The protocol's error code of an error reply, such as WRONGTYPE or NOGROUP; else "".

    redis-py has no classes for these; the first word of an error is its code by protocol.
    """
    if not isinstance(reply, redis_errors.ResponseError):
        return ""
    word, _, _ = str(reply).partition(" ")
    return word if word.isupper() else ""
