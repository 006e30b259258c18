"""Rounds exported by command: what is written, where to, and what a failure leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from support.command_line import Command
from support.rounds import a_round


def test_export_writes_records_pages_and_prose(
    recall: Command, archive: Callable[..., None], tmp_path: Path
) -> None:
    archive(a_round(1, summary="é <b>"), a_round(2))
    lines = recall("export").out.splitlines()
    assert [json.loads(line)["round"] for line in lines] == [2, 1]
    assert recall("export", "--format", "markdown", "--limit", "1").out.startswith("# Archived")

    target = tmp_path / "rounds.html"
    assert recall("export", "--format", "html", "-o", str(target)).code == 0
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!")
    assert "é" in page
    assert "<b>" not in page.partition("application/json")[2].partition("</script>")[0]


def test_an_export_that_fails_leaves_the_old_file(
    recall: Command, archive: Callable[..., None], tmp_path: Path
) -> None:
    target = tmp_path / "rounds.jsonl"
    target.write_text("old")
    assert recall("export", "-o", str(target)).code == 1, "there is no archive"
    assert target.read_text() == "old"
    archive(a_round(1))
    assert recall("export", "-o", str(target)).code == 0
    assert json.loads(target.read_text())["round"] == 1
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_an_export_goes_into_a_link_and_a_device_and_replaces_neither(
    recall: Command, archive: Callable[..., None], tmp_path: Path
) -> None:
    archive(a_round(1))
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe"
    link.symlink_to("real.jsonl")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    assert recall("export", "-o", str(link)).code == 0
    assert recall("export", "-o", str(pipe)).code == 0

    assert link.is_symlink()
    assert pipe.is_fifo()
    assert os.read(reader, 1 << 16) == (tmp_path / "real.jsonl").read_bytes()
    os.close(reader)


def test_an_export_that_has_no_place_says_so(
    recall: Command, archive: Callable[..., None], tmp_path: Path
) -> None:
    archive(a_round(1))
    (tmp_path / "file").touch()
    for place, why in (("missing", "No such file or directory"), ("file", "Not a directory")):
        done = recall("export", "-o", str(tmp_path / place / "rounds.jsonl"))
        assert done.code == 2
        assert f"can't write {tmp_path}/{place}/rounds.jsonl: {why}" in done.err
    full = recall("export", "-o", "/dev/full")
    assert (full.code, "can't write /dev/full: No space" in full.err) == (73, True)
