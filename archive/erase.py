"""Erases rounds on request: each becomes a content-free tombstone, never published again.

A round is replaced in one step, so a crash leaves it whole or erased; doing the same erasure
again finishes it. Temporary files in the folders concerned may hold the same content and go too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .failures import ArchiveFailure, RecordDamaged, RoundDamaged, RoundNotFound, UnsafePath
from .places import Problem, StreamFolder, problem
from .publishing.publication import identity_of
from .publishing.rotation import drop_taken
from .record import RoundIdentity
from .record_json import StoredRecord, Tombstone, stored_from_bytes, tombstone_to_bytes
from .storage.disk import Disk, Modes
from .storage.files import Folder
from .storage.layout import TAKEN_PREFIX, TEMP_PREFIX, round_name, round_numbers, stream_dir
from .storage.volume import Volume
from .survey import Survey

_Wanted = Callable[[int, str], bool]


@dataclass(slots=True)
class Erasure:
    """What an erasure did: rounds erased now, erased before, temporary files removed.

    `pending` names what could not be erased; the same call again tries those.
    """

    erased: int = 0
    already_erased: int = 0
    leftovers_removed: int = 0
    pending: list[Problem] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing is pending."""
        return not self.pending


class Eraser:
    """Erases from the archive at `directory`. Raises `ArchiveMissing` where there is none."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        disk: Disk | None = None,
        modes: Modes | None = None,
    ) -> None:
        self._volume = Volume(directory, disk=disk, modes=modes)

    def round(self, tenant: str, stream: str, number: int) -> Erasure:
        """Erase one round; raises `RoundNotFound` where it never was."""
        round_name(number)
        done = self._stream(tenant, stream, lambda n, name: n == number and name == stream)
        if not (done.erased or done.already_erased or done.pending):
            raise RoundNotFound(stream, number)
        return done

    def stream(self, tenant: str, stream: str) -> Erasure:
        """Erase every round of a stream; nothing to erase is no error."""
        return self._stream(tenant, stream, lambda _, name: name == stream)

    def tenant(self, tenant: str) -> Erasure:
        """Erase every round of a tenant."""
        done = Erasure()
        survey = Survey(self._volume, [tenant])
        for folder in survey.folders(done.pending.append):
            self._folder(folder, folder.name, lambda _, __: True, done)
        return done

    def _stream(self, tenant: str, stream: str, wanted: _Wanted) -> Erasure:
        done = Erasure()
        survey = Survey(self._volume, [tenant])
        for folder in survey.folders_of(stream, done.pending.append):
            if folder.parts[1:] == (stream_dir(stream),):
                # Its own: a record there that names no stream, edited by hand, is this stream's.
                self._folder(replace(folder, name=stream), stream, wanted, done)
            else:
                self._folder(folder, survey.stream_in(folder) or folder.name, wanted, done)
        return done

    def _folder(self, place: StreamFolder, owner: str, wanted: _Wanted, done: Erasure) -> None:
        try:
            with self._volume.folder(*place.parts) as folder:
                if folder is None:
                    return
                names = folder.names()
                try:
                    for number in round_numbers(names):
                        self._round(folder, place, owner, number, wanted, done)
                    for name in names:
                        if _is_leftover(name):
                            done.leftovers_removed += folder.remove(name)
                    # What rotation took away meanwhile is none of the rounds above.
                    for name in folder.names():
                        if name.startswith(TAKEN_PREFIX):
                            done.leftovers_removed += drop_taken(folder, name)
                finally:
                    folder.sync()
        except (ArchiveFailure, UnsafePath) as exc:
            done.pending.append(problem(exc))

    def _round(
        self,
        folder: Folder,
        place: StreamFolder,
        owner: str,
        number: int,
        wanted: _Wanted,
        done: Erasure,
    ) -> None:
        name = round_name(number)
        try:
            data = _read(folder, name)
            if data is None:
                return
            found = _decode(data)
            if isinstance(found, StoredRecord):
                record = found.record
                stream = place.stream_of(record)
                identity = replace(identity_of(record), stream_id=stream)
                tombstone = Tombstone(number, identity, record.tenant_id, record.epoch)
            elif found is None:
                # Damaged: whose it was is told by the folder, its identity by nothing.
                stream = owner
                tombstone = Tombstone(number, RoundIdentity(owner, 0, 0, ""), place.tenant)
            else:
                done.already_erased += wanted(number, found.identity.stream_id or owner)
                return
            if wanted(number, stream):
                folder.replace(folder.stage(tombstone_to_bytes(tombstone)), name)
                done.erased += 1
        except (ArchiveFailure, UnsafePath) as exc:
            # The round is what is pending, not the temporary file that could not be made.
            done.pending.append(replace(problem(exc), path=f"{folder.path}/{name}"))


def _is_leftover(name: str) -> bool:
    mine = name.startswith(TEMP_PREFIX) and not name.startswith(TAKEN_PREFIX)
    return mine or name.endswith(".json.tmp")


def _read(folder: Folder, name: str) -> bytes | None:
    try:
        return folder.read(name)
    except RoundDamaged:
        return b""


def _decode(data: bytes) -> StoredRecord | Tombstone | None:
    """What a file holds; None where it is damaged."""
    try:
        return stored_from_bytes(data)
    except RecordDamaged:
        return None
