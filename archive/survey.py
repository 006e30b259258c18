"""Finds and reads rounds where they stand: in our layout, and in the two of ARES.

Ours is `<tenant>/<stream_dir>/round_N.json`. ARES writes `round_N.json` flat, or in one plain
folder for each stream; such rounds belong to the default tenant. All may live side by side.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from streams.event import DEFAULT_TENANT_ID

from .failures import ArchiveFailure, RecordDamaged, RoundDamaged, UnsafePath
from .places import (
    UNREADABLE,
    ArchivedRound,
    Place,
    Problem,
    Report,
    StreamFolder,
    Unreadable,
    is_tenant,
    is_text,
    own_folder,
    plain_folder,
    problem,
)
from .record_json import Tombstone, stored_from_bytes
from .storage.disk import FileFacts
from .storage.files import Folder
from .storage.layout import round_files, round_name, round_number, round_numbers, stream_dir
from .storage.open_folder import LINK
from .storage.volume import Volume

_T = TypeVar("_T")


def retry_stale(action: Callable[[], _T]) -> _T:
    """Do `action`, which walks from the top; once more where a handle had gone stale."""
    try:
        return action()
    except ArchiveFailure as exc:
        if exc.reason != "stale_handle":
            raise
    return action()


class Survey:
    """Reads an archive, of `tenants` only where some are given. Keeps nothing in memory."""

    def __init__(self, volume: Volume, tenants: Sequence[str] = ()) -> None:
        self.volume = volume
        self._tenants = frozenset(tenants)

    def wants(self, tenant: str) -> bool:
        """Whether rounds of `tenant` are asked for."""
        return not self._tenants or tenant in self._tenants

    def folders(self, report: Report) -> Iterator[StreamFolder]:
        """Every folder that may hold rounds, by name; what can't be looked into is reported.

        Raises `ArchiveMissing`, or `ArchiveFailure` where the top itself can't be read.
        """
        top = self._kinds()
        if self.wants(DEFAULT_TENANT_ID) and any(map(round_number, top)):
            yield self._flat()
        for name in self._subfolders((), top, report):
            try:
                below = self._kinds(name)
            except (ArchiveFailure, UnsafePath) as exc:
                report(problem(exc))
                continue
            if self.wants(DEFAULT_TENANT_ID) and any(map(round_number, below)):
                yield plain_folder(name)
            if is_tenant(name) and self.wants(name):
                for inner in self._subfolders((name,), below, report):
                    yield own_folder(name, inner)

    def folders_of(self, stream: str, report: Report) -> list[StreamFolder]:
        """The folders in which rounds of `stream` may stand.

        Looks where they ought to be; only where nothing is there, at ARES's folders one by one.
        """
        top = self._kinds()
        own = stream_dir(stream)
        found = [
            own_folder(tenant, own)
            for tenant in self._subfolders((), top, report)
            if is_tenant(tenant) and self.wants(tenant) and self.exists((tenant, own))
        ]
        if not self.wants(DEFAULT_TENANT_ID):
            return found
        if any(map(round_number, top)):
            found.append(self._flat())
        if top.get(stream) == "folder" and self.numbers(plain_folder(stream)):
            found.append(plain_folder(stream))
        return found or [
            folder
            for folder in self.folders(report)
            if len(folder.parts) == 1 and self.stream_in(folder) == stream
        ]

    def stamps(self, report: Report) -> Iterator[tuple[StreamFolder, FileFacts]]:
        """Every folder of `folders` with its facts, by one look at each from its parent."""
        for parent, group in groupby(self.folders(report), lambda folder: folder.parts[:-1]):
            try:
                with contextlib.ExitStack() as stack:
                    opened = self._enter(stack, parent)
                    for folder in group:
                        facts = _stamp(opened, folder)
                        if facts is not None and facts.kind == "folder":
                            yield folder, facts
            except (ArchiveFailure, UnsafePath) as exc:
                report(problem(exc))

    def exists(self, parts: tuple[str, ...]) -> bool:
        """Whether there is a folder at `parts`; a link in its place raises `UnsafePath`."""

        def look() -> bool:
            with self.volume.folder(*parts) as opened:
                return opened is not None

        return retry_stale(look)

    def numbers(self, folder: StreamFolder) -> list[int]:
        """The rounds in `folder`, ascending; none where it is missing."""

        def look() -> list[int]:
            with self.volume.folder(*folder.parts) as opened:
                return round_numbers(opened.names()) if opened else []

        return retry_stale(look)

    def stream_in(self, folder: StreamFolder) -> str | None:
        """The id of the stream in `folder`, from its newest readable record.

        None where nothing but tombstones is there.
        """
        damaged = False
        for number in reversed(self.numbers(folder)):
            try:
                found = self.read(Place(folder, number))
            except (RoundDamaged, UnsafePath, ArchiveFailure):
                damaged = True
                continue
            if isinstance(found, ArchivedRound):
                return found.stream
        return folder.name if damaged else None

    def read(self, place: Place) -> ArchivedRound | Tombstone | None:
        """What stands at `place`; None when it is gone.

        Raises `RoundDamaged`, `UnsafePath` or `ArchiveFailure`.
        """

        def look() -> bytes | None:
            with self.volume.folder(*place.folder.parts) as opened:
                return opened.read(round_name(place.round)) if opened else None

        data = retry_stale(look)
        return None if data is None else self.decode(place, data)

    def decode(self, place: Place, data: bytes) -> ArchivedRound | Tombstone:
        """What the bytes found at `place` say; raises `RoundDamaged`."""
        try:
            stored = stored_from_bytes(data)
        except RecordDamaged as exc:
            raise RoundDamaged(f"{self.volume.path}/{place.path}", exc.detail) from exc
        if isinstance(stored, Tombstone):
            return stored
        record = stored.record
        return ArchivedRound(place, place.folder.stream_of(record), record, stored.raw)

    def content(self, opened: Folder | None, place: Place, report: Report) -> bytes | None:
        """The bytes at `place`, whose folder is open; None when gone, or reported."""
        name = round_name(place.round)
        try:
            return opened.read(name) if opened else None
        except UNREADABLE as exc:
            return self._bytes_again(exc, place.folder, name, report)

    def contents(self, folder: StreamFolder, report: Report) -> Iterator[tuple[int, bytes]]:
        """Every round file of `folder`, highest number first: its number and its bytes.

        One that vanishes meanwhile has rotated away and is left out; what can't be read is
        reported, be it one file or the folder.
        """
        try:
            with contextlib.ExitStack() as stack:
                opened = self._enter(stack, folder.parts)
                if opened is None:
                    return
                for number, name in reversed(round_files(self._names(opened, folder))):
                    try:
                        data = opened.read(name)
                    except UNREADABLE as exc:
                        data = self._bytes_again(exc, folder, name, report)
                    if data is not None:
                        yield number, data
        except (ArchiveFailure, UnsafePath) as exc:
            report(problem(exc))

    def rounds(self, folder: StreamFolder, report: Report) -> Iterator[ArchivedRound]:
        """Every readable round of `folder`, highest number first; damaged ones are reported."""
        for number, data in self.contents(folder, report):
            try:
                found = self.decode(Place(folder, number), data)
            except RoundDamaged as exc:
                report(problem(exc))
                continue
            if isinstance(found, ArchivedRound):
                yield found

    def _bytes_again(
        self, error: Unreadable, folder: StreamFolder, name: str, report: Report
    ) -> bytes | None:
        """Read a file once more from the top where its handle had gone stale, or report it."""
        try:
            if not isinstance(error, ArchiveFailure) or error.reason != "stale_handle":
                raise error
            with self.volume.folder(*folder.parts) as again:
                return again.read(name) if again else None
        except UNREADABLE as exc:
            report(problem(exc))
            return None

    def _names(self, opened: Folder, folder: StreamFolder) -> list[str]:
        """What is in an open folder, by a walk from the top where its handle has gone stale."""
        try:
            return opened.names()
        except ArchiveFailure as exc:
            if exc.reason != "stale_handle":
                raise
        with self.volume.folder(*folder.parts) as again:
            return again.names() if again else []

    def _enter(self, stack: contextlib.ExitStack, parts: tuple[str, ...]) -> Folder | None:
        return retry_stale(lambda: stack.enter_context(self.volume.folder(*parts)))

    def _kinds(self, *parts: str) -> dict[str, str]:
        def look() -> dict[str, str]:
            with self.volume.folder(*parts) as opened:
                return opened.kinds() if opened else {}

        return retry_stale(look)

    def _subfolders(
        self, above: tuple[str, ...], kinds: Mapping[str, str], report: Report
    ) -> Iterator[str]:
        for name, kind in sorted(kinds.items()):
            path = "/".join((self.volume.path, *above, name))
            if not is_text(name):
                shown = path.encode(errors="backslashreplace").decode()
                report(Problem(shown, "unsafe", "its name is no UTF-8 text"))
            elif kind == "link":
                report(Problem(path, "unsafe", LINK))
            elif kind == "folder" and not name.startswith("."):
                yield name

    def _flat(self) -> StreamFolder:
        name = os.path.basename(os.path.realpath(self.volume.path))  # noqa: PTH119
        return StreamFolder(DEFAULT_TENANT_ID, (), name)


def _stamp(parent: Folder | None, folder: StreamFolder) -> FileFacts | None:
    if parent is None or not folder.parts:
        return parent.facts() if parent else None
    return parent.file_facts(folder.parts[-1])
