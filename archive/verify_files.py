"""Reads an archive through and checks it: every file, stream by stream, with flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .failures import ArchiveFailure, RoundDamaged, UnsafePath
from .layout import TEMP_PREFIX, is_hashed, stream_dir
from .publication import StoredRound, stored_round
from .record_json import StoredRecord
from .survey import ArchivedRound, Problem, StreamFolder, Survey, problem
from .verify import Finding, Kind, check_rounds

_LEFTOVER_AGE_NS: Final = 24 * 3_600_000_000_000
_PROBLEMS: Final[dict[str, Kind]] = {"damaged": "damaged", "unsafe": "unsafe"}


def check_archive(
    survey: Survey, *, now_ns: int, streams: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Everything in the archive, or of `streams` alone, that breaks a promise.

    `now_ns`, the time by the caller's clock, tells temporary files of dead workers from those
    of living ones: they are a day old. Raises `ArchiveMissing`, and `ArchiveFailure` where the
    top can't be read.
    """
    problems: list[Problem] = []
    for folder in _folders(survey, streams, problems):
        yield from _drain(problems)
        yield from _check_folder(survey, folder, now_ns)
    yield from _drain(problems)


def stored_rounds(survey: Survey, stream: str) -> tuple[StoredRound, ...]:
    """What the archive holds of one stream, for `check_stream`; unreadable files left out."""
    problems: list[Problem] = []
    return tuple(
        stored
        for folder in survey.folders_of(stream, problems.append)
        for stored, _ in _read(survey, folder, problems)
        if stored.is_of(stream)
    )


def _folders(
    survey: Survey, streams: tuple[str, ...], problems: list[Problem]
) -> Iterator[StreamFolder]:
    if not streams:
        yield from survey.folders(problems.append)
        return
    found = (folder for name in streams for folder in survey.folders_of(name, problems.append))
    yield from dict.fromkeys(found)


def _drain(problems: list[Problem]) -> Iterator[Finding]:
    for trouble in problems:
        kind = _PROBLEMS.get(trouble.reason, "unreadable")
        yield Finding(kind, "", trouble.detail, path=trouble.path)
    problems.clear()


def _check_folder(survey: Survey, folder: StreamFolder, now_ns: int) -> Iterator[Finding]:
    problems: list[Problem] = []
    streams: dict[str, list[StoredRound]] = {}
    for stored, found in _read(survey, folder, problems):
        if found is not None:
            yield from _check_place(found)
        if stored.identity is not None:
            name = stored.identity.stream_id or folder.name
            streams.setdefault(name, []).append(stored)
    yield from _drain(problems)
    for name, rounds in streams.items():
        yield from check_rounds(name, rounds, tenant=folder.tenant)
    try:
        yield from _leftovers(survey, folder, now_ns)
    except (ArchiveFailure, UnsafePath) as exc:
        yield from _drain([problem(exc)])


def _read(
    survey: Survey, folder: StreamFolder, problems: list[Problem]
) -> Iterator[tuple[StoredRound, ArchivedRound | None]]:
    for place, data in survey.contents(folder, problems.append):
        try:
            found = survey.decode(place, data)
        except RoundDamaged as exc:
            problems.append(problem(exc))
            continue
        if isinstance(found, ArchivedRound):
            stored = stored_round(place.round, StoredRecord(found.record, found.raw))
            yield stored, found
        else:
            yield stored_round(place.round, found), None


def _check_place(found: ArchivedRound) -> Iterator[Finding]:
    """A file moved by hand is read where it stands, and named here."""
    folder, record = found.place.folder, found.record
    if record.round not in (0, found.place.round):
        detail = f"the file of round {found.place.round} says it is round {record.round}"
        yield Finding(
            "misnumbered", found.stream, detail, path=found.place.path, tenant=folder.tenant
        )
    own_folder = len(folder.parts) == 2
    if own_folder and record.stream_id and stream_dir(record.stream_id) != folder.parts[1]:
        detail = f"a round of stream {record.stream_id!r} stands in another stream's folder"
        yield Finding(
            "misplaced", found.stream, detail, path=found.place.path, tenant=folder.tenant
        )
    if own_folder and not record.stream_id and is_hashed(folder.parts[1]):
        detail = "the record names no stream, and its folder tells none"
        yield Finding("misplaced", "", detail, path=found.place.path, tenant=folder.tenant)


def _leftovers(survey: Survey, folder: StreamFolder, now_ns: int) -> Iterator[Finding]:
    with survey.volume.folder(*folder.parts) as opened:
        for name in opened.names() if opened else ():
            if not name.startswith(TEMP_PREFIX) or opened is None:
                continue
            facts = opened.file_facts(name)
            if facts and now_ns - facts.mtime_ns > _LEFTOVER_AGE_NS:
                path = "/".join((*folder.parts, name))
                detail = "a dead worker left this file; the next round here sweeps it up"
                yield Finding(
                    "leftover", folder.name, detail, path=path, tenant=folder.tenant, level="note"
                )
