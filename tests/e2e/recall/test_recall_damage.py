"""Recall by command on an archive that is missing, damaged, or no archive at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Command
from support.rounds import a_round


def test_a_missing_archive_is_a_friendly_no(recall: Command) -> None:
    for command in (("query", "x"), ("list",), ("round", "1")):
        answer = recall(*command)
        assert answer.code == 1
        assert answer.out == ""
        assert "there is no archive at" in answer.err
        assert "Name it with --archive-dir" in answer.err
    assert recall("list", "--json").json["error"]["exit_code"] == 1


def test_a_damaged_round_is_named_and_the_others_are_found(
    recall: Command, archive: Callable[..., None], folder: Path
) -> None:
    archive(a_round(1), a_round(2))
    damaged = folder / "default/s/round_1.json"
    damaged.chmod(0o600)
    damaged.write_text('{"round": 1')
    answer = recall("query", "round", "--json")
    assert [record["round"] for record in answer.json] == [2]
    assert answer.code == 0
    assert "left out:" in answer.err
    assert "s/round_1.json" in answer.err
    assert recall("round", "1", "--stream", "s").code == 65


def test_what_stands_in_a_rounds_place_is_called_what_it_is(
    recall: Command, archive: Callable[..., None], folder: Path
) -> None:
    archive(a_round(1))
    place = folder / "default/s"
    (place / "round_2.json").symlink_to("round_1.json")
    (place / "round_3.json").mkdir()
    os.mkfifo(place / "round_4.json")
    (place / "round_5.json").write_text("[]")
    (place / "round_6.json").write_text('{"round": 6')
    (place / "round_7.json").write_bytes((place / "round_1.json").read_bytes() + bytes(9))

    for options in ((), ("--no-index",)):
        said = recall("list", *options).err.splitlines()
        left_out = dict(line.removeprefix("left out: ").split(": ", 1) for line in said)
        told = {path.rpartition("/")[2]: why for path, why in left_out.items()}
        assert told == {
            "round_2.json": "it is a symbolic link; the archive follows none",
            "round_3.json": "it is a folder where a file belongs",
            "round_4.json": "it is no plain file",
            "round_5.json": "not a round record: Expected `object`, got `array`",
            "round_6.json": "the file is cut off",
            "round_7.json": told["round_7.json"],
        }
        assert told["round_7.json"].startswith("not a round record: JSON is malformed: trailing")


def test_an_archive_that_is_no_folder_cannot_be_reached(recall: Command, folder: Path) -> None:
    folder.write_text("")
    done = recall("list")
    assert (done.code, done.err) == (69, f"ares-worker: open {folder}: Not a directory\n")


def test_recall_works_without_a_home(
    recall: Command, archive: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(a_round(1))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _no_home)
    assert recall("query", "round").code == 0


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")
