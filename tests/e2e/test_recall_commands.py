"""Recall by command: what is found, how it is shown, and what a script gets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from archive import FileArchiveWriter
from archive.record import Check, FileChange, RoundRecord, Verdict
from support.command_line import Answer
from worker import cli

Recall = Callable[..., Answer]

HOSTILE = "\x1b]52;c;Zm9v\x07\x9b2J\u202e"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "rounds"


@pytest.fixture
def recall(folder: Path, capsys: pytest.CaptureFixture[str]) -> Recall:
    def call(*args: str) -> Answer:
        capsys.readouterr()
        code = cli.run(["--archive-dir", str(folder), "recall", *args])
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return call


def a_round(number: int, stream: str = "s", tenant: str = "default", **more: object) -> RoundRecord:
    ended = datetime(2026, 1, number, 12, tzinfo=UTC)
    fields = {
        "action": "fix", "summary": f"round {number} of {stream}", "tenant_id": tenant,
        "stream_id": stream, "first_version": number * 10 - 9, "last_version": number * 10,
        "event_count": 10, "events_digest": f"{number:064x}", "ended_at": ended,
        "started_at": ended - timedelta(hours=1),
    }  # fmt: skip
    return RoundRecord(number, **(fields | more))  # type: ignore[arg-type]


@pytest.fixture
def archive(folder: Path) -> Callable[..., None]:
    """`archive(record, …)` publishes records."""

    def publish(*records: RoundRecord) -> None:
        for record in records:
            FileArchiveWriter(folder, tenant=record.tenant_id).record(record)

    return publish


def test_a_round_is_shown_as_a_block_of_what_it_left(
    recall: Recall, archive: Callable[..., None]
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


def test_the_newest_come_first_and_a_limit_keeps_these(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(*(a_round(number) for number in (1, 2, 3)))
    rounds = [record["round"] for record in recall("query", "round", "--json").json]
    assert rounds == [3, 2, 1]
    assert [line["round"] for line in recall("list", "--limit", "2", "--json").json] == [3, 2]


def test_json_has_whole_records_and_fields_of_others_too(
    recall: Recall, archive: Callable[..., None], folder: Path
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


def test_nothing_found_is_a_no_with_an_empty_array(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1))
    text, exact = recall("query", "absent"), recall("query", "absent", "--json")
    assert (text.code, text.out, text.err) == (1, "", "No round fits.\n")
    assert (exact.code, exact.json) == (1, [])


def test_a_missing_archive_is_a_friendly_no(recall: Recall) -> None:
    for command in (("query", "x"), ("list",), ("round", "1")):
        answer = recall(*command)
        assert answer.code == 1
        assert answer.out == ""
        assert "there is no archive at" in answer.err
        assert "Name it with --archive-dir" in answer.err
    assert recall("list", "--json").json["error"]["exit_code"] == 1


@pytest.mark.parametrize("text", ["(", "[", ".*", "a.c", "\\d", "*", "$x", "%s", "'", "NUL OR"])
def test_the_text_is_taken_literally(
    recall: Recall, archive: Callable[..., None], text: str
) -> None:
    archive(a_round(1, summary=f"has {text} in it"), a_round(2, summary="abc 123 everything"))
    found = recall("query", text, "--json").json
    assert [record["round"] for record in found] == [1]


def test_text_that_looks_like_an_option_follows_two_dashes(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1, summary="run with --force and -v"))
    assert recall("query", "--", "--force", "-v").code == 0
    refused = recall("query", "--force")
    assert refused.code == 2
    assert "Write -- before text that begins with a dash." in refused.err


@pytest.mark.parametrize("args", [("",), ("  ",), ("--regex", "("), ("--regex", "")])
def test_what_is_no_query_is_refused(
    recall: Recall, archive: Callable[..., None], args: tuple[str, ...]
) -> None:
    archive(a_round(1))
    assert recall("query", *args).code == 2


def test_bytes_that_are_no_text_are_refused_or_found_nowhere(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1))
    for options in ((), ("--regex",)):
        done = recall("query", "x\udcff", *options)
        assert (done.code, "no UTF-8" in done.err) == (2, True)
    for option in ("--file", "--ref", "--stream"):
        assert recall("list", option, "x\udcff").code == 1
        assert recall("list", option, "x\udcff", "--no-index").code == 1
    for args in (("timeline", "\udcff"), ("round", "1", "--stream", "\udcff")):
        assert recall(*args).code == 1


def test_a_pattern_that_never_ends_is_stopped(
    recall: Recall, archive: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archive.recall_guard.MATCH_SECONDS", 0.2)
    archive(a_round(1, summary="a" * 60 + "!"))
    answer = recall("query", "--regex", "(a+)+$")
    assert answer.code == 2
    assert "takes more than" in answer.err


def test_filters_narrow_down(recall: Recall, archive: Callable[..., None]) -> None:
    archive(
        a_round(1, files=(FileChange("src/a.py"),), refs={"commit": "0123456789abcdef"}),
        a_round(2, action="plan", outcome="failed"),
        a_round(3, "t", verdict=Verdict(checks=(Check("lint", "ruff", "2 issues"),))),
    )

    def found(*args: str) -> list[int]:
        answer = recall("list", "--json", *args)
        assert answer.code == (0 if answer.json else 1)
        return [line["round"] for line in answer.json]

    assert found("--stream", "t") == [3]
    assert found("--stream", "t", "--stream", "s") == [3, 2, 1]
    assert found("--action", "plan") == [2]
    assert found("--outcome", "failed") == [2]
    assert found("--failed") == [3, 2]
    assert found("--file", "a.py") == [1]
    assert found("--ref", "0123456") == [1]
    assert found("--since", "2026-01-02") == [3, 2]
    assert found("--until", "2026-01-02") == [2, 1]
    assert found("--since", "2026-01-03T12:00:01Z") == []
    assert recall("list", "--since", "soon").code == 2


def test_tenants_are_a_filter_and_named_where_not_the_default(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1), a_round(2, "s", "acme"))
    assert "tenant acme" in recall("query", "round").out
    assert "acme/s #2" in recall("list").out
    (only,) = recall("list", "--tenant", "acme", "--json").json
    assert (only["tenant_id"], only["round"]) == ("acme", 2)
    (only,) = recall("list", "--tenant", "default", "--json").json
    assert (only["tenant_id"], only["round"]) == ("default", 1)


def test_answers_are_the_same_without_the_index(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(*(a_round(number, summary=f"日本 round {number}") for number in range(1, 9)))
    for args in (("日本",), ("round", "3"), ("本",)):
        indexed = recall("query", *args, "--json").json
        assert indexed
        assert indexed == recall("query", *args, "--json", "--no-index").json


def test_a_damaged_round_is_named_and_the_others_are_found(
    recall: Recall, archive: Callable[..., None], folder: Path
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


def test_round_shows_the_record_as_its_file_has_it(
    recall: Recall, archive: Callable[..., None], folder: Path
) -> None:
    archive(a_round(1, decisions=("é 日本",)))
    answer = recall("round", "1")
    assert answer.code == 0
    assert answer.out == (folder / "default/s/round_1.json").read_text()
    compact = recall("round", "1", "--json")
    assert compact.json == answer.json
    assert compact.out.count("\n") == 1


def test_a_round_that_several_streams_have_needs_a_stream(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1, "a"), a_round(1, "b"), a_round(2, "b"))
    asked = recall("round", "1")
    assert asked.code == 2
    assert "2 streams have a round 1; say --stream: a, b" in asked.err
    assert recall("round", "1", "--stream", "b").json["stream_id"] == "b"
    assert recall("round", "2").json["stream_id"] == "b"


@pytest.mark.parametrize("args", [("7",), ("1", "--stream", "nobody"), ("7", "--stream", "s")])
def test_a_round_nobody_has_is_a_no(
    recall: Recall, archive: Callable[..., None], args: tuple[str, ...]
) -> None:
    archive(a_round(1))
    assert recall("round", *args).code == 1


def test_long_lists_are_cut_and_full_shows_all(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1, decisions=tuple(f"decision {number}" for number in range(9))))
    short, full = recall("query", "decision").out, recall("query", "decision", "--full").out
    assert "decision 8" not in short
    assert "4 more" in short
    assert "decision 8" in full


def test_a_timeline_is_a_streams_rounds_newest_first(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1), a_round(2, outcome="failed"), a_round(3, "t"))
    lines = [line for line in recall("timeline", "s").out.splitlines() if "round" in line]
    assert [line.split()[:2] for line in lines] == [["x", "2"], ["*", "1"]]
    assert [line["round"] for line in recall("timeline", "s", "--json").json] == [2, 1]
    assert recall("timeline", "nobody").code == 1


def test_stats_count_and_plot(recall: Recall, archive: Callable[..., None]) -> None:
    archive(*(a_round(number) for number in (1, 2)), a_round(3, "t", outcome="failed"))
    counts = recall("stats", "--json").json
    assert (counts["rounds"], counts["streams"]) == (3, 2)
    assert counts["outcomes"] == {"completed": 2, "failed": 1}
    assert recall("stats", "--stream", "t", "--json").json["rounds"] == 1
    text = recall("stats").out
    assert "3 rounds in 2 streams" in text
    assert "\u2588" in text, "a bar of the plot"
    assert recall("stats", "--stream", "nobody").code == 1


def test_export_writes_records_pages_and_prose(
    recall: Recall, archive: Callable[..., None], tmp_path: Path
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
    recall: Recall, archive: Callable[..., None], tmp_path: Path
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
    recall: Recall, archive: Callable[..., None], tmp_path: Path
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
    recall: Recall, archive: Callable[..., None], tmp_path: Path
) -> None:
    archive(a_round(1))
    (tmp_path / "file").touch()
    for place, why in (("missing", "No such file or directory"), ("file", "Not a directory")):
        done = recall("export", "-o", str(tmp_path / place / "rounds.jsonl"))
        assert done.code == 2
        assert f"can't write {tmp_path}/{place}/rounds.jsonl: {why}" in done.err
    full = recall("export", "-o", "/dev/full")
    assert (full.code, "can't write /dev/full: No space" in full.err) == (73, True)


def test_what_stands_in_a_rounds_place_is_called_what_it_is(
    recall: Recall, archive: Callable[..., None], folder: Path
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


def test_an_archive_that_is_no_folder_cannot_be_reached(recall: Recall, folder: Path) -> None:
    folder.write_text("")
    done = recall("list")
    assert (done.code, done.err) == (69, f"ares-worker: open {folder}: Not a directory\n")


def test_what_matched_is_marked_where_colour_is_wanted(
    recall: Recall, archive: Callable[..., None]
) -> None:
    archive(a_round(1, summary="A Token bucket"))
    assert "\x1b[33m\x1b[1mToken\x1b[0m" in recall("query", "token", "--color", "always").out
    assert "\x1b" not in recall("query", "token").out


def test_hostile_text_cannot_drive_the_terminal_and_json_keeps_it_exact(
    recall: Recall, archive: Callable[..., None]
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


def test_recall_works_without_a_home(
    recall: Recall, archive: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(a_round(1))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _no_home)
    assert recall("query", "round").code == 0


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")
