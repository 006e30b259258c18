"""Keeps the newest rounds of a stream: `max_rounds`, by end time, never failing a reader."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from .failures import RecordDamaged
from .files import Folder
from .layout import round_name
from .publication import Aged, plan_rotation
from .record_json import check_bytes
from .stored_rounds import read_stored_rounds

_REMEMBERED_FOLDERS: Final = 256


class Rotation:
    """Removes the oldest rounds of a folder beyond `max_rounds`; 0 keeps all.

    Remembers what the files of recently used folders say: they never change but by erasure,
    which is looked for again before a file is removed.
    """

    def __init__(self, max_rounds: int) -> None:
        self._max_rounds = max_rounds
        self._lock = Lock()
        self._remembered: OrderedDict[str, dict[int, Aged]] = OrderedDict()

    def rotate(self, folder: Folder, numbers: list[int]) -> int:
        """Remove what is too old among rounds `numbers`; return how many went.

        To be called when the newest round is durable. Removals need no fsync: one that is
        lost with the power is made again. Raises `ArchiveFailure`.
        """
        if not 0 < self._max_rounds < len(numbers):
            return 0
        known = self._facts(folder, numbers)
        removed = 0
        for number in plan_rotation(known.values(), self._max_rounds):
            if self._is_record(folder, number):
                removed += folder.remove(round_name(number))
            known.pop(number)
        self._remember(folder.path, known)
        return removed

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
