"""Brings the index up to the archive: folders that changed are listed, new files are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final

from archive.failures import ArchiveFailure, RoundDamaged, UnsafePath
from archive.places import ArchivedRound, Place, Problem, Report, StreamFolder, problem
from archive.storage.disk import FileFacts
from archive.storage.files import Folder
from archive.storage.layout import round_name, round_numbers
from archive.survey import Survey, retry_stale
from streams.clock import Clock, system_clock

from .index_rows import IndexRows, KnownFolder, Stamp

Progress = Callable[[int], None]
"""Told now and then how many rounds were taken in so far."""

SETTLED_MS: Final = 5_000
"""A folder changed this recently may change again within the same tick of its clock."""

CHECKED_FILES: Final = 300
"""So many files of unchanged folders are looked at anew each time: someone may edit one."""

_COMMIT_EVERY: Final = 2_000


class Refresh:
    """One pass. Reads without a lock; takes the write lock only where something changed."""

    def __init__(
        self,
        db: sqlite3.Connection,
        survey: Survey,
        report: Report,
        progress: Progress | None = None,
        *,
        clock: Clock = system_clock,
    ) -> None:
        self._rows, self._survey, self._clock = IndexRows(db), survey, clock
        self._report, self._progress = report, progress
        self._taken = self._uncommitted = 0
        self._erased = self._troubled = False

    def run(self) -> None:
        """Take in every change, in transactions that each leave the index right."""
        known = {
            parts: before
            for tenant, parts, before in self._rows.folders()
            if self._survey.wants(tenant)
        }
        unchanged: list[tuple[StreamFolder, KnownFolder]] = []
        try:
            for folder, facts in self._survey.stamps(self._trouble):
                before = known.pop("/".join(folder.parts), None)
                if before and (before.inode, before.mtime_ns) == (facts.inode, facts.mtime_ns):
                    unchanged.append((folder, before))
                else:
                    self._take_folder(folder)
            for folder, before in self._some(unchanged):
                if self._differs(folder, before.id):
                    self._take_folder(folder)
            # Out of reach isn't gone: where something could not be looked at, nothing is dropped.
            for parts, before in known.items() if not self._troubled else ():
                self._drop_folder(parts, before)
            self._commit()
        except BaseException:
            self._rows.roll_back()
            raise
        if self._erased:
            self._rows.forget_dropped()
        self._report_damaged(set(known))

    def _trouble(self, trouble: Problem) -> None:
        self._troubled = True
        self._report(trouble)

    def _some(
        self, folders: list[tuple[StreamFolder, KnownFolder]]
    ) -> Iterator[tuple[StreamFolder, KnownFolder]]:
        """Other folders each time, up to a number of files: all of them in a small archive."""
        start = self._clock() % len(folders) if folders else 0
        files = 0
        for folder, before in folders[start:] + folders[:start]:
            if files >= CHECKED_FILES:
                return
            files += self._rows.count(before.id)
            yield folder, before

    def _differs(self, folder: StreamFolder, number: int) -> bool:
        try:
            with self._survey.volume.folder(*folder.parts) as opened:
                return opened is None or dict(_files(opened)) != self._rows.stamps(number)
        except (ArchiveFailure, UnsafePath):
            return True

    def _take_folder(self, folder: StreamFolder) -> None:
        def take() -> None:
            with self._survey.volume.folder(*folder.parts) as opened:
                if opened is not None:
                    self._take(folder, opened)

        try:
            retry_stale(take)
        except (ArchiveFailure, UnsafePath) as exc:
            self._report(problem(exc))

    def _take(self, folder: StreamFolder, opened: Folder) -> None:
        # Listed under the lock: an older listing must not undo what another reader took in.
        rows = self._rows
        rows.begin()
        # The stamp is taken before the listing: what comes later changes it again.
        facts = opened.facts()
        settled = self._clock() - facts.mtime_ns // 1_000_000 > SETTLED_MS
        files = dict(_files(opened))
        number = rows.folder_id(folder)
        before = rows.stamps(number)
        for gone in before.keys() - files.keys():
            rows.drop_round(number, gone)
        whole = True
        for round_, stamp in files.items():
            if before.get(round_) != stamp:
                if round_ in before:
                    rows.drop_round(number, round_)
                whole &= self._take_round(number, Place(folder, round_), opened, stamp)
        mtime_ns = facts.mtime_ns if settled and whole else 0
        rows.stamp_folder(KnownFolder(number, facts.inode, mtime_ns))
        self._commit_now_and_then()

    def _take_round(self, folder: int, place: Place, opened: Folder, stamp: Stamp) -> bool:
        """Index one file; False when it can't be read now and has to be tried again."""
        data = self._survey.content(opened, place, self._report)
        if data is None:
            return False
        try:
            found = self._survey.decode(place, data)
        except RoundDamaged as exc:
            self._rows.add_damaged(folder, place.round, stamp, exc.detail)
            return True
        if isinstance(found, ArchivedRound):
            self._rows.add_live(folder, stamp, found)
        else:
            self._rows.add_erased(folder, place.round, stamp)
            self._erased = True
        self._taken += 1
        self._uncommitted += 1
        return True

    def _drop_folder(self, parts: str, gone: KnownFolder) -> None:
        self._rows.begin()
        self._rows.drop_folder(parts, gone)
        self._commit_now_and_then()

    def _commit_now_and_then(self) -> None:
        if self._uncommitted >= _COMMIT_EVERY:
            self._commit()

    def _commit(self) -> None:
        self._rows.commit()
        self._uncommitted = 0
        if self._progress and self._taken:
            self._progress(self._taken)

    def _report_damaged(self, gone: set[str]) -> None:
        for tenant, parts, number, detail in self._rows.damaged():
            if self._survey.wants(tenant) and parts not in gone:
                path = "/".join(filter(None, (self._survey.volume.path, parts, round_name(number))))
                self._report(Problem(path, "damaged", detail))


def _files(opened: Folder) -> Iterator[tuple[int, Stamp]]:
    """Every round file of a folder with what tells one version of it from another."""
    for number in round_numbers(opened.names()):
        facts: FileFacts | None = opened.file_facts(round_name(number))
        if facts is not None:
            yield number, (facts.inode, facts.mtime_ns, facts.size)
