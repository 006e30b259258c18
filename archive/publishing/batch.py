"""The rounds of one folder on their way into it: planned in order, staged, linked, made durable.

The three steps are apart so that a writer can take them for many folders at once. Rounds of a
stream are published in order: where one fails, those behind it are not tried.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from archive.failures import ArchiveFailure, PublicationConflict
from archive.record import RoundRecord
from archive.record_json import record_to_bytes
from archive.storage.files import Folder, Staged
from archive.storage.layout import TEMP_PREFIX, mark_in, mark_name, round_name, round_numbers
from streams.errors import AresError, UsageError

from .publication import (
    Adopt,
    DigestOf,
    Found,
    Plan,
    Publish,
    StoredRound,
    must_look,
    plan_publication,
)
from .published import Published, Result
from .rotation import Rotated, first_kept
from .stored_rounds import read_stored_rounds

LEFTOVER_AGE_NS: Final = 3_600_000_000_000
"""A temporary file this much older than a fresh one belongs to a dead worker."""

Rotate = Callable[[Folder, list[int], int], Rotated]
"""Folder, its numbers, and the first of those that stay: see `Rotation.rotate`."""


@dataclass(slots=True)
class _Job:
    index: int
    record: RoundRecord
    plan: Publish
    data: bytes
    staged: Staged | None = None
    failure: AresError | None = None


class StreamBatch:
    """Publishes `records`, all of one folder and in order; `answers` come in the same order.

    `fresh` is the lowest number that the same call has published before.
    """

    def __init__(
        self,
        folder: Folder,
        records: list[RoundRecord],
        *,
        confirmed: bool = False,
        digest_of: DigestOf | None = None,
        fresh: int = sys.maxsize,
    ) -> None:
        self.folder, self.records, self._fresh = folder, records, fresh
        self._results: list[Result | None] = [None] * len(records)
        self.jobs: list[_Job] = []
        self._numbers: list[int] = []
        self._confirmed, self._digest_of = confirmed, digest_of
        self._leftovers: list[str] = []
        self._found: list[str] = []

    def plan(self) -> None:
        """Look at the folder and decide for every record; no file is written yet."""
        names = self.folder.names()
        self._leftovers = [name for name in names if name.startswith(TEMP_PREFIX)]
        self._numbers = round_numbers(names)
        look_until = mark_in(names)
        stored: list[StoredRound] | None = None
        for index, record in enumerate(self.records):
            highest = self._highest()
            if stored is None and must_look(record, highest=highest, look_until=look_until):
                stored = read_stored_rounds(self.folder, self._numbers)
            plan = plan_publication(
                record,
                highest=highest,
                stored=stored or (),
                look_until=look_until,
                confirmed=self._confirmed,
                digest_of=self._digest_of,
            )
            try:
                follows = self._accept(index, record, plan)
            except UsageError as exc:
                self._give_up(index, exc)
                return
            if not follows:
                moved = PublicationConflict(record.stream_id, record.round, highest)
                self._give_up(index + 1, moved)
                return

    def _highest(self) -> int:
        return max((*self._numbers[-1:], *(job.record.round for job in self.jobs)), default=0)

    def _accept(self, index: int, record: RoundRecord, plan: Plan) -> bool:
        """Take a plan on; False when the records behind this one no longer follow from it."""
        if isinstance(plan, Publish):
            numbered = replace(record, round=plan.round, epoch=plan.epoch)
            self.jobs.append(_Job(index, numbered, plan, record_to_bytes(numbered)))
            return (plan.round, plan.epoch) == (record.round, record.epoch)
        if isinstance(plan, Found | Adopt):
            how: Literal["found", "adopted"] = "found" if isinstance(plan, Found) else "adopted"
            self._results[index] = Published.as_stored(plan.stored, how)
            self._found.append(round_name(plan.stored.round))
            same_place = (plan.stored.round, plan.stored.epoch) == (record.round, record.epoch)
            return how == "found" and same_place
        self._results[index] = PublicationConflict(record.stream_id, record.round, plan.highest)
        return False

    def stage(self, job: _Job) -> None:
        """Write one round under a temporary name, fsynced. Jobs may be staged side by side."""
        try:
            job.staged = self.folder.stage(job.data)
        except AresError as exc:
            job.failure = exc

    def finish(self, rotate: Rotate) -> None:
        """Link what was staged, in order, then make the names durable, then rotate."""
        try:
            self._link_all()
            for name in self._found:
                self._sync_found(name)
            if any(isinstance(result, Published) for result in self._results):
                self.folder.sync()
            self._sweep()
        except AresError as exc:
            self.fail(exc)
        self._rotate(rotate)

    def _link_all(self) -> None:
        stopped: AresError | None = None
        taken = 0
        try:
            # While these were written others may have gone on so far that rounds of the same
            # numbers have rotated away: their names are free and must not be used again.
            taken = max(round_numbers(self.folder.names()), default=0) if self.jobs else 0
        except AresError as exc:
            stopped = exc
        for job in self.jobs:
            stopped = stopped or job.failure
            if stopped is None and job.staged is not None:
                result = self._link(job, job.staged, is_taken=job.record.round <= taken)
                self._results[job.index] = result
                stopped = result if isinstance(result, AresError) else None
                continue
            if job.staged is not None:
                self.folder.discard(job.staged.name)
            self._results[job.index] = stopped
        if stopped is not None and self.jobs:
            behind = next(j.index for j in self.jobs if self._results[j.index] is stopped)
            self._give_up(behind, stopped)

    def _link(self, job: _Job, staged: Staged, *, is_taken: bool) -> Result:
        record, name = job.record, round_name(job.record.round)
        try:
            if is_taken:
                self.folder.discard(staged.name)
                return self._resolve(record, name)
            if job.plan.look_until:
                # Before the round: without the mark, those behind it could be stored twice.
                self.folder.mark(mark_name(job.plan.look_until))
            if self.folder.publish(staged, name):
                return Published(
                    record.round,
                    record.epoch,
                    record.last_version,
                    "written",
                    forked=job.plan.forked,
                    written_bytes=len(job.data),
                )
            return self._resolve(record, name)
        except AresError as exc:
            return exc

    def _resolve(self, record: RoundRecord, name: str) -> Result:
        """Another writer took the name since the folder was listed: is it the same round?"""
        theirs = read_stored_rounds(self.folder, [record.round])
        plan = plan_publication(record, highest=record.round, stored=theirs)
        if isinstance(plan, Found):
            self._found.append(name)
            return Published.as_stored(plan.stored, "found")
        return PublicationConflict(record.stream_id, record.round, record.round)

    def _sync_found(self, name: str) -> None:
        """Whoever published it may have died before it was durable."""
        try:
            self.folder.sync_file(name)
        except ArchiveFailure as exc:
            # Gone, it has rotated away: that happens behind later rounds that are durable.
            if exc.errno != errno.ENOENT:
                raise

    def _sweep(self) -> None:
        """Remove what dead workers left; ages are compared on the volume's own clock."""
        staged = [job.staged for job in self.jobs if job.staged is not None]
        with suppress(ArchiveFailure):
            for name in self._leftovers if staged else ():
                facts = self.folder.file_facts(name)
                if facts and staged[0].facts.mtime_ns - facts.mtime_ns > LEFTOVER_AGE_NS:
                    self.folder.discard(name)

    def _rotate(self, rotate: Rotate) -> None:
        placed = {i: r for i, r in enumerate(self._results) if isinstance(r, Published)}
        if not placed:
            return
        last = max(placed)
        try:
            # The folder is listed again: of rounds that another writer published or rotated
            # away meanwhile, none may stay behind a later one that goes.
            numbers = round_numbers(self.folder.names())
            kept_from = min(self._fresh, first_kept(numbers, placed.values()))
            removed, overdue = rotate(self.folder, numbers, kept_from)
            self._results[last] = replace(placed[last], rotated=removed, overdue=overdue)
        except AresError as exc:
            self._results[last] = replace(placed[last], rotation_failure=exc)

    def fail(self, failure: AresError) -> None:
        """Nothing of this batch can be called durable: answer every record with `failure`."""
        self.jobs = []
        self._give_up(0, failure)

    def answers(self) -> list[Result]:
        """One for each record, in their order, once `finish` or `fail` was called."""
        return [result for result in self._results if result is not None]

    def _give_up(self, first: int, failure: AresError) -> None:
        for index in range(first, len(self.records)):
            self._results[index] = failure
