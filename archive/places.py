"""Pure. Where rounds stand, what stands there, and what couldn't be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from streams.errors import UsageError
from streams.event import DEFAULT_TENANT_ID
from streams.keys import check_tenant

from .failures import ArchiveFailure, RoundDamaged, UnsafePath
from .record import RoundRecord
from .storage.layout import round_name, stream_dir

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNNAMED: Final = stream_dir("")


@dataclass(frozen=True, slots=True, order=True)
class StreamFolder:
    """A folder with rounds: `parts` below the archive's top, none for a flat archive.

    `name` is the stream's id as far as the folder tells; a record that names its stream wins.
    """

    tenant: str
    parts: tuple[str, ...]
    name: str

    def stream_of(self, record: RoundRecord) -> str:
        """The stream a record found here belongs to."""
        return record.stream_id or self.name


class Place(NamedTuple):
    """Where one round stands."""

    folder: StreamFolder
    round: int

    @property
    def path(self) -> str:
        """Its file, relative to the archive."""
        return "/".join((*self.folder.parts, round_name(self.round)))


@dataclass(frozen=True, slots=True)
class ArchivedRound:
    """A round as it stands in the archive: its record, and `raw`, every field of its file."""

    place: Place
    stream: str
    record: RoundRecord
    raw: Mapping[str, object]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A file or folder that can't be read, by name; others are not concerned.

    `reason` is damaged, unsafe, or a `FailureReason` of `archive.failures`.
    """

    path: str
    reason: str
    detail: str


Report = Callable[[Problem], None]

Unreadable = RoundDamaged | UnsafePath | ArchiveFailure
UNREADABLE: Final = (RoundDamaged, UnsafePath, ArchiveFailure)


def problem(error: Unreadable) -> Problem:
    """`error` as a fact to report."""
    if isinstance(error, UnsafePath):
        return Problem(error.path, "unsafe", error.detail)
    if isinstance(error, ArchiveFailure):
        return Problem(error.path, error.reason, str(error))
    return Problem(error.path, "damaged", error.detail)


def is_tenant(name: str) -> bool:
    """Whether a folder of this name can be a tenant's."""
    try:
        return check_tenant(name) == name
    except UsageError:
        return False


def is_text(name: str) -> bool:
    """Whether a name or argument is UTF-8: the system hands others over with surrogates in them."""
    return name.isascii() or not _SURROGATE.search(name)


def own_folder(tenant: str, folder: str) -> StreamFolder:
    """A folder in our layout."""
    return StreamFolder(tenant, (tenant, folder), "" if folder == _UNNAMED else folder)


def plain_folder(name: str) -> StreamFolder:
    """A folder of ARES, by its stream's name."""
    return StreamFolder(DEFAULT_TENANT_ID, (name,), name)
