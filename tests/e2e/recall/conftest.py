"""`recall` and an archive of its own, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from archive import FileArchiveWriter
from archive.record import RoundRecord
from support.command_line import Answer, Command
from worker import cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "rounds"


@pytest.fixture
def recall(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*args: str) -> Answer:
        capsys.readouterr()
        code = cli.run(["--archive-dir", str(folder), "recall", *args])
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return call


@pytest.fixture
def archive(folder: Path) -> Callable[..., None]:
    """`archive(record, …)` publishes records."""

    def publish(*records: RoundRecord) -> None:
        for record in records:
            FileArchiveWriter(folder, tenant=record.tenant_id).record(record)

    return publish
