"""The command line, called inside the test process: what it says and with which code."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.redis_server import RedisServer
from worker import cli


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout as the one JSON document it must be."""
        return json.loads(self.out)


Command = Callable[..., Answer]
"""A part of the command line, called with its arguments."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Calls `ares-worker` in this process."""

    server: RedisServer
    tenant: str
    archive: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *args: str) -> Answer:
        self.capture.readouterr()
        place = ("--redis", self.server.url, "--archive-dir", str(self.archive))
        code = cli.run([*place, "--tenant", self.tenant, *args])
        said = self.capture.readouterr()
        return Answer(code, said.out, said.err)
