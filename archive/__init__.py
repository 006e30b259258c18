"""Round files: build, publish, read and recall. Synchronous; knows no Redis.

Importing this package loads none of its modules: each name is fetched when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .build import build_round_record
    from .errors import InvalidAction, InvalidIdentifier, InvalidRound, NoEvents
    from .failures import (
        ArchiveFailure,
        ArchiveMissing,
        PublicationConflict,
        RoundDamaged,
        RoundErased,
        RoundNotFound,
        UnsafePath,
    )
    from .identifiers import extract_identifiers, protect_identifiers
    from .publishing.published import Published
    from .publishing.writer import FileArchiveWriter
    from .reader import FileArchiveReader
    from .record import Check, FileChange, RoundIdentity, RoundRecord, Verdict

__all__ = [
    "ArchiveFailure",
    "ArchiveMissing",
    "Check",
    "FileArchiveReader",
    "FileArchiveWriter",
    "FileChange",
    "InvalidAction",
    "InvalidIdentifier",
    "InvalidRound",
    "NoEvents",
    "PublicationConflict",
    "Published",
    "RoundDamaged",
    "RoundErased",
    "RoundIdentity",
    "RoundNotFound",
    "RoundRecord",
    "UnsafePath",
    "Verdict",
    "build_round_record",
    "extract_identifiers",
    "protect_identifiers",
]

_MODULES = {
    "build": ("build_round_record",),
    "errors": ("InvalidAction", "InvalidIdentifier", "InvalidRound", "NoEvents"),
    "failures": (
        "ArchiveFailure",
        "ArchiveMissing",
        "PublicationConflict",
        "RoundDamaged",
        "RoundErased",
        "RoundNotFound",
        "UnsafePath",
    ),
    "identifiers": ("extract_identifiers", "protect_identifiers"),
    "publishing.published": ("Published",),
    "reader": ("FileArchiveReader",),
    "record": ("Check", "FileChange", "RoundIdentity", "RoundRecord", "Verdict"),
    "publishing.writer": ("FileArchiveWriter",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
