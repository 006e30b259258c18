"""A store on a scope of its own, and the folder behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from archive.segments import (
    ArchiveRef,
    ArchiveStore,
)
from unit.segment_messages import h, user

Fill = Callable[[int], list[ArchiveRef]]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "base"


@pytest.fixture
def folder(base: Path) -> Path:
    return base / "context-archives" / h(b"acme/s")


@pytest.fixture
def store(base: Path) -> ArchiveStore:
    return ArchiveStore(base, "acme/s", "s")


@pytest.fixture
def fill(store: ArchiveStore, folder: Path) -> Fill:
    """Seals many segments without scanning and syncing each time."""

    def seal(count: int) -> list[ArchiveRef]:
        refs = []
        for index in range(count):
            other = ArchiveStore(folder.parents[1], "acme/other", "s")
            ref = other.seal([user(f"{index} é{'é' * 150}")], f"note {index}")
            text = (folder.parent / h(b"acme/other") / "000.json").read_text()
            text = text.replace(h(b"acme/other"), h(b"acme/s"))
            (folder / f"{index:03}.json").write_text(text)
            (folder.parent / h(b"acme/other") / "000.json").unlink()
            refs.append(ref)
        return refs

    return seal
