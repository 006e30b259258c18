"""`ares-worker record`: what a file of events would become, without Redis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive.reader import FileArchiveReader
from worker import cli
from worker.console.exit_codes import ExitCode

Run = Callable[..., tuple[int, str, str]]
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def line(stream: str, type: str, payload: dict[str, Any], ms: int = 1_772_355_600_000) -> str:
    return json.dumps({"stream": stream, "type": type, "payload": payload, "timestamp": ms}) + "\n"


def a_round(stream: str, task: str = "Fix it") -> str:
    return line(stream, "message.added", {"role": "user", "content": task}) + line(
        stream, "task.completed", {"task": task, "result": "Fixed."}
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: str) -> tuple[int, str, str]:
        code = cli.run(["record", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_every_round_of_every_stream_is_one_json_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(a_round("s-1") + a_round("s-2") + a_round("s-1") + line("s-2", "x", {}))
    code, out, _ = run(str(file))
    made = [json.loads(text) for text in out.splitlines()]
    assert code == ExitCode.DONE
    assert [(r["stream_id"], r["round"], r["outcome"]) for r in made] == [
        ("s-1", 1, "completed"),
        ("s-1", 2, "completed"),
        ("s-2", 1, "completed"),
        ("s-2", 2, "unfinished"),
    ]
    assert [(r["first_version"], r["last_version"]) for r in made] == [
        (1, 2), (3, 4), (1, 2), (3, 3),
    ]  # fmt: skip


def test_with_an_output_they_are_an_archive(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(a_round("s-1") + a_round("s-1", "Explain it"))
    code, out, err = run(str(file), "-o", str(tmp_path / "archive"))
    assert (code, out) == (ExitCode.DONE, "")
    assert "2 rounds of 1 streams" in err
    reader = FileArchiveReader(str(tmp_path / "archive"))
    assert [reader.read("s-1", number).action for number in (1, 2)] == ["fix", "review"]


def test_a_bad_line_is_named_and_left_out(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(a_round("s-1") + "no json\n" + a_round("s-1"))
    code, out, err = run(str(file))
    assert code == ExitCode.DONE
    assert len(out.splitlines()) == 2
    assert "a.jsonl:3: " in err
    assert "1 bad lines" in err


def test_a_file_without_rounds_says_no(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n")
    assert run(str(file))[0] == ExitCode.NO


def test_credentials_are_kept_only_when_asked(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(a_round("s-1", f"Rotate {SECRET}"))
    assert "[withheld: github-token]" in run(str(file))[1]
    assert SECRET in run(str(file), "--no-screen")[1]
