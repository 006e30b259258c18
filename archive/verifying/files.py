"""Reads an archive's folders through and checks their files; holds one folder's facts at a time."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from archive.failures import ArchiveFailure, RoundDamaged, UnsafePath
from archive.places import ArchivedRound, Place, Problem, Report, StreamFolder, problem
from archive.publishing.publication import StoredRound, stored_round
from archive.record_json import StoredRecord, Tombstone
from archive.storage.files import Folder
from archive.storage.layout import TEMP_PREFIX, is_hashed, round_numbers, stream_dir
from archive.survey import Survey, retry_stale

from .checks import Finding, Kind
from .rounds import check_rounds

LEFTOVER_AGE_NS: Final = 24 * 3_600_000_000_000
"""A temporary file this old is told; the volume's clock and the caller's may differ."""

_PROBLEMS: Final[dict[str, Kind]] = {"damaged": "damaged", "unsafe": "unsafe"}


@dataclass(slots=True)
class FolderCheck:
    """What a folder holds: the rounds in its files by stream, how many files these are, damaged
    ones among them, and what is wrong with them. Not `readable`: it could not be looked into.
    """

    rounds: dict[str, list[StoredRound]] = field(default_factory=dict)
    files: int = 0
    findings: list[Finding] = field(default_factory=list)
    readable: bool = True


def own_folder(tenant: str, stream: str) -> StreamFolder:
    """Where the rounds of `stream` belong; it may be missing."""
    return StreamFolder(tenant, (tenant, stream_dir(stream)), stream)


def check_archive(
    survey: Survey, *, now_ns: int, but: Container[tuple[str, ...]] = ()
) -> Iterator[tuple[StreamFolder | None, FolderCheck]]:
    """Check every folder that may hold rounds, except those at the parts `but`.

    What can't be looked into on the way comes last, without a folder. Raises `ArchiveMissing`,
    and `ArchiveFailure` where the top can't be read.
    """
    problems: list[Problem] = []
    for folder in survey.folders(problems.append):
        if folder.parts not in but:
            yield folder, check_folder(survey, folder, now_ns=now_ns)
    top = f"{survey.volume.path}/"
    told = [
        _finding(trouble, "")
        for trouble in problems
        if tuple(trouble.path.removeprefix(top).split("/")) not in but
    ]
    if told:
        yield None, FolderCheck(findings=told, readable=False)


def check_folder(survey: Survey, folder: StreamFolder, *, now_ns: int) -> FolderCheck:
    """Check the files of `folder`, each alone and all together; none where it is missing.

    `now_ns`, the time by the caller's clock, tells temporary files of dead workers from those
    of living ones. What vanishes meanwhile has rotated away. Raises `ArchiveMissing`.
    """
    try:
        return retry_stale(lambda: _check_files(survey, folder, now_ns))
    except (ArchiveFailure, UnsafePath) as exc:
        found = [_finding(problem(exc), folder.name)]
        return FolderCheck(findings=found, readable=False)


def _check_files(survey: Survey, folder: StreamFolder, now_ns: int) -> FolderCheck:
    checked = FolderCheck()
    problems: list[Problem] = []
    places: list[Finding] = []
    with survey.volume.folder(*folder.parts) as opened:
        names = opened.names() if opened else []
        for stored, found in _read(survey, opened, folder, names, problems.append):
            checked.files += 1
            name = (stored.identity and stored.identity.stream_id) or folder.name
            checked.rounds.setdefault(name, []).append(stored)
            if found is not None:
                places += _check_place(survey, found)
        leftovers = list(_leftovers(opened, folder, names, now_ns)) if opened else []
    checked.files += len(problems)
    owner = next(iter(checked.rounds)) if len(checked.rounds) == 1 else folder.name
    checked.findings += [_finding(trouble, owner) for trouble in problems]
    checked.findings += places
    for name, rounds in checked.rounds.items():
        checked.findings += check_rounds(name, rounds)
    checked.findings += leftovers
    return checked


def _read(
    survey: Survey,
    opened: Folder | None,
    folder: StreamFolder,
    names: list[str],
    report: Report,
) -> Iterator[tuple[StoredRound, ArchivedRound | None]]:
    """Highest number first: so rotation, which takes the oldest, leaves no gap in what is seen."""
    for number in reversed(round_numbers(names)):
        place = Place(folder, number)
        data = survey.content(opened, place, report)
        if data is None:
            continue
        try:
            found = survey.decode(place, data)
        except RoundDamaged as exc:
            report(problem(exc))
            continue
        if isinstance(found, Tombstone):
            yield stored_round(number, found), None
        else:
            yield stored_round(number, StoredRecord(found.record, found.raw)), found


def _check_place(survey: Survey, found: ArchivedRound) -> Iterator[Finding]:
    """A file moved by hand is read where it stands, and named here."""
    folder, record = found.place.folder, found.record
    path = f"{survey.volume.path}/{found.place.path}"

    def finding(kind: Kind, detail: str) -> Finding:
        return Finding(kind, found.stream, detail, path=path)

    if record.round not in (0, found.place.round):
        detail = f"the file of round {found.place.round} says it is round {record.round}"
        yield finding("misnumbered", detail)
    if len(folder.parts) != 2:
        return
    if record.stream_id and stream_dir(record.stream_id) != folder.parts[1]:
        detail = f"a round of stream {record.stream_id!r} stands in another stream's folder"
        yield finding("misplaced", detail)
    if not record.stream_id and is_hashed(folder.parts[1]):
        yield finding("misplaced", "the record names no stream, and its folder tells none")


def _leftovers(
    opened: Folder, folder: StreamFolder, names: Sequence[str], now_ns: int
) -> Iterator[Finding]:
    for name in names:
        if not name.startswith(TEMP_PREFIX):
            continue
        try:
            facts = opened.file_facts(name)
        except ArchiveFailure as exc:
            yield _finding(problem(exc), folder.name)
            continue
        if facts and now_ns - facts.mtime_ns > LEFTOVER_AGE_NS:
            detail = "a dead worker left this file; the next round here sweeps it up"
            path = f"{opened.path}/{name}"
            yield Finding("leftover", folder.name, detail, path=path, is_note=True)


def _finding(trouble: Problem, stream: str) -> Finding:
    kind = _PROBLEMS.get(trouble.reason, "unreadable")
    return Finding(kind, stream, trouble.detail, path=trouble.path)
