"""Pure. What a reader has had already, stream by stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .items import Row, Span

_REMEMBERED: Final = 100_000


@dataclass(slots=True)
class Covered:
    """Versions already handed over ahead of the feed: by a summary, or from the logs."""

    upto: dict[str, int] = field(default_factory=dict)

    def left_of(self, span: Span) -> Span | None:
        """The part of `span` still to be read."""
        return behind(span, self.upto.get(span.stream, 0))

    def repeats(self, row: Row) -> bool:
        """Whether `row`, read by somebody else, brings nothing new."""
        upto = self.upto.get(row.stream)
        if upto is None:
            return False
        if row.version <= upto:
            return True
        del self.upto[row.stream]
        return False

    def forget(self, heads: Mapping[str, int]) -> None:
        """The feed has passed these versions."""
        self.upto = {s: upto for s, upto in self.upto.items() if upto > heads.get(s, 0)}

    def passed(self, spans: Iterable[Span], ahead: Mapping[str, int]) -> None:
        """Spans are read, and of some streams more than they said: drop what is of no more use."""
        self.upto.update(ahead)
        for span in spans:
            if span.final and span.last >= self.upto.get(span.stream, span.last + 1):
                del self.upto[span.stream]


def behind(span: Span, upto: int) -> Span | None:
    """What is left of a span when versions up to `upto` are done."""
    if upto < span.first:
        return span
    return span._replace(first=upto + 1) if upto < span.last else None


class Versions:
    """Newest version seen of each of the streams met last; bounded."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._seen: dict[str, int] = {}

    def saw(self, stream: str, version: int) -> None:
        """Remember `version`; forget the stream met longest ago where there are too many."""
        self._seen.pop(stream, None)
        self._seen[stream] = version
        if len(self._seen) > self._most:
            del self._seen[next(iter(self._seen))]

    def saw_all(self, newest: Mapping[str, int]) -> None:
        """Remember several."""
        for stream, version in newest.items():
            self.saw(stream, version)

    def forget(self, lost: Callable[[str], bool]) -> None:
        """Forget the streams of which `lost` is true."""
        for stream in [stream for stream in self._seen if lost(stream)]:
            del self._seen[stream]

    def get(self, stream: str) -> int | None:
        """The newest version seen of `stream`, where it is remembered."""
        return self._seen.get(stream)
