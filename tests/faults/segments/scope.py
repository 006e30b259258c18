"""What the fault tests of segments share: a scope under a fresh base."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from archive.segments import ArchiveStore, export_in


def user(content: Any) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": content}


def mode(path: Path) -> int:
    """The permission bits of `path` itself."""
    return stat.S_IMODE(path.lstat().st_mode)


def names(folder: Path) -> list[str]:
    """What is in `folder`."""
    return sorted(path.name for path in folder.iterdir())


class Scope:
    """Scope `k`, conversation `c` under `base`, and the folder it is in."""

    def __init__(self, base: Path) -> None:
        self.base = base
        scope = hashlib.sha256((1).to_bytes(8, "big") + b"k").hexdigest()
        self.folder = base / "context-archives" / scope
        self.store = ArchiveStore(base, "k", "c")

    def every_call(self) -> list[Callable[[], Any]]:
        """Each operation, on arguments that are fine."""
        return [
            lambda: self.store.seal([user("other")], ""),
            lambda: self.store.fetch("0" * 32, 0, 1),
            lambda: self.store.fetch_note("0" * 32),
            lambda: self.store.search("", 1),
            lambda: self.store.forget("0" * 32),
            self.store.export_records,
            lambda: export_in(self.base, "k"),
        ]
