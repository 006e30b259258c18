"""Pure. The event store as its users see it; `RedisEventStore` and `MemoryEventStore` keep it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, Self, overload

from .errors import UsageError
from .event import Event
from .filter import EventFilter

if TYPE_CHECKING:
    from .durable.member import DurableSubscription
    from .live.subscription import Subscription
    from .subscription.options import Overflow

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


def check_count(name: str, count: int | None) -> None:
    """Raise `UsageError` unless `count` is None, 0 or more."""
    if count is not None and (isinstance(count, bool) or count < 0):
        raise UsageError(f"{name} must not be negative: {count}")


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

    @overload
    def subscribe(
        self,
        filter: EventFilter | None = None,
        *,
        name: str | None = None,
        buffer: int = 64,
        on_overflow: Overflow = "drop",
        start: str = "now",
        group: None = None,
    ) -> Subscription: ...

    @overload
    def subscribe(
        self,
        filter: EventFilter | None = None,
        *,
        name: str | None = None,
        buffer: int = 64,
        on_overflow: Overflow = "drop",
        start: str = "now",
        group: str,
    ) -> DurableSubscription: ...

    def subscribe(
        self,
        filter: EventFilter | None = None,
        *,
        name: str | None = None,
        buffer: int = 64,
        on_overflow: Overflow = "drop",
        start: str = "now",
        group: str | None = None,
    ) -> Subscription | DurableSubscription:
        """Matching events from `start` on, in the order of versions per stream, then live.

        Use it as an async context manager and iterate. `start` is `now`, `beginning` or the
        position of an earlier subscription. While it catches up it reads at its consumer's pace;
        once live, a consumer more than `buffer` events behind misses some with
        `on_overflow="drop"`, and is told by a `Gap` in their place, or reads them later from the
        logs with `"block"`. Nobody else is held up by either.

        With a `group` it is durable: all members of the group share the streams, each event is
        handed to one of them until acknowledged, and nothing is dropped for being slow; `start`
        counts when the group is new. Counts are reported under `name`.

        Raises `UsageError` for a bad argument, when it begins `SubscriptionLimit` too.
        """
        ...

    async def stream_version(self, stream: str) -> int:
        """Newest version of `stream`; 0 when it has no event."""
        ...

    async def list_streams(self) -> list[str]:
        """Names of the streams that have events, sorted."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...
