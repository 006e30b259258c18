"""Names on the archive volume: `<archive>/<tenant>/<stream_dir>/round_<N>.json`."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Final

from archive.errors import InvalidRound

TEMP_PREFIX: Final = ".tmp-"
"""Start of the name of a file that is not published yet, or never will be."""

TAKEN_PREFIX: Final = f"{TEMP_PREFIX}old-"
"""Start of the name of a round on its way out of the archive, by rotation."""

_MARK_PREFIX: Final = ".look-"
_PLAIN: Final = re.compile(r"[a-z0-9_-]{1,100}")
_UNREADABLE: Final = re.compile(r"[^a-z0-9_-]+")
_ROUND: Final = re.compile(r"round_([1-9][0-9]{0,17})\.json")
_READABLE_CHARACTERS: Final = 60
_HASH_DIGITS: Final = 12


def stream_dir(stream_id: str) -> str:
    """Folder of `stream_id`: the id itself when it is 1-100 of `[a-z0-9_-]`.

    Any other id keeps its readable part, followed by `~` and 12 hex digits of its SHA-256. `~`
    is in no plain id, so the two forms never meet, and no id can leave its tenant's folder,
    differ from another only by case or normal form, or be too long for a file name.
    """
    if _PLAIN.fullmatch(stream_id):
        return stream_id
    readable = _UNREADABLE.sub("-", stream_id.lower()).strip("-")[:_READABLE_CHARACTERS]
    digest = hashlib.sha256(stream_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}~{digest[:_HASH_DIGITS]}"


def is_hashed(folder: str) -> bool:
    """Whether `folder` only hints at its stream's id, which then stands in its records."""
    return "~" in folder


def round_name(number: int) -> str:
    """File name of round `number`; raises `InvalidRound` below 1."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidRound(number)
    return f"round_{number}.json"


def round_number(name: str) -> int | None:
    """The round a file name stands for; None where it is no round's file."""
    match = _ROUND.fullmatch(name)
    return int(match[1]) if match else None


def index_name(archive: str | os.PathLike[str]) -> str:
    """Name, in a reader's cache folder, of the index of the archive at this path."""
    path = os.path.realpath(archive).encode("utf-8", "surrogateescape")
    return f"{hashlib.sha256(path).hexdigest()[:20]}.sqlite"


def mark_name(look_until: int) -> str:
    """Name of the empty file that says: rounds up to this version may stand out of order."""
    return f"{_MARK_PREFIX}{look_until}"


def mark_in(names: list[str]) -> int:
    """The highest mark among `names`; 0 where there is none."""
    digits = (name[len(_MARK_PREFIX) :] for name in names if name.startswith(_MARK_PREFIX))
    return max((int(d) for d in digits if d.isascii() and d.isdecimal()), default=0)


def round_numbers(names: list[str]) -> list[int]:
    """The rounds among `names`, ascending."""
    return sorted(n for name in names if (n := round_number(name)) is not None)


def round_files(names: list[str]) -> list[tuple[int, str]]:
    """The rounds among `names`, ascending, each with its file's name."""
    return sorted((int(match[1]), match[0]) for name in names if (match := _ROUND.fullmatch(name)))
