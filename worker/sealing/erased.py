"""Whether a round that is to be sealed was erased meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable

from archive.failures import (
    ArchiveFailure,
    ArchiveMissing,
    RoundDamaged,
    RoundErased,
    RoundNotFound,
    UnsafePath,
)
from archive.reader import FileArchiveReader
from archive.segments import SegmentBusy

IsErased = Callable[[str, str, int], bool]
"""Whether a tombstone stands for the round of a tenant's stream.

Raises `SegmentBusy` where that can't be told: the round has to wait.
"""


def is_erased_in(directory: str | os.PathLike[str]) -> IsErased:
    """Tells it by a look into the archive."""

    def is_erased(tenant: str, stream: str, number: int) -> bool:
        try:
            FileArchiveReader(directory, tenants=[tenant]).show(stream, number)
        except RoundErased:
            return True
        except (RoundNotFound, RoundDamaged):
            return False  # it has rotated away, or still has a content, such as it is
        except (ArchiveFailure, ArchiveMissing, UnsafePath) as exc:
            reason = f"whether the round was erased can't be told ({exc})"
            raise SegmentBusy(reason) from exc
        return False

    return is_erased
