"""A sealer on a store of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.sealing.sealer import SegmentSealer


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "base"


@pytest.fixture
def sealer(base: Path) -> SegmentSealer:
    return SegmentSealer(base)
