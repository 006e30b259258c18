"""Fixtures of tests of whole commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.redis_server import RedisServer


@pytest.fixture
def ares(
    server: RedisServer, tenant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """`ares("streams", "list", "--json").json`."""
    return CommandLine(server, tenant, tmp_path / "rounds", capsys)
