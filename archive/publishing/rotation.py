"""Keeps the newest rounds of a stream: `max_rounds`, by end time, never failing a reader."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Collection
from threading import Lock
from typing import Final, NamedTuple

from archive.failures import RecordDamaged
from archive.record_json import Tombstone, check_bytes, stored_from_bytes
from archive.storage.files import Folder, Staged
from archive.storage.layout import TAKEN_PREFIX, round_name

from .publication import Aged, plan_rotation
from .published import Published
from .stored_rounds import read_stored_rounds

_REMEMBERED_FOLDERS: Final = 256


class Rotated(NamedTuple):
    """How many rounds went; whether more would have, had the state known of those behind them."""

    removed: int
    overdue: bool


class Rotation:
    """Removes the oldest rounds of a folder beyond `max_rounds`; 0 keeps all.

    Remembers what the files of recently used folders say: they never change but by erasure,
    which is looked for again before a file is removed.
    """

    def __init__(self, max_rounds: int) -> None:
        self._max_rounds = max_rounds
        self._lock = Lock()
        self._remembered: OrderedDict[str, dict[int, Aged]] = OrderedDict()

    def rotate(self, folder: Folder, numbers: list[int], fresh: int) -> Rotated:
        """Remove what is too old among rounds `numbers`, but none from `fresh` on.

        To be called when the newest round is durable. Removals need no fsync: one that is
        lost with the power is made again. Raises `ArchiveFailure`.
        """
        if not 0 < self._max_rounds < len(numbers):
            return Rotated(0, overdue=False)
        known = self._facts(folder, numbers)
        too_old = plan_rotation(known.values(), self._max_rounds)
        going = plan_rotation(known.values(), self._max_rounds, fresh=fresh)
        removed = 0
        for number in going:
            if self._is_record(folder, number) and (taken := _take(folder, number)):
                removed += drop_taken(folder, taken)
            known.pop(number)
        self._remember(folder.path, known)
        return Rotated(removed, overdue=len(going) < len(too_old))

    def _facts(self, folder: Folder, numbers: list[int]) -> dict[int, Aged]:
        with self._lock:
            known = self._remembered.pop(folder.path, {})
        fresh = read_stored_rounds(folder, [n for n in numbers if n not in known])
        present = set(numbers)
        known = {number: aged for number, aged in known.items() if number in present}
        known.update((stored.round, stored.aged) for stored in fresh)
        return known

    def _is_record(self, folder: Folder, number: int) -> bool:
        try:
            data = folder.read(round_name(number))
            return data is not None and check_bytes(data)
        except RecordDamaged:
            return False

    def _remember(self, path: str, known: dict[int, Aged]) -> None:
        with self._lock:
            self._remembered[path] = known
            if len(self._remembered) > _REMEMBERED_FOLDERS:
                self._remembered.popitem(last=False)


def first_kept(numbers: list[int], placed: Collection[Published]) -> int:
    """From which number on rounds stay that a call has `placed` in a folder of `numbers`.

    The state doesn't know them yet, so they could come again. Not so what was written below
    another writer's rounds: the state had passed those names when they became free.
    """
    passed = bool(numbers) and all(each.round < numbers[-1] for each in placed)
    kept = (each.round for each in placed if not (passed and each.how == "written"))
    return min(kept, default=sys.maxsize)


def drop_taken(folder: Folder, name: str) -> bool:
    """End what `Rotation` began: a round goes, a tombstone gets its own name back.

    Whoever finds such a file may do so. Returns whether it was a round, and is gone now. Raises
    `ArchiveFailure`.
    """
    facts, data = folder.file_facts(name), folder.read(name)
    if facts is None or data is None:
        return False  # somebody else was faster
    try:
        found = stored_from_bytes(data)
    except RecordDamaged:
        found = None  # by the disk: it was whole when it was taken
    if not isinstance(found, Tombstone):
        return folder.remove(name)
    folder.publish(Staged(name, facts), round_name(found.round))
    folder.sync()
    return False


def _take(folder: Folder, number: int) -> str | None:
    """Give whatever is round `number` at this moment a name of its own; None where it is gone.

    A look and a removal by name are two steps, and an erasure may come in between: its tombstone
    would be removed, and with it what keeps the round from being published again.
    """
    taken = f"{TAKEN_PREFIX}{os.urandom(12).hex()}"
    return taken if folder.take(round_name(number), taken) else None
