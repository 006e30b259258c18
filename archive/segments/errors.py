"""Pure. What a segment store can refuse, in the five families of `streams.errors`.

No error shows content: messages name limits, slots and file names, never text.
"""

from __future__ import annotations

import errno
from typing import Final, Literal

from streams.errors import CorruptionError, NotFoundError, TransientError, UsageError

Limit = Literal["segments", "bytes", "disk"]

_FULL: Final[dict[Limit, str]] = {
    "segments": "the scope holds 128 segments, forgotten ones included; no slot is ever reused",
    "bytes": "the scope would hold more than 256 MiB",
    "disk": "the volume is full",
}


class SegmentInvalid(UsageError):
    """The call or its data breaks a rule or a limit; nothing was stored. `reason` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SegmentBusy(TransientError):
    """Somebody else works on the scope, or the volume fails for now: keep the source, retry."""

    def __init__(self, reason: str = "another process works on this scope") -> None:
        super().__init__(f"{reason}; retain the source and retry")
        self.reason = reason


class SegmentStoreFull(TransientError, OSError):
    """No room for another segment; keep the source. Also an `OSError` that says so by number.

    `limit` is segments or bytes (of the scope: it stays full) or disk (room may come back).
    """

    def __init__(self, limit: Limit) -> None:
        super().__init__(_FULL[limit])
        self.limit = limit
        self.errno = errno.ENOSPC if limit == "disk" else errno.EDQUOT


class SegmentCorrupt(CorruptionError):
    """A stored record contradicts itself; every operation on its scope stops here.

    `slot` is the number of its file (`007.json`), None where the fault is the scope's.
    """

    hint = (
        "Nothing was changed. Restore that file or put it aside; the scope stands still until then."
    )

    def __init__(self, detail: str, slot: int | None = None) -> None:
        where = "the scope" if slot is None else f"segment file {slot:03}.json"
        super().__init__(f"{where} is corrupt: {detail}")
        self.detail, self.slot = detail, slot


class SegmentDenied(UsageError, PermissionError):
    """Refused: an unsafe path, missing rights, or a projection that was forgotten for good.

    Also a `PermissionError`. Repeating the call can't help before a person has looked.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.errno = errno.EACCES


class SegmentNotFound(NotFoundError):
    """The scope holds no segment of this id, or it was forgotten."""

    def __init__(self, segment_id: str) -> None:
        super().__init__(f"segment {segment_id} is not available in this scope")
        self.segment_id = segment_id


class SegmentUnsupported(UsageError):
    """This platform or file system lacks what a private directory needs (Unix, flock)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
