"""Fixtures of the fault tests of segments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.segments.scope import Scope, mode


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A base that doesn't exist yet."""
    return tmp_path / "base"


@pytest.fixture
def scope(base: Path) -> Scope:
    """An empty scope under `base`."""
    return Scope(base)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder beyond the store; nothing in it may ever change."""
    place = tmp_path / "outside"
    place.mkdir()
    victim = place / "victim"
    victim.write_text("do not change")
    victim.chmod(0o644)
    yield place
    assert list(place.iterdir()) == [victim]
    assert victim.read_text() == "do not change"
    assert mode(victim) == 0o644
