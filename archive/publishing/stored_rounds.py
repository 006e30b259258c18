"""Reads what the files of an open folder say of themselves."""

from __future__ import annotations

from collections.abc import Iterable

from archive.failures import RecordDamaged, UnsafePath
from archive.record_json import stored_from_bytes
from archive.storage.layout import round_name
from archive.storage.open_folder import OpenFolder

from .publication import StoredRound, stored_round


def read_stored_rounds(folder: OpenFolder, numbers: Iterable[int]) -> list[StoredRound]:
    """What the files of rounds `numbers` say; one that vanished meanwhile is left out.

    A file that can't be read is an error: taken for damaged, its round could be stored twice.
    """
    stored = []
    for number in numbers:
        try:
            data = folder.read(round_name(number))
            if data is not None:
                stored.append(stored_round(number, stored_from_bytes(data)))
        except (RecordDamaged, UnsafePath):
            stored.append(stored_round(number, None))
    return stored
