"""The archive as `verify` sees it: round files by stream, with what can't be read beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from archive.digest import events_digest
from archive.failures import ArchiveMissing, RoundDamaged
from archive.layout import stream_dir
from archive.reader import FileArchiveReader
from archive.record_json import Tombstone
from archive.survey import ArchivedRound, Problem, Report, StreamFolder, problem
from streams.event import Event
from streams.state import StreamState

from .verify_rules import Contradiction, Kind, RoundFile


class ArchiveView:
    """Reads one tenant's part of an archive, which may be missing."""

    def __init__(self, archive: FileArchiveReader) -> None:
        self._survey = archive.survey

    def rounds(self, stream: str) -> tuple[list[RoundFile], list[Contradiction]]:
        """The round files of `stream` by number, and what is wrong with single files."""
        found: list[Contradiction] = []
        rounds: list[RoundFile] = []
        with suppress(ArchiveMissing):
            for folder in self._survey.folders_of(stream, _into(found)):
                rounds += self._rounds_in(folder, stream, found)
        return sorted(rounds), found

    def leftovers(
        self, known: Collection[str]
    ) -> Iterator[tuple[str, list[RoundFile], list[Contradiction]]]:
        """Streams beside the `known` ones: Redis has forgotten them, or never knew them.

        What can't be looked into comes last, with an empty name.
        """
        folders_known = {stream_dir(stream) for stream in known}
        unreadable: list[Contradiction] = []
        with suppress(ArchiveMissing):
            for folder in self._survey.folders(_into(unreadable)):
                if folder.parts and folder.parts[-1] in folders_known:
                    continue
                stream = self._survey.stream_in(folder)
                if stream is not None and stream not in known:
                    found: list[Contradiction] = []
                    yield stream, sorted(self._rounds_in(folder, stream, found)), found
        if unreadable:
            yield "", [], unreadable

    def _rounds_in(
        self, folder: StreamFolder, stream: str, found: list[Contradiction]
    ) -> Iterator[RoundFile]:
        report = _into(found)
        for place, data in self._survey.contents(folder, report):
            try:
                item = self._survey.decode(place, data)
            except RoundDamaged as exc:
                report(problem(exc))
                continue
            if isinstance(item, Tombstone) or item.stream == stream:
                yield _round_file(item)
            else:
                detail = f"{place.path} says that it belongs to stream {item.stream!r}"
                found.append((Kind.ARCHIVE, detail))


def _into(found: list[Contradiction]) -> Report:
    def report(trouble: Problem) -> None:
        found.append((Kind.DAMAGED, f"{trouble.path}: {trouble.detail}"))

    return report


class DigestCheck:
    """Compares the digests of round files with the events that are still in the log."""

    def __init__(self, rounds: Sequence[RoundFile], state: StreamState) -> None:
        self._due = [
            item
            for item in rounds
            if item.digest and item.epoch == state.epoch and item.first > state.compacted_version
        ]
        self._events: list[Event] = []

    def feed(self, events: Sequence[Event]) -> Iterator[Contradiction]:
        """Take the next events of the log, in order."""
        for event in events:
            if not self._due or event.version < self._due[0].first:
                continue
            self._events.append(event)
            if event.version == self._due[0].last:
                expected = self._due.pop(0)
                if events_digest(self._events) != expected.digest:
                    yield (
                        Kind.ARCHIVE,
                        f"round {expected.number} isn't made of the events "
                        f"{expected.first}..{expected.last} of the log",
                    )
                self._events.clear()


def _round_file(item: ArchivedRound | Tombstone) -> RoundFile:
    if isinstance(item, Tombstone):
        identity = item.identity
        return RoundFile(
            item.round,
            item.epoch,
            identity.first_version,
            identity.last_version,
            identity.events_digest,
        )
    record = item.record
    return RoundFile(
        item.place.round,
        record.epoch,
        record.first_version,
        record.last_version,
        record.events_digest,
    )
