"""Reads and checks every record of a scope; one corrupt record stops whoever asked."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import SegmentCorrupt
from .limits import MAX_SCOPE_BYTES
from .private_dir import PrivateDir
from .record import Record, decode


def scan(directory: PrivateDir, scope: str, *, repair: bool) -> Iterator[tuple[int, Record, int]]:
    """Slot, record and file size of each segment, by slot; one record in memory at a time.

    Consume it whole: only then the scope is known to be sound. Raises `SegmentCorrupt`.
    """
    from .record_shape import RecordFault

    used = 0
    seen: set[str] = set()
    for slot in directory.slots():
        data = directory.read(slot, MAX_SCOPE_BYTES - used, repair=repair)
        if data is None:
            continue
        used += len(data)
        try:
            record = decode(data, scope)
        except RecordFault as fault:
            raise SegmentCorrupt(str(fault), slot) from None
        for name, value in (("id", record.id), ("digest", record.digest)):
            if value in seen:
                raise SegmentCorrupt(f"its {name} is another record's too", slot)
            seen.add(value)
        yield slot, record, len(data)
