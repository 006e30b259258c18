"""Where a scope is, and whether it is there at all."""

from __future__ import annotations

import os

from .private_dir import ROOT_NAME, PrivateDir
from .projection import hash_key
from .store import Base


def scope_folder(base: Base, scope_key: str) -> str:
    """Where the files of a scope are, for a person; the folder may be missing."""
    return os.path.join(base, ROOT_NAME, hash_key(scope_key))  # noqa: PTH118 - of any path type


def scope_exists(base: Base, scope_key: str) -> bool:
    """Whether anything was ever sealed, or tried, in a scope; makes nothing.

    Raises `SegmentDenied` for an unsafe path.
    """
    directory = PrivateDir.open_existing(base, hash_key(scope_key))
    if directory is None:
        return False
    with directory:
        return True
