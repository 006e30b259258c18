"""`ares-worker segment`: what each command prints, and the code it exits with."""

from __future__ import annotations

import fcntl
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive.segments import ArchiveStore
from worker import cli
from worker.console.classes import LazyCommand
from worker.console.exit_codes import ExitCode

UNKNOWN = "0" * 32
Run = Callable[..., tuple[int, str, str]]

MESSAGES = [
    {"role": "system", "content": "omitted"},
    {"role": "user", "content": "What is the Rate Limit?"},
    {"role": "assistant", "content": [{"type": "text", "text": "Five\x1b[2J a second"}]},
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    segment = LazyCommand("worker.commands.segment:segment", "Sealed segments.")
    monkeypatch.setitem(cli.cli.known, "segment", segment)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARES_SEGMENTS_BASE", str(tmp_path / "base"))

    def call(*args: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.run(["segment", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(MESSAGES))
    return str(path)


@pytest.fixture
def sealed(run: Run, file: str) -> str:
    """The id of a segment that is there."""
    code, out, _ = run("seal", file, "--conversation", "s1", "--note", "a note")
    assert code == ExitCode.DONE
    return out.strip()


def folder(tmp_path: Path) -> Path:
    return next((tmp_path / "base" / "context-archives").iterdir())


class TestSeal:
    def test_it_prints_the_id_and_says_what_was_kept(self, run: Run, file: str) -> None:
        code, out, err = run("seal", file, "--conversation", "s1")

        assert code == ExitCode.DONE
        assert len(out.strip()) == 32
        assert err == "kept 2 of 3 messages\n"

    def test_the_scope_is_the_workers_unless_it_is_named(
        self, run: Run, file: str, tmp_path: Path
    ) -> None:
        _, out, _ = run("seal", file, "--conversation", "s1", "--tenant", "acme")
        base = tmp_path / "base"

        assert ArchiveStore(base, "acme/s1", "s1").fetch(out.strip(), 0, 1) == [MESSAGES[1]]
        _, named, _ = run("seal", file, "--conversation", "s1", "--scope", "mine")
        assert ArchiveStore(base, "mine", "s1").fetch(named.strip(), 0, 1) == [MESSAGES[1]]

    def test_json_lines_are_messages_too(self, run: Run, tmp_path: Path) -> None:
        lines = tmp_path / "talk.jsonl"
        lines.write_text("\n".join(map(json.dumps, MESSAGES)) + "\n\n")

        code, out, _ = run("seal", str(lines), "--conversation", "s1", "--json")

        assert code == ExitCode.DONE
        answer = json.loads(out)
        assert (answer["message_count"], answer["source_message_count"]) == (2, 3)

    def test_standard_input_is_read_without_a_file(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = io.TextIOWrapper(io.BytesIO(json.dumps(MESSAGES[1]).encode()))
        monkeypatch.setattr("sys.stdin", data)

        code, _, err = run("seal", "--conversation", "s1")

        assert (code, err) == (ExitCode.DONE, "kept 1 of 1 messages\n")

    def test_a_redactor_is_named_by_module_and_function(
        self, run: Run, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = tmp_path / "a_redactor.py"
        module.write_text("def redact(text):\n    return text.replace('Five', 'Some')\n")
        monkeypatch.syspath_prepend(str(tmp_path))

        for more in (["--redactor", "a_redactor:redact"], []):
            monkeypatch.setenv("ARES_SEGMENTS_REDACTOR", "a_redactor:redact")
            _, out, _ = run("seal", file, "--conversation", "s1", *more)
            _, printed, _ = run("fetch", out.strip(), "--conversation", "s1")
            assert "Some" in printed

    @pytest.mark.parametrize("name", ["nowhere:f", "json:nothing", "json:__name__", "json"])
    def test_a_redactor_that_is_none_is_a_usage_error(self, run: Run, file: str, name: str) -> None:
        code, _, err = run("seal", file, "--conversation", "s1", "--redactor", name)

        assert code == ExitCode.USAGE
        assert name in err

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ('{"role": "user"', "line 1"),
            ('{"a": 1}\n{"b"', "line 2"),
            ("[1, 2", "the messages"),
            ('{"private": true, "private": false}', "twice"),
            ('{"a": NaN}', "NaN"),
            ("[" * 200_000, "deep"),
            ('{\n  "role": "user"\n}', "a message a line, or one array"),
            (" \n", "no messages"),
        ],
    )
    def test_what_is_no_json_is_named_by_its_place_not_its_content(
        self, run: Run, tmp_path: Path, text: str, says: str
    ) -> None:
        path = tmp_path / "bad.json"
        path.write_text(text)

        code, out, err = run("seal", str(path), "--conversation", "s1")

        assert (code, out) == (ExitCode.USAGE, "")
        assert says in err

    def test_bytes_that_are_no_utf_8_are_refused(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "bad.json"
        path.write_bytes(b'["\xff"]')

        assert run("seal", str(path), "--conversation", "s1")[0] == ExitCode.USAGE
        assert run("seal", str(tmp_path / "missing"), "--conversation", "s1")[0] == ExitCode.USAGE

    def test_a_segment_needs_a_conversation(self, run: Run, file: str) -> None:
        code, _, err = run("seal", file, "--scope", "k")

        assert code == ExitCode.USAGE
        assert "--conversation" in err


class TestRead:
    def test_fetch_prints_one_message_a_line_safe_for_a_terminal(
        self, run: Run, sealed: str
    ) -> None:
        code, out, _ = run("fetch", sealed, "--conversation", "s1")

        assert code == ExitCode.DONE
        assert [json.loads(line) for line in out.splitlines()] == MESSAGES[1:]
        assert "\x1b" not in out

    def test_fetch_prints_a_range_with_its_provenance(self, run: Run, sealed: str) -> None:
        options = ("--start", "1", "--limit", "5", "--provenance", "--json")

        _, out, _ = run("fetch", sealed, "--conversation", "s1", *options)

        assert json.loads(out) == [
            {"source_index": 2, "block_indices": [0], "message": MESSAGES[2]}
        ]

    def test_search_prints_a_segment_a_line(self, run: Run, sealed: str) -> None:
        code, out, _ = run("search", "rate LIMIT", "--conversation", "s1")

        assert code == ExitCode.DONE
        assert out.startswith(f"{sealed}  2/3  ")
        assert json.loads(run("search", "--conversation", "s1", "--json")[1])[0]["id"] == sealed

    def test_search_without_a_match_says_no(self, run: Run, sealed: str) -> None:
        code, out, err = run("search", "zebra", "--conversation", "s1")
        as_json = run("search", "zebra", "--conversation", "s1", "--json")

        assert (code, out, err) == (ExitCode.NO, "", "no segment matches\n")
        assert as_json[:2] == (ExitCode.NO, "[]\n")

    def test_the_note_is_printed_for_the_host(self, run: Run, sealed: str) -> None:
        assert run("note", sealed, "--conversation", "s1")[1] == "a note\n"
        answer = json.loads(run("note", sealed, "--conversation", "s1", "--json")[1])
        assert answer == {"id": sealed, "note": "a note"}

    def test_a_slip_of_the_pen_makes_no_folder(self, run: Run, sealed: str, tmp_path: Path) -> None:
        place = ("--base", str(tmp_path / "bsae"), "--conversation", "s1")

        assert run("search", *place) == (ExitCode.NO, "", "no segment matches\n")
        for command in ("fetch", "note", "forget"):
            assert run(command, sealed, *place)[0] == ExitCode.NO
        assert run("search", "--conversation", "nobody")[0] == ExitCode.NO

        assert not (tmp_path / "bsae").exists()
        assert len(list((tmp_path / "base" / "context-archives").iterdir())) == 1

    def test_export_prints_every_record_and_makes_nothing(
        self, run: Run, sealed: str, tmp_path: Path
    ) -> None:
        _, out, _ = run("export", "--conversation", "s1")
        assert json.loads(out)["note"] == "a note"

        base = tmp_path / "elsewhere"
        code, out, _ = run("export", "--conversation", "s1", "--base", str(base), "--json")
        assert (code, json.loads(out)) == (ExitCode.DONE, [])
        assert not base.exists()

    def test_forget_leaves_a_tombstone(self, run: Run, sealed: str, file: str) -> None:
        assert run("forget", sealed, "--conversation", "s1")[0] == ExitCode.DONE
        assert run("forget", sealed, "--conversation", "s1", "--json")[0] == ExitCode.DONE

        assert run("fetch", sealed, "--conversation", "s1")[0] == ExitCode.NO
        assert json.loads(run("export", "--conversation", "s1")[1])["tombstone"] is True
        assert run("seal", file, "--conversation", "s1")[0] == ExitCode.DENIED


class TestExitCodes:
    def test_an_unknown_id_is_1_and_a_bad_one_2(self, run: Run, sealed: str) -> None:
        for command in ("fetch", "note", "forget"):
            assert run(command, UNKNOWN, "--conversation", "s1")[0] == ExitCode.NO
            assert run(command, "../x", "--conversation", "s1")[0] == ExitCode.USAGE

    def test_busy_is_75(self, run: Run, sealed: str, tmp_path: Path) -> None:
        with (folder(tmp_path) / "lock").open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            code, _, err = run("search", "--conversation", "s1")

        assert code == ExitCode.BUSY
        assert "retry" in err

    def test_corrupt_is_65(self, run: Run, sealed: str, tmp_path: Path) -> None:
        (folder(tmp_path) / "000.json").write_text("damaged")

        code, out, err = run("search", "--conversation", "s1", "--json")

        assert code == ExitCode.CORRUPT
        assert json.loads(out)["error"]["kind"] == "SegmentCorrupt"
        assert "000.json" in err
        assert str(folder(tmp_path)) in err

    def test_full_is_73(
        self, run: Run, sealed: str, file: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("archive.segments.store.MAX_SEGMENTS", 1)

        code, _, err = run("seal", file, "--conversation", "other", "--scope", "default/s1")

        assert code == ExitCode.FULL
        assert "128" in err

    def test_an_unsafe_path_is_77(self, run: Run, sealed: str, tmp_path: Path) -> None:
        path = folder(tmp_path) / "001.json"
        path.symlink_to(folder(tmp_path) / "000.json")

        code, _, err = run("search", "--conversation", "s1")
        assert (code, "001.json" in err) == (ExitCode.DENIED, True)

    @pytest.mark.parametrize(
        "options",
        [
            ["--base", "relative", "--scope", "k"],
            ["--base", "/", "--scope", "k"],
            ["--base", "/tmp/../x", "--scope", "k"],
            ["--scope", ""],
            [],
            ["--scope", "k", "--limit", "33"],
            ["--scope", "k", "--limit", "-1"],
            ["--scope", "k", "x" * 513],
        ],
    )
    def test_usage_is_2(self, run: Run, options: list[str]) -> None:
        assert run("search", *options)[0] == ExitCode.USAGE

    def test_a_base_must_be_said_or_set(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ARES_SEGMENTS_BASE")

        code, _, err = run("search", "--scope", "k")

        assert code == ExitCode.USAGE
        assert "--base" in err

    def test_content_never_reaches_an_error(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "talk.json"
        call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "b"}
        call["input"] = {"CONTENT": 2**70}
        path.write_text(json.dumps([{"role": "assistant", "content": [call]}]))

        options = ("--conversation", "s1", "--redactor", "builtins:str", "-vv")
        code, out, err = run("seal", str(path), *options)

        assert code == ExitCode.USAGE
        assert "CONTENT" not in out + err


def test_help_names_every_command(run: Run) -> None:
    code, out, _ = run("--help")

    assert code == ExitCode.DONE
    for command in ("seal", "fetch", "note", "search", "forget", "export"):
        assert f"  {command} " in out
