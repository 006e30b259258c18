"""Recall by command: how rounds are shown to a person, and what a script gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from archive.record import Check, FileChange, Verdict
from support.command_line import Command
from support.rounds import a_round

HOSTILE = "\x1b]52;c;Zm9v\x07\x9b2J\u202e"


def test_a_round_is_shown_as_a_block_of_what_it_left(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(
        a_round(
            1,
            summary="Add a rate limit: done",
            files=(FileChange("app/login.py", 4, 1, "limiter"),),
            verdict=Verdict(
                checks=(Check("test", "pytest", "pass"), Check("lint", "ruff", "skip"))
            ),
            decisions=("A token bucket, not a window.",),
            todos=("TODO: settings",),
            refs={"issue": "#142", "url": "https://example.org/x"},
            outcome="failed",
            error="staging is down",
        )
    )
    answer = recall("query", "bucket")
    assert answer.code == 0
    shown = [line.split() for line in answer.out.splitlines()]
    assert shown[0][:5] == ["round", "1", "s", "fix", "failed"]
    for words in (
        "Add a rate limit: done",
        "files app/login.py +4 -1 limiter",
        "checks pytest: pass",
        "decisions A token bucket, not a window.",
        "todos TODO: settings",
        "refs issue #142",
        "error staging is down",
    ):
        assert words.split() in shown, words


def test_json_has_whole_records_and_fields_of_others_too(
    recall: Command, archive: Callable[..., None], folder: Path
) -> None:
    archive(a_round(1, decisions=("keep",)))
    (folder / "old").mkdir()
    foreign = {"round": 4, "action": "plan", "summary": "by ares", "colour": "red"}
    (folder / "old/round_4.json").write_text(json.dumps(foreign))

    (ours,) = recall("query", "keep", "--json").json
    (theirs,) = recall("query", "by ares", "--json").json

    assert ours["decisions"] == ["keep"]
    assert ours["events_digest"] == f"{1:064x}"
    assert theirs == {**foreign, "stream_id": "old", "tenant_id": "default"}


def test_round_shows_the_record_as_its_file_has_it(
    recall: Command, archive: Callable[..., None], folder: Path
) -> None:
    archive(a_round(1, decisions=("é 日本",)))
    answer = recall("round", "1")
    assert answer.code == 0
    assert answer.out == (folder / "default/s/round_1.json").read_text()
    compact = recall("round", "1", "--json")
    assert compact.json == answer.json
    assert compact.out.count("\n") == 1


def test_long_lists_are_cut_and_full_shows_all(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1, decisions=tuple(f"decision {number}" for number in range(9))))
    short, full = recall("query", "decision").out, recall("query", "decision", "--full").out
    assert "decision 8" not in short
    assert "4 more" in short
    assert "decision 8" in full


def test_a_timeline_is_a_streams_rounds_newest_first(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1), a_round(2, outcome="failed"), a_round(3, "t"))
    lines = [line for line in recall("timeline", "s").out.splitlines() if "round" in line]
    assert [line.split()[:2] for line in lines] == [["x", "2"], ["*", "1"]]
    assert [line["round"] for line in recall("timeline", "s", "--json").json] == [2, 1]
    assert recall("timeline", "nobody").code == 1


def test_stats_count_and_plot(recall: Command, archive: Callable[..., None]) -> None:
    archive(*(a_round(number) for number in (1, 2)), a_round(3, "t", outcome="failed"))
    counts = recall("stats", "--json").json
    assert (counts["rounds"], counts["streams"]) == (3, 2)
    assert counts["outcomes"] == {"completed": 2, "failed": 1}
    assert recall("stats", "--stream", "t", "--json").json["rounds"] == 1
    text = recall("stats").out
    assert "3 rounds in 2 streams" in text
    assert "\u2588" in text, "a bar of the plot"
    assert recall("stats", "--stream", "nobody").code == 1


def test_what_matched_is_marked_where_colour_is_wanted(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1, summary="A Token bucket"))
    assert "\x1b[33m\x1b[1mToken\x1b[0m" in recall("query", "token", "--color", "always").out
    assert "\x1b" not in recall("query", "token").out


def test_hostile_text_cannot_drive_the_terminal_and_json_keeps_it_exact(
    recall: Command, archive: Callable[..., None]
) -> None:
    archive(a_round(1, summary=f"evil {HOSTILE}", decisions=(f"{HOSTILE}\nforged line",)))
    for answer in (recall("query", "evil", "--color", "always"), recall("list")):
        assert "\x1b]" not in answer.out
        assert "\x9b" not in answer.out
        assert "\u202e" not in answer.out
        assert "\\x1b]52" in answer.out
    assert recall("list").out.count("\n") == 1
    (record,) = recall("query", "evil", "--json").json
    assert record["summary"] == f"evil {HOSTILE}"
    pretty = recall("round", "1")
    assert "\u202e" not in pretty.out
    assert "\x9b" not in pretty.out
    assert pretty.json["summary"] == f"evil {HOSTILE}"
