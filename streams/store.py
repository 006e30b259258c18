"""Pure. The event store as its users see it; `RedisEventStore` and `MemoryEventStore` keep it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from enum import Enum
from typing import Final, Protocol, Self

from .errors import UsageError
from .event import Event

ANY: Final = -1
"""Append whatever the version is. Every negative number means the same."""

FOLLOW: Final = 0
"""Follow the current version; like `ANY`, it never conflicts."""


class _NoStream(Enum):
    NO_STREAM = "NO_STREAM"

    def __repr__(self) -> str:
        return "NO_STREAM"


NO_STREAM: Final = _NoStream.NO_STREAM
"""Append only if the stream has no event yet."""

ExpectedVersion = int | _NoStream


class Direction(Enum):
    """Order in which `read` returns events."""

    FORWARD = "forward"
    BACKWARD = "backward"


def check_expected_version(expected: object) -> ExpectedVersion:
    """Return `expected` if it is a sentinel or a 64-bit int; raise `UsageError` otherwise.

    Strict on purpose: `True`, `"7"`, `7.0` or `None` would silently switch the check off.
    """
    if expected is NO_STREAM:
        return NO_STREAM
    if isinstance(expected, bool) or not isinstance(expected, int):
        raise UsageError(f"expected_version must be an int or NO_STREAM, not {expected!r}")
    if expected >= 1 << 63:
        raise UsageError(f"expected_version {expected} is beyond any version")
    return int(expected)


class EventStore(Protocol):
    """Append-only, versioned logs of one tenant.

    Every method may raise `StoreUnavailable`; writing ones `StoreFull`. An async context
    manager that closes what it opened.
    """

    async def append(
        self, stream: str, events: Sequence[Event], expected_version: ExpectedVersion = ANY
    ) -> int:
        """Append all of `events` or none; return the version of the last.

        Raises `VersionConflict`, `InvalidEvent`, `StreamCorrupted`, `TooMuchContention`,
        `OutcomeUnknown`. An empty `events` is a `UsageError`.
        """
        ...

    async def read(
        self,
        stream: str,
        from_version: int = 1,
        to_version: int | None = None,
        limit: int | None = None,
        direction: Direction = Direction.FORWARD,
        since: datetime | None = None,
    ) -> list[Event]:
        """Events of versions `from_version`..`to_version` committed at or after `since`.

        What was compacted away comes back as `event.summary` events, one a summary, before
        the retained ones; every option applies to them too. An unknown stream reads as empty.
        """
        ...

    def read_all(
        self, since: datetime | None = None, limit: int | None = None
    ) -> AsyncIterator[Event]:
        """Events of every stream in the order of commit time, ties by stream; paged."""
        ...

    async def stream_version(self, stream: str) -> int:
        """Newest version of `stream`; 0 when it has no event."""
        ...

    async def list_streams(self) -> list[str]:
        """Names of the streams that have events, sorted."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...
