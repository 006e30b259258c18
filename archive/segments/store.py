"""The segments of one scope: seal, fetch, search, forget, export.

Each operation opens the directory, takes the lock without waiting, and reads and checks every
record of the scope before it answers: a corrupt one stops them all.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Sequence
from typing import Any, Final

from .errors import SegmentCorrupt, SegmentDenied, SegmentInvalid, SegmentNotFound, SegmentStoreFull
from .limits import (
    MAX_FETCH_MESSAGES,
    MAX_SCOPE_BYTES,
    MAX_SEARCH_RESULTS,
    MAX_SEGMENT_BYTES,
    MAX_SEGMENTS,
)
from .private_dir import PrivateDir
from .projection import Projected, hash_key, project
from .record import Record, encode_live, encode_tombstone
from .scan import scan
from .search import Query
from .types import ArchiveDescriptor, ArchivedMessage, ArchiveRef, ExportedRecord, Redactor

Base = str | os.PathLike[str]

_ID: Final = re.compile(r"[0-9a-f]{32}")
_READER: Final = "project-reader"


class ArchiveStore:
    """One conversation of a scope: seals into it; reads and forgets across its scope.

    `base`, `scope_key` and `logical_id` come from the trusted host, never from a model.
    Opening makes the directories. Each call stands alone, so threads may share a store; of two
    calls at once one gets `SegmentBusy`. On any error the caller keeps its source.
    """

    def __init__(
        self, base: Base, scope_key: str, logical_id: str, redactor: Redactor | None = None
    ) -> None:
        self._base = base
        self._scope, self._logical = hash_key(scope_key), hash_key(logical_id)
        self._redactor = redactor
        with PrivateDir.open(base, self._scope, durable=True):
            pass

    def seal(self, messages: Sequence[Any], note: str) -> ArchiveRef:
        """Keep the eligible part of `messages`; returns once it is durable.

        The same projection seals once: its first id is returned again, its first note kept.
        Raises `SegmentDenied` where that projection was forgotten.
        """
        projected = project(self._logical, messages, note, self._redactor)
        with PrivateDir.open(self._base, self._scope) as directory, directory.lock():
            used = 0
            taken: set[int] = set()
            known: Record | None = None
            for slot, record, size in scan(directory, self._scope, repair=True):
                used += size
                taken.add(slot)
                if record.digest == projected.digest:
                    known = record
            if known is not None:
                return _sealed_before(known, directory)
            free = next((slot for slot in range(MAX_SEGMENTS) if slot not in taken), None)
            if free is None:
                raise SegmentStoreFull("segments")
            segment_id = uuid.uuid4().hex
            parts = self._live_file(segment_id, projected)
            if used + sum(map(len, parts)) > MAX_SCOPE_BYTES:
                raise SegmentStoreFull("bytes")
            directory.publish(free, parts, replace=False)
        return ArchiveRef(segment_id, len(projected.messages), projected.source_message_count)

    def fetch(self, id: str, start: int, limit: int) -> list[dict[str, Any]]:
        """At most `limit` kept messages of a segment, from the zero-based `start` on.

        Empty past the end; a limit over 128 is refused. Raises `SegmentNotFound` for an unknown
        or forgotten id.
        """
        return [archived.message for archived in self.fetch_with_provenance(id, start, limit)]

    def fetch_with_provenance(self, id: str, start: int, limit: int) -> list[ArchivedMessage]:
        """As `fetch`, with the place of each message in the sealed list."""
        check_id(id)
        _check_count("start", start, None)
        _check_count("limit", limit, MAX_FETCH_MESSAGES)
        return self._live(id).messages(start, start + limit)

    def fetch_note(self, id: str) -> str:
        """The hidden note: for the host alone, never for a model or a search result."""
        check_id(id)
        return self._live(id).note

    def search(self, query: str, limit: int) -> list[ArchiveDescriptor]:
        """Segments with a message whose JSON contains `query`, whatever the case, by slot.

        An empty query lists the live segments. Notes are never searched. A limit over 32 is
        refused.
        """
        wanted = Query(query)
        _check_count("limit", limit, MAX_SEARCH_RESULTS)
        found: list[ArchiveDescriptor] = []
        if limit == 0:
            return found
        with PrivateDir.open(self._base, self._scope) as directory, directory.lock():
            for _, record, _ in scan(directory, self._scope, repair=True):
                if len(found) == limit or record.tombstone:
                    continue
                snippet = wanted.snippet(record)
                if snippet is not None:
                    counts = len(record.stored), record.source_message_count
                    found.append(ArchiveDescriptor(record.id, *counts, snippet))
        return found

    def forget(self, id: str) -> None:
        """Replace a segment by a tombstone, durably; doing it again is fine.

        Slot and digest are never used again. This deletes the record, not what snapshots or
        backups of the file system hold. Raises `SegmentNotFound` for an unknown id.
        """
        check_id(id)
        with PrivateDir.open(self._base, self._scope) as directory, directory.lock():
            found: tuple[int, Record] | None = None
            for slot, record, _ in scan(directory, self._scope, repair=True):
                if record.id == id:
                    found = slot, record
            if found is None:
                raise SegmentNotFound(id)
            slot, record = found
            if record.tombstone:
                directory.sync()
                return
            directory.publish(slot, [encode_tombstone(self._scope, record)], replace=True)

    def export_records(self) -> list[ExportedRecord]:
        """Every record of the scope, notes and tombstones included, changing nothing: host data.

        Raises `SegmentCorrupt` where there are records but no lock file.
        """
        return _export(self._base, self._scope)

    def _live(self, id: str) -> Record:
        found: Record | None = None
        with PrivateDir.open(self._base, self._scope) as directory, directory.lock():
            for _, record, _ in scan(directory, self._scope, repair=True):
                if record.id == id:
                    found = record
        if found is None or found.tombstone:
            raise SegmentNotFound(id)
        return found

    def _live_file(self, segment_id: str, projected: Projected) -> Sequence[bytes]:
        parts = encode_live(
            self._scope,
            self._logical,
            segment_id,
            projected.digest,
            count=projected.source_message_count,
            elements=projected.elements,
            note=projected.note,
        )
        if sum(map(len, parts)) > MAX_SEGMENT_BYTES:
            raise SegmentInvalid(f"the segment file would exceed {MAX_SEGMENT_BYTES} bytes")
        return parts


def project_search(base: Base, scope_key: str, query: str, limit: int) -> list[ArchiveDescriptor]:
    """`ArchiveStore.search` across all conversations of a scope."""
    return ArchiveStore(base, scope_key, _READER).search(query, limit)


def project_fetch(
    base: Base, scope_key: str, id: str, start: int, limit: int
) -> list[dict[str, Any]]:
    """`ArchiveStore.fetch` from any conversation of a scope."""
    return ArchiveStore(base, scope_key, _READER).fetch(id, start, limit)


def export_in(base: Base, scope_key: str) -> list[ExportedRecord]:
    """Every record of a scope, for a migration; a missing archive is empty.

    Makes no directory and no lock file, and changes no mode. Corrupt, unsafe or locked paths
    raise the segment errors.
    """
    return _export(base, hash_key(scope_key))


def _export(base: Base, scope: str) -> list[ExportedRecord]:
    directory = PrivateDir.open_existing(base, scope)
    if directory is None:
        return []
    with directory, directory.lock_to_read() as locked:
        rows = [_row(record) for _, record, _ in scan(directory, scope, repair=False)]
    if rows and not locked:
        raise SegmentCorrupt("it holds records but no lock file")
    return rows


def _row(record: Record) -> ExportedRecord:
    return ExportedRecord(
        id=record.id,
        digest=record.digest,
        logical_id=record.logical,
        source_message_count=record.source_message_count,
        messages=[
            {
                "source_index": archived.source_index,
                "block_indices": archived.block_indices,
                "message": archived.message,
            }
            for archived in record.messages()
        ],
        note=record.note,
        tombstone=record.tombstone,
    )


def _sealed_before(known: Record, directory: PrivateDir) -> ArchiveRef:
    if known.tombstone:
        raise SegmentDenied("this projection was forgotten; it can't be sealed again")
    # The first try may have failed after its rename and before its sync.
    directory.sync()
    return ArchiveRef(known.id, len(known.stored), known.source_message_count)


def check_id(id: str) -> None:
    """Raises `SegmentInvalid` unless `id` has the form of a segment's."""
    if not isinstance(id, str) or _ID.fullmatch(id) is None:
        raise SegmentInvalid("a segment id is 32 lower-case hex digits")


def _check_count(name: str, value: int, most: int | None) -> None:
    if not isinstance(value, int) or value < 0 or (most is not None and value > most):
        limits = "0 or more" if most is None else f"0 to {most}"
        raise SegmentInvalid(f"{name} must be {limits}")
