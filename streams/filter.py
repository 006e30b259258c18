"""Pure. Which events a reader wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from .errors import UsageError
from .event import Event


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Events of these streams, types and modules since a time; an empty part wants all.

    Stream ids and types may be patterns that end in `*` and stand for everything that begins so
    (`task.*`, `agent-7/*`); a `*` anywhere else is refused with `UsageError`.
    """

    stream_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    since: datetime | None = None
    modules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("stream_ids", "types", "modules"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise UsageError(f"{name} takes several names; write ({given!r},)")
            object.__setattr__(self, name, tuple(map(str, given)))
        for pattern in (*self.stream_ids, *self.types):
            if "*" in pattern[:-1]:
                raise UsageError(f"{pattern!r}: a '*' stands at the end of a pattern only")

    def matches(self, event: Event) -> bool:
        """Whether `event` is wanted."""
        return (
            self.wants_stream(event.stream_id)
            and self.wants_type(event.type)
            and (not self.modules or event.module_name in self.modules)
            and (self.since is None or event.timestamp >= self.since)
        )

    def wants_stream(self, stream: str) -> bool:
        """Whether events of `stream` can match."""
        return not self.stream_ids or _any_match(self.stream_ids, stream)

    def wants_type(self, type: str) -> bool:
        """Whether events of `type` can match."""
        return not self.types or _any_match(self.types, type)


def _any_match(patterns: Iterable[str], name: str) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in patterns
    )
