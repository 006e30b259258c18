"""Pure. The values of segments. None shows content in its repr, so none leaks it into a log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Redactor = Callable[[str], str]
"""Takes text, or a tool's arguments as JSON text, and returns what of it may be kept.

The host's own code, never chosen by a model. Install the same one whenever a scope is opened.
"""


@dataclass(frozen=True, slots=True, repr=False)
class ArchivedMessage:
    """One kept message.

    `source_index` is its zero-based offset in the list given to seal, omitted messages counted;
    `block_indices` those of its kept content blocks, empty for string content.
    """

    source_index: int
    block_indices: list[int]
    message: dict[str, Any]

    def __repr__(self) -> str:
        return f"<ArchivedMessage {self.source_index}, blocks {self.block_indices}>"


@dataclass(frozen=True, slots=True, repr=False)
class ArchiveProjection:
    """The eligible, screened part of a message list.

    `logical_id` is the conversation's id as 64 hex digits; `digest` covers it, the count and the
    messages, not the note.
    """

    logical_id: str
    source_message_count: int
    messages: list[ArchivedMessage]
    note: str
    digest: str

    def __repr__(self) -> str:
        kept = f"{len(self.messages)} of {self.source_message_count} messages"
        return f"<ArchiveProjection {self.digest}, {kept}>"


@dataclass(frozen=True, slots=True)
class ArchiveRef:
    """A sealed segment; `message_count` counts the kept messages."""

    id: str
    message_count: int
    source_message_count: int


@dataclass(frozen=True, slots=True, repr=False)
class ArchiveDescriptor:
    """One search result; `snippet` is the start, at most 256 bytes, of the matching message."""

    id: str
    message_count: int
    source_message_count: int
    snippet: str

    def __repr__(self) -> str:
        kept = f"{self.message_count} of {self.source_message_count} messages"
        return f"<ArchiveDescriptor {self.id}, {kept}>"


class ExportedRecord(dict[str, Any]):
    """One record as exported: a plain JSON object but for its repr."""

    def __repr__(self) -> str:
        kind = "tombstone" if self.get("tombstone") else f"{len(self.get('messages', ()))} messages"
        return f"<ExportedRecord {self.get('id')}, {kind}>"
