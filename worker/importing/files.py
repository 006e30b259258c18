"""Files of JSON lines into the inbox, in order, in bounded batches."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Self

from streams.clock import system_clock
from streams.errors import CorruptionError
from streams.send import send_to_inbox

from .lines import BadLine, ImportEntry, LineParser, longest_line

if TYPE_CHECKING:
    from streams.codec import Limits
    from streams.redis_store import RedisEventStore

_BATCH_ENTRIES: Final = 500
_BATCH_BYTES: Final = 4 * 1024 * 1024
_SKIP_BYTES: Final = 1 << 20


class BadImport(CorruptionError):
    """Lines of an import are bad, and nothing was sent."""

    hint = "Mend the lines named above; what is good in the files was not sent."

    def __init__(self, bad: int) -> None:
        super().__init__(f"{bad} bad line{'s' * (bad != 1)}: nothing was sent")
        self.bad = bad


@dataclass(slots=True)
class ImportReport:
    """What an import did."""

    files: int = 0
    sent: int = 0
    skipped: int = 0
    streams: set[str] = field(default_factory=set)


OnBad = Callable[[str, BadLine], None]
OnProgress = Callable[[int], None]


class ImportFile:
    """One file, open; standard input when its name is `-`. A context manager."""

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == "-" else name
        if name == "-":
            self._file: BinaryIO = sys.stdin.buffer
            self.size, self._modified_ms = 0, system_clock()
        else:
            self._file = Path(name).open("rb")  # noqa: SIM115  # closed by __exit__
            stat = Path(name).stat()
            self.size, self._modified_ms = stat.st_size, stat.st_mtime_ns // 1_000_000

    def keep(self) -> None:
        """Make sure that it can be read twice: a pipe goes into a temporary file."""
        if not self._file.seekable():
            spooled = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__
            shutil.copyfileobj(self._file, spooled)
            spooled.seek(0)
            self._file = spooled

    def lines(self, limits: Limits, on_progress: OnProgress) -> Iterator[ImportEntry | BadLine]:
        """What its lines say, from the first; blank ones are left out."""
        if self._file.seekable():
            self._file.seek(0)
        parser = LineParser(self._modified_ms, limits)
        longest = longest_line(limits) + len(b"\r\n")
        number = 0
        while raw := self._file.readline(longest + 1):
            number += 1
            on_progress(len(raw))
            if len(raw) > longest and not raw.endswith(b"\n"):
                on_progress(self._skip_line())
            parsed = parser.parse(number, raw)
            if parsed is not None:
                yield parsed

    def _skip_line(self) -> int:
        """Read to the end of the line without keeping it; how many bytes that was."""
        skipped = 0
        while rest := self._file.readline(_SKIP_BYTES):
            skipped += len(rest)
            if rest.endswith(b"\n"):
                break
        return skipped

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()


def check_files(
    files: Sequence[ImportFile], limits: Limits, *, on_bad: OnBad, on_progress: OnProgress
) -> None:
    """Read all `files`, send nothing; raises `BadImport` when a line is bad."""
    bad = 0
    for file in files:
        file.keep()
        for parsed in file.lines(limits, on_progress):
            if isinstance(parsed, BadLine):
                bad += 1
                on_bad(file.name, parsed)
    if bad:
        raise BadImport(bad)


async def send_files(
    store: RedisEventStore,
    files: Sequence[ImportFile],
    *,
    on_bad: OnBad,
    on_progress: OnProgress,
) -> ImportReport:
    """Send the good lines of `files` in order; raises `BadImport` when there is none but bad."""
    report = ImportReport()
    batch = _Batch(store, report)
    for file in files:
        report.files += 1
        for parsed in file.lines(store.options.limits, on_progress):
            if isinstance(parsed, BadLine):
                report.skipped += 1
                on_bad(file.name, parsed)
            else:
                await batch.add(parsed)
    await batch.send()
    if report.skipped and not report.sent:
        raise BadImport(report.skipped)
    return report


class _Batch:
    """Entries on their way in one packet."""

    def __init__(self, store: RedisEventStore, report: ImportReport) -> None:
        self._store, self._report = store, report
        self._entries: list[ImportEntry] = []
        self._bytes = 0

    async def add(self, entry: ImportEntry) -> None:
        """Take one more; sends first when it doesn't fit."""
        if len(self._entries) >= _BATCH_ENTRIES or self._bytes + entry.size > _BATCH_BYTES:
            await self.send()
        self._entries.append(entry)
        self._bytes += entry.size

    async def send(self) -> None:
        """Send what there is."""
        if self._entries:
            fields = [entry.fields for entry in self._entries]
            await send_to_inbox(self._store.wires, self._store.keys, fields)
            self._report.sent += len(self._entries)
            self._report.streams.update(entry.stream for entry in self._entries)
            self._entries, self._bytes = [], 0
