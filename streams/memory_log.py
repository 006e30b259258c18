"""What a memory store keeps of a stream: encoded events, and summaries in the place of old ones."""

from __future__ import annotations

from dataclasses import dataclass

from .codec import EncodedEvent, from_microseconds
from .documents import decode_document
from .event import Event
from .summary import EventSummary


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in its place, still encoded: no caller can change what is stored."""

    stream: str
    version: int
    ms: int
    event: EncodedEvent

    def decode(self) -> Event:
        """The event, made anew for each reader."""
        return Event(
            type=self.event.type,
            payload=decode_document(self.event.payload),
            id=self.event.id,
            stream_id=self.stream,
            module_name=self.event.module,
            metadata=decode_document(self.event.metadata),
            version=self.version,
            timestamp=from_microseconds(self.event.timestamp_us),
        )


@dataclass(frozen=True, slots=True)
class Folded:
    """A summary in the place of the events it stands for."""

    stream: str
    version: int
    ms: int
    summary: EventSummary

    def decode(self) -> Event:
        """The synthetic event that stands for them."""
        return self.summary.to_event(self.stream)
