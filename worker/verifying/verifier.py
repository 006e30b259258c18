"""Checks logs, state, summaries and archive of a tenant against each other; changes nothing.

Workers may be busy meanwhile, so what looks wrong counts only when the next look finds it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from archive.failures import ArchiveFailure, ArchiveMissing, UnsafePath
from archive.places import StreamFolder
from archive.storage.layout import stream_dir
from archive.survey import Survey
from archive.verifying.checks import Finding, check_archived, check_stream, comparable_rounds
from archive.verifying.files import FolderCheck, check_archive, check_folder, own_folder
from streams.errors import StreamNotFound
from streams.forced import execute
from streams.redis_store import RedisEventStore
from worker.shared_facts import VERIFY_FIELDS

from .empty import empty_archive
from .looks import Checked, Look, Subject
from .stored import KeysLook, read_keys, read_log

_MORE_LOOKS: Final = 4
_SUSPECTS: Final = 200


class Verifier:
    """Checks one tenant. `checked` counts what was looked at.

    Before it looks again at what looked wrong it lets workers work for `pause_s`.
    """

    def __init__(
        self, store: RedisEventStore, survey: Survey, *, sentinel: str = "", pause_s: float = 0.3
    ) -> None:
        self.checked = Checked()
        self._store, self._survey, self._pause_s = store, survey, pause_s
        self._sentinel = sentinel

    async def verify(self) -> AsyncIterator[Finding]:
        """Every stream that Redis or the archive knows; of most, only the names are kept.

        Where no round is there at all, that is said first, and stands for each that is missing.
        Raises `StoreUnavailable`, and `ArchiveFailure` where the archive's top can't be read.
        """
        empty = await empty_archive(self._store, self._survey, sentinel=self._sentinel)
        if empty is not None:
            yield empty
        async for finding in self._verify_all():
            if empty is None or finding.kind != "not_in_archive":
                yield finding

    async def _verify_all(self) -> AsyncIterator[Finding]:
        suspects: dict[Subject, Look] = {}
        elsewhere: list[Finding] = []
        async for subject, look in self._first_looks(elsewhere):
            if look.found:
                suspects[subject] = look
            else:
                self.checked += look.counts
            if len(suspects) >= _SUSPECTS:
                for finding in await self._confirmed(suspects):
                    yield finding
        for finding in [*await self._confirmed(suspects), *elsewhere]:
            yield finding

    async def verify_stream(self, stream: str) -> list[Finding]:
        """One stream; raises `StreamNotFound` when neither Redis nor the archive knows it."""
        subject = Subject(stream, await asyncio.to_thread(self._folders_of, stream))
        look = await self._look(subject)
        if look.found:
            found = await self._confirmed({subject: look})
            if any(finding.kind == "not_in_archive" for finding in found):
                empty = await empty_archive(self._store, self._survey, sentinel=self._sentinel)
                return found if empty is None else [empty, *found]
            return found
        if look.keys is not None and look.keys.absent and not look.counts.rounds:
            raise StreamNotFound(stream)
        self.checked += look.counts
        return []

    async def note_result(self, findings: int, now_ms: int) -> None:
        """Leave the result of a whole `verify` where every worker's metrics find it."""
        succeeded, counted = VERIFY_FIELDS
        values = [counted, findings, *((succeeded, now_ms) if findings == 0 else ())]
        async with self._store.wires.borrow() as wire:
            await execute(wire, [], [("HSET", self._store.keys.verify, *values)])

    async def _first_looks(self, elsewhere: list[Finding]) -> AsyncIterator[tuple[Subject, Look]]:
        """One look at everything; what belongs to no subject goes to `elsewhere`."""
        store, seen = self._store, set[tuple[str, ...]]()
        (names,) = await store.wires.exchange([("ZRANGE", store.keys.streams, 0, -1)])
        for name in sorted(names):
            stream = _text(name)
            if not stream:
                detail = f"{name!r} is listed among the streams, and is no stream's name"
                elsewhere.append(Finding("state", "", detail))
                continue
            folder = own_folder(store.tenant, stream)
            seen.add(folder.parts)
            subject = Subject(stream, (folder,))
            yield subject, await self._look(subject)
        async for subject, look in self._rest_of_archive(seen, elsewhere):
            yield subject, look

    async def _rest_of_archive(
        self, seen: set[tuple[str, ...]], elsewhere: list[Finding]
    ) -> AsyncIterator[tuple[Subject, Look]]:
        """Folders of streams that Redis has forgotten or doesn't list, and those ARES wrote."""
        walk = check_archive(self._survey, now_ns=self._now_ns(), but=seen)
        while (step := await asyncio.to_thread(_next, walk)) is not None:
            folder, check = step
            if folder is None:
                elsewhere += check.findings
                continue
            owner = next((s for s in check.rounds if folder.parts[1:] == (stream_dir(s),)), "")
            if owner and not (await self._read_keys(owner)).absent:
                subject = Subject(owner, (folder,))
                yield subject, await self._look(subject)
            else:
                counts = Checked(streams=len(check.rounds), rounds=check.files)
                yield Subject("", (folder,)), Look(None, tuple(check.findings), counts)

    async def _confirmed(self, suspects: dict[Subject, Look]) -> list[Finding]:
        """Look at all of them again, and empty `suspects`.

        What two looks on end find is a finding; what a busy worker caused is gone or another.
        Where a stream moved in between, or something new turned up, there is one more look.
        """
        confirmed: list[Finding] = []
        for left in reversed(range(_MORE_LOOKS)):
            if suspects:
                await asyncio.sleep(self._pause_s)
            for subject, before in list(suspects.items()):
                again = await self._look(subject)
                same = tuple(finding for finding in again.found if finding in before.found)
                settled = same == again.found and again.keys == before.keys
                if again.found and left and not settled:
                    suspects[subject] = again
                    continue
                del suspects[subject]
                self.checked += again.counts
                confirmed += same
        return confirmed

    async def _look(self, subject: Subject) -> Look:
        # Redis first: what is archived meanwhile is then one round more than the state knows;
        # the other way round it would be missing.
        keys = await self._read_keys(subject.stream) if subject.stream else None
        checks = [await asyncio.to_thread(self._check, each) for each in subject.folders]
        found = [finding for check in checks for finding in check.findings]
        files = sum(check.files for check in checks)
        if keys is None:
            streams = len({stream for check in checks for stream in check.rounds})
            return Look(None, tuple(found), Checked(streams, 0, files))
        broken, events = await self._compare(subject.stream, keys, checks)
        return Look(keys, (*found, *broken), Checked(1, events, files))

    async def _compare(
        self, stream: str, keys: KeysLook, checks: Sequence[FolderCheck]
    ) -> tuple[list[Finding], int]:
        """What the keys of a stream break, alone and beside its rounds; events read for that."""
        live = keys.live
        if keys.damage:
            return [Finding("log", stream, f"quarantined: {keys.damage}")], 0
        if live is None:
            detail = "is listed, and has no head, no log and no state"
            return [Finding("state", stream, detail)] if keys.listed else [], 0
        rounds = [stored for check in checks for stored in check.rounds.get(stream, ())]
        spans = [
            (each.first_version, each.last_version) for each in comparable_rounds(live, rounds)
        ]
        async with self._store.wires.borrow() as wire:
            log = await read_log(wire, self._store.keys, live, keys.log_bytes, spans)
        found = check_stream(live, log.trouble or keys.bad_log)
        if keys.bad_summary:
            found.append(Finding("summaries", stream, keys.bad_summary))
        if all(check.readable for check in checks):
            found += check_archived(live, rounds, log.digests)
        return found, log.events

    async def _read_keys(self, stream: str) -> KeysLook:
        async with self._store.wires.borrow() as wire:
            return await read_keys(wire, self._store.keys, stream)

    def _check(self, folder: StreamFolder) -> FolderCheck:
        try:
            return check_folder(self._survey, folder, now_ns=self._now_ns())
        except ArchiveMissing:
            return FolderCheck()

    def _folders_of(self, stream: str) -> tuple[StreamFolder, ...]:
        """Its own folder, where it must be, and those of ARES that hold it."""
        own = own_folder(self._store.tenant, stream)
        try:
            found = self._survey.folders_of(stream, lambda _: None)
        except (ArchiveMissing, ArchiveFailure, UnsafePath):
            return (own,)  # a look at it says why
        return (own, *(folder for folder in found if folder.parts != own.parts))

    def _now_ns(self) -> int:
        return self._store.clock() * 1_000_000


def _next(
    walk: Iterator[tuple[StreamFolder | None, FolderCheck]],
) -> tuple[StreamFolder | None, FolderCheck] | None:
    """The next step of a walk, None at its end; an archive that isn't there has none."""
    try:
        return next(walk, None)
    except ArchiveMissing:
        return None


def _text(name: bytes) -> str:
    """A stream's name; empty for what is none."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return ""
