"""A volume that takes its time, while others go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from archive.publishing.published import Result
from archive.publishing.writer import FileArchiveWriter
from archive.record import RoundRecord
from support.workshop import Workshop


class SlowWriter:
    """Takes `seconds` for everything; notes what it was asked to publish."""

    def __init__(self, shop: Workshop, seconds: float) -> None:
        self._writer = FileArchiveWriter(shop.directory, tenant=shop.tenant)
        self._seconds = seconds
        self.asked: list[tuple[str, int]] = []
        self.working = threading.Event()

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """As `FileArchiveWriter.record_many`."""
        waiting = list(records)
        self.asked += [(record.stream_id, record.round) for record in waiting]
        self.working.set()
        time.sleep(self._seconds)
        return self._writer.record_many(waiting)
