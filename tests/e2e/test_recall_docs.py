"""The page on recall: every command on it runs on the archive it makes first."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from worker import cli

PAGE = (Path(__file__).parents[2] / "docs" / "recall.md").read_text("utf-8")
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    for line in block.splitlines()
    if line.startswith("ares-worker recall")
]
FINDS_NOTHING = ("--force",)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "demo"
    assert cli.run(["demo", "--keep", str(folder)]) == 0
    return folder / "rounds"


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_does_what_it_says(
    line: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ARES_ARCHIVE_DIR", str(archive))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)
    command = words[1 : next((at for at, word in enumerate(words) if word in ("|", ">")), None)]

    assert cli.run(command) == (1 if command[-1] in FINDS_NOTHING else 0)


def test_the_block_on_the_page_is_what_a_query_shows(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("ARES_ARCHIVE_DIR", str(archive))
    monkeypatch.setenv("COLUMNS", "105")
    capsys.readouterr()
    cli.run(["recall", "query", "--no-index", "token bucket"])
    shown = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", capsys.readouterr().out).strip()
    on_page = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", PAGE)
    first, *rest = shown.splitlines()
    assert first in on_page
    assert [line for line in rest if line[:60] not in on_page] == []
