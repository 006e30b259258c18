"""Pure. What came of publishing a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streams.errors import AresError

from .publication import StoredRound


@dataclass(frozen=True, slots=True)
class Published:
    """A round is durably in the archive under `round` and `epoch`.

    `how` says whether this call wrote it, found it there, or adopted a file that holds the
    events from the record's `first_version` on up to `last_version`, cut in another way: then
    the caller goes on after `last_version`. `erased`: found as a tombstone; it stays one.
    `forked`: it opened a new epoch. `rotated` older rounds were removed; a failure to do so is
    `rotation_failure` and leaves the round published. `overdue`: rounds of this call are too old
    already, and go when this one is recorded again, once the stream's state has passed it.
    """

    round: int
    epoch: int
    last_version: int
    how: Literal["written", "found", "adopted"]
    erased: bool = False
    forked: bool = False
    written_bytes: int = 0
    rotated: int = 0
    overdue: bool = False
    rotation_failure: AresError | None = None

    @classmethod
    def as_stored(cls, stored: StoredRound, how: Literal["found", "adopted"]) -> Published:
        """A round that was there already."""
        return cls(stored.round, stored.epoch, stored.last_version, how, erased=stored.erased)


Result = Published | AresError
"""What one record is answered with."""
