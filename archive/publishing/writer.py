"""Publishes rounds durably: what a call has answered is on disk, fsynced, and never changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from types import MappingProxyType
from typing import Final, TypeVar

from archive.errors import InvalidRound
from archive.failures import ArchiveFailure
from archive.record import RoundRecord
from archive.storage.disk import Disk, Modes
from archive.storage.layout import stream_dir
from archive.storage.volume import Volume
from streams.errors import AresError, UsageError
from streams.event import DEFAULT_TENANT_ID
from streams.keys import check_tenant

from .batch import StreamBatch
from .publication import DigestOf
from .published import Published, Result
from .rotation import Rotation

MAX_SYNC_THREADS: Final = 8
"""More threads than this make no volume faster."""

_CHUNK: Final = 128
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_T = TypeVar("_T")


class FileArchiveWriter:
    """Writes the rounds of one tenant below `directory`, creating what is missing.

    Any number of writers, in any number of processes and on any number of machines, may work
    on one archive at a time; no lock is taken. A writer may be shared by threads.

    `sentinel` names a file that only the real volume holds: where it is missing nothing is
    written, for `directory` is an empty mount point then.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        max_rounds: int = 200,
        *,
        tenant: str = DEFAULT_TENANT_ID,
        modes: Modes | None = None,
        sentinel: str = "",
        disk: Disk | None = None,
    ) -> None:
        if max_rounds < 0:
            raise UsageError(f"max_rounds is 0 (keep all) or more, not {max_rounds}")
        self.tenant = check_tenant(tenant)
        self._volume = Volume(directory, disk=disk, modes=modes, sentinel=sentinel)
        self._rotation = Rotation(max_rounds)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_lock = Lock()

    def record(
        self, record: RoundRecord, *, confirmed: bool = False, digest_of: DigestOf | None = None
    ) -> Published:
        """Publish one round; returns once it is durable, whoever wrote it.

        `record.round` and `record.epoch` are what the stream's state suggests; the round may
        get others (see `Published`). Raises `PublicationConflict`: read the state again, then,
        if it hasn't moved, call with `confirmed`, and with `digest_of` so that a file holding
        the same events, cut otherwise, is adopted. Raises `ArchiveFailure` or `UnsafePath`
        where the volume refuses; the call may be repeated at any time.
        """
        result = self._publish([record], confirmed=confirmed, digest_of=digest_of)[0]
        if isinstance(result, AresError):
            raise result
        return result

    def record_many(self, records: Iterable[RoundRecord]) -> list[Result]:
        """Publish many rounds, their fsyncs grouped; answers in the order of `records`.

        Rounds of one stream have to be in order; where one fails, those behind it get the
        same error and are not written. A failure harms no other stream. Never raises for the
        volume's sake. None of these rounds rotates away before a later call: see `Published`.
        """
        waiting = list(records)
        results: list[Result] = []
        stopped: dict[str, AresError] = {}
        fresh: dict[str, int] = {}
        for start in range(0, len(waiting), _CHUNK):
            chunk = waiting[start : start + _CHUNK]
            halted = dict(stopped)
            asked = [record for record in chunk if record.stream_id not in halted]
            answers = iter(self._publish(asked, fresh=fresh))
            for record in chunk:
                result = halted.get(record.stream_id) or next(answers)
                results.append(result)
                if isinstance(result, AresError):
                    stopped[record.stream_id] = result
                else:
                    folder = stream_dir(record.stream_id)
                    fresh[folder] = min(result.round, fresh.get(folder, result.round))
        return results

    def close(self) -> None:
        """End the threads; the writer may be used again."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _publish(
        self,
        records: Sequence[RoundRecord],
        *,
        confirmed: bool = False,
        digest_of: DigestOf | None = None,
        fresh: Mapping[str, int] = _NOTHING,
    ) -> list[Result]:
        groups: dict[str, list[int]] = {}
        for index, record in enumerate(records):
            if record.round < 1:
                raise InvalidRound(record.round)
            groups.setdefault(stream_dir(record.stream_id), []).append(index)

        def attempt(names: list[str]) -> dict[str, list[Result]]:
            asked = {name: [self._owned(records[i]) for i in groups[name]] for name in names}
            return self._publish_folders(asked, confirmed, digest_of, fresh)

        answers = attempt(list(groups)) if groups else {}
        stale = [name for name, results in answers.items() if any(map(_is_stale, results))]
        if stale:
            # The server forgot a handle: one more walk from the top, then it is an error.
            answers.update(attempt(stale))
        placed: dict[int, Result] = {}
        for name, indices in groups.items():
            placed.update(zip(indices, answers[name], strict=True))
        return [placed[index] for index in range(len(records))]

    def _owned(self, record: RoundRecord) -> RoundRecord:
        return record if record.tenant_id else replace(record, tenant_id=self.tenant)

    def _publish_folders(
        self,
        asked: dict[str, list[RoundRecord]],
        confirmed: bool,
        digest_of: DigestOf | None,
        fresh: Mapping[str, int],
    ) -> dict[str, list[Result]]:
        answers: dict[str, list[Result]] = {}
        batches: dict[str, StreamBatch] = {}
        try:
            with self._volume.make_folders(self.tenant, list(asked)) as folders:
                for (name, records), folder in zip(asked.items(), folders, strict=True):
                    if isinstance(folder, AresError):
                        answers[name] = [folder] * len(records)
                    else:
                        batches[name] = StreamBatch(
                            folder,
                            records,
                            confirmed=confirmed,
                            digest_of=digest_of,
                            fresh=fresh.get(name, sys.maxsize),
                        )
                self._run(list(batches.values()))
        except AresError as exc:
            return {name: [exc] * len(records) for name, records in asked.items()}
        return answers | {name: batch.answers() for name, batch in batches.items()}

    def _run(self, batches: list[StreamBatch]) -> None:
        """Write and fsync every file, then link all, then fsync every folder."""
        self._map(_plan, batches)
        jobs = [(batch, job) for batch in batches for job in batch.jobs]
        self._map(lambda pair: pair[0].stage(pair[1]), jobs)
        self._map(lambda batch: batch.finish(self._rotation.rotate), batches)

    def _map(self, function: Callable[[_T], None], items: Sequence[_T]) -> None:
        if len(items) < 2:
            for item in items:
                function(item)
            return
        with self._pool_lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(MAX_SYNC_THREADS, "archive-sync")
            pool = self._pool
        for _ in pool.map(function, items):
            pass


def _plan(batch: StreamBatch) -> None:
    try:
        batch.plan()
    except AresError as exc:
        batch.fail(exc)


def _is_stale(result: Result) -> bool:
    return isinstance(result, ArchiveFailure) and result.reason == "stale_handle"
