"""Pure. Proofs over a sequence of events: no gap, no repeat, and a short fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .errors import StreamIntegrityError
from .event import SUMMARY_TYPE, Event


def verify_stream_integrity(events: Iterable[Event]) -> None:
    """Raise `StreamIntegrityError` at the first event whose version isn't its forerunner's + 1.

    Events of version 0 come from stores that kept no versions and are skipped. A summary counts
    as the versions it stands for.
    """
    previous: int | None = None
    for index, event in enumerate(events):
        if event.version == 0:
            continue
        first = event.version
        if event.type == SUMMARY_TYPE:
            first = int(event.payload.get("first_version", first))
        if previous is not None and first != previous + 1:
            raise StreamIntegrityError(index, previous + 1, first)
        previous = event.version


def stream_hash(events: Iterable[Event]) -> str:
    """First 8 bytes, as hex, of SHA-256 over id, type and decimal version of each in turn."""
    digest = hashlib.sha256()
    for event in events:
        digest.update(f"{event.id}{event.type}{event.version}".encode())
    return digest.hexdigest()[:16]
