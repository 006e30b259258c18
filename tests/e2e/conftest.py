"""Fixtures of tests of whole commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.redis_server import RedisServer
from support.verified import damages


@pytest.fixture
def ares(
    server: RedisServer,
    request: pytest.FixtureRequest,
    tenant: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[CommandLine]:
    """`ares("streams", "list", "--json").json`; `verify` has the last word."""
    command_line = CommandLine(server, tenant, tmp_path / "rounds", capsys)
    yield command_line
    found = command_line("verify")
    assert (found.code == 1) == damages(request), found.out + found.err
    assert found.code in (0, 1), found.err
