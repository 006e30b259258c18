"""Sealed context segments: the eligible part of a conversation's messages, exact, never summarised.

Both this project and an agent host in another language work on one directory, so layout, JSON,
digests and locks are a format to the byte, not a choice.
"""

from __future__ import annotations

from .errors import (
    SegmentBusy,
    SegmentCorrupt,
    SegmentDenied,
    SegmentInvalid,
    SegmentNotFound,
    SegmentStoreFull,
    SegmentUnsupported,
)
from .place import scope_exists, scope_folder
from .projection import project_archive
from .store import ArchiveStore, export_in, project_fetch, project_search
from .types import (
    ArchiveDescriptor,
    ArchivedMessage,
    ArchiveProjection,
    ArchiveRef,
    ExportedRecord,
    Redactor,
)

__all__ = [
    "ArchiveDescriptor",
    "ArchiveProjection",
    "ArchiveRef",
    "ArchiveStore",
    "ArchivedMessage",
    "ExportedRecord",
    "Redactor",
    "SegmentBusy",
    "SegmentCorrupt",
    "SegmentDenied",
    "SegmentInvalid",
    "SegmentNotFound",
    "SegmentStoreFull",
    "SegmentUnsupported",
    "export_in",
    "project_archive",
    "project_fetch",
    "project_search",
    "scope_exists",
    "scope_folder",
]
