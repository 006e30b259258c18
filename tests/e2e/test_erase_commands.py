"""`erase` as a person and a script use it, and every way to look for what it erased."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.keys import Keys
from support.command_line import CommandLine

KINDS = ("task.created", "message.added", "task.completed")
READS = (
    ("recall", "query", "lighthouse"),
    ("recall", "query", "lighthouse", "--no-index"),
    ("recall", "query", "lighthouse", "--json"),
    ("recall", "query", "li", "--json"),
    ("recall", "query", "li", "--no-index"),
    ("recall", "query", "l.ghth.use", "--regex", "--json"),
    ("recall", "query", "told", "--full", "--stream", "s"),
    ("recall", "list"),
    ("recall", "list", "--json"),
    ("recall", "list", "--no-index", "--since", "1h"),
    ("recall", "timeline", "s"),
    ("recall", "stats"),
    ("recall", "stats", "--json"),
    ("recall", "export", "--format", "jsonl"),
    ("recall", "export", "--format", "markdown"),
    ("recall", "export", "--format", "html"),
    ("streams", "show", "s", "--full"),
    ("streams", "show", "s", "--json"),
    ("dead", "list", "--json"),
)
"""Every way to read what was said, but by a round's number."""


@pytest.fixture
def keys(tenant: str) -> Keys:
    return Keys(tenant)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache"


@pytest.fixture
def archived(ares: CommandLine, keys: Keys, cache: Path) -> Iterator[CommandLine]:
    """Two streams of three rounds: the second of `s` tells of a lighthouse. Indexed."""
    with ares.server.admin() as client, client.pipeline(transaction=False) as packet:
        for number in (1, 2, 3):
            for stream in ("s", "other"):
                told = "lighthouse" if (stream, number) == ("s", 2) else f"told {stream} {number}"
                for kind in KINDS:
                    payload = json.dumps({"content": told, "task": told, "result": told})
                    packet.xadd(keys.inbox, {"stream": stream, "type": kind, "payload": payload})
        packet.execute()
    assert ares("run", "--once").code == 0
    assert ares("recall", "query", "lighthouse").code == 0
    return ares


def who_tells(ares: CommandLine, word: str) -> list[tuple[str, ...]]:
    """The commands whose answer holds `word` beyond repeating the question."""
    return [args for args in READS if word in ares(*args).out]


def test_an_erased_round_is_absent_from_every_way_to_read(
    archived: CommandLine, cache: Path
) -> None:
    assert len(who_tells(archived, "lighthouse")) > 10

    assert archived("erase", "--stream", "s", "--round", "2").code == 0

    assert who_tells(archived, "lighthouse") == []
    shown = archived("recall", "round", "2", "--stream", "s")
    assert (shown.code, shown.out) == (1, "")
    assert "round 2 of stream 's' was erased" in shown.err
    assert archived("recall", "round", "3", "--stream", "s").code == 0
    assert [
        item["round"] for item in archived("recall", "list", "--stream", "s", "--json").json
    ] == [
        3,
        1,
    ]


def test_the_index_of_this_user_forgets_at_once(archived: CommandLine, cache: Path) -> None:
    def holds() -> bool:
        return any(b"lighthouse" in path.read_bytes() for path in cache.rglob("*.sqlite*"))

    assert holds()

    archived("erase", "--stream", "s", "--round", "2")

    assert not holds()


def test_an_erased_stream_is_absent_from_every_way_to_read(archived: CommandLine) -> None:
    answer = archived("erase", "--stream", "s")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"{archived.tenant}/s: erased 3 rounds, 9 events, 1 feed entry.\n"
    assert who_tells(archived, "lighthouse") == []
    assert who_tells(archived, "told s") == []
    assert archived("recall", "timeline", "s").code == 1
    assert archived("recall", "round", "1").code == 0, "the other stream's"


def test_an_erased_tenant_is_empty(archived: CommandLine) -> None:
    answer = archived("erase", "--yes", "--json")

    assert answer.code == 0
    assert who_tells(archived, "told") == []
    assert archived("recall", "list", "--json").json == []
    assert answer.json == {
        "tenant": archived.tenant,
        "stream": None,
        "round": None,
        "dry_run": False,
        "complete": True,
        "streams": 2,
        "rounds": 6,
        "rounds_before": 0,
        "events": 18,
        "summaries": 0,
        "segments": 0,
        "feed_entries": 2,
        "inbox_entries": 0,
        "dead_letters": 0,
        "leftovers": 0,
        "pending": [],
    }


@pytest.mark.parametrize(
    ("args", "would"),
    [
        (("--stream", "s"), "s: would erase 3 rounds, 9 events, 1 feed entry."),
        (("--stream", "s", "--round", "2"), "s round 2: would erase 1 round, 3 events."),
        ((), "would erase 2 streams, 6 rounds, 18 events, 2 feed entries."),
    ],
)
def test_a_dry_run_says_what_would_go_and_changes_nothing(
    archived: CommandLine, keys: Keys, args: tuple[str, ...], would: str
) -> None:
    with archived.server.admin() as client:
        before = {key: client.dump(key) for key in client.scan_iter(keys.inbox[:-5] + b"*")}

        answer = archived("erase", *args, "--dry-run")

        assert answer.code == 0
        assert answer.out.endswith(f"{would}\n")
        assert {key: client.dump(key) for key in client.scan_iter(keys.inbox[:-5] + b"*")} == before
    assert len(who_tells(archived, "lighthouse")) > 10


def test_what_was_erased_before_is_said(archived: CommandLine) -> None:
    archived("erase", "--stream", "s", "--round", "2")
    archived("erase", "--stream", "s")

    answer = archived("erase", "--stream", "s")

    assert answer.code == 0
    assert answer.out.endswith("/s: nothing left to erase (3 rounds erased before).\n")


def test_what_never_was_is_not_found(archived: CommandLine) -> None:
    answer = archived("erase", "--stream", "nobody", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (1, "StreamNotFound")
    answer = archived("erase", "--stream", "s", "--round", "9", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (1, "RoundNotFound")
    answer = archived("erase", "--stream", "nobody", "--dry-run")
    assert answer.code == 1


def test_a_whole_tenant_wants_to_be_named_and_meant(archived: CommandLine) -> None:
    answer = archived("erase")
    assert answer.code == 2
    assert "--yes" in answer.err
    answer = archived("erase", "--round", "2", "--yes")
    assert answer.code == 2
    assert "--stream" in answer.err
    answer = archived("erase", "--tenant", "a", "--tenant", "b", "--yes")
    assert answer.code == 2
    assert "choose one of the tenants" in answer.err
    answer = archived("erase", "--tenant", "nobodys", "--yes")
    assert (answer.code, answer.out) == (1, "tenant nobodys: nothing left to erase.\n")
    assert len(archived("recall", "list", "--json").json) == 6


def test_a_tenant_of_the_settings_alone_is_not_erased(
    archived: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from worker import cli

    monkeypatch.setenv("ARES_TENANTS", archived.tenant)
    place = ["--redis", archived.server.url, "--archive-dir", str(archived.archive)]
    assert cli.run([*place, "erase", "--yes"]) == 2
    assert "--tenant T" in capsys.readouterr().err
    assert len(archived("recall", "list", "--json").json) == 6


class Terminal(io.StringIO):
    """Somebody who is asked."""

    def isatty(self) -> bool:
        """A person."""
        return True


def test_a_person_sees_how_much_it_is_and_is_asked(
    archived: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    answer = archived("erase", "--stream", "s")
    assert answer.code == 1
    assert "would erase 3 rounds, 9 events, 1 feed entry." in answer.err
    assert f"Erase {archived.tenant}/s for good?" in answer.err
    assert len(who_tells(archived, "lighthouse")) > 10

    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert archived("erase", "--stream", "s").code == 0
    assert who_tells(archived, "lighthouse") == []


def test_without_its_archive_nothing_is_called_erased(
    archived: CommandLine, keys: Keys, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    archived.archive.rename(away)

    answer = archived("erase", "--stream", "s", "--json")

    assert (answer.code, answer.json["error"]["kind"]) == (1, "ArchiveMissing")
    with archived.server.admin() as client:
        assert client.xlen(keys.log("s")) == 9
    away.rename(archived.archive)


def test_an_unmounted_volume_is_not_taken_for_an_empty_one(
    archived: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARES_ARCHIVE_SENTINEL_FILE", "this-is-the-volume")

    answer = archived("erase", "--stream", "s", "--json")

    assert (answer.code, answer.json["error"]["kind"]) == (1, "ArchiveMissing")
    (archived.archive / "this-is-the-volume").touch()
    assert archived("erase", "--stream", "s").code == 0


@pytest.mark.parametrize("code", [errno.EACCES, errno.ESTALE, errno.EIO])
def test_a_round_the_volume_does_not_let_go_is_pending_then_done(
    archived: CommandLine, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """While somebody has it open, on a network volume, or without the rights."""
    rename = os.rename

    def refuse(source: str, target: str, **more: object) -> None:
        if target == "round_2.json":
            raise OSError(code, os.strerror(code))
        rename(source, target, **more)  # type: ignore[arg-type]

    (file,) = archived.archive.glob("*/s/round_2.json")
    with file.open() as still_reading, monkeypatch.context() as patch:
        patch.setattr("os.rename", refuse)
        answer = archived("erase", "--stream", "s", "--json")
        assert "lighthouse" in still_reading.read()

    assert answer.code == 75
    assert not answer.json["complete"]
    assert [item["where"] for item in answer.json["pending"]] == [str(file)]
    assert "pending: " in answer.err
    again = archived("erase", "--stream", "s", "--json")
    assert (again.code, again.json["complete"], again.json["rounds"]) == (0, True, 1)
    assert who_tells(archived, "lighthouse") == []


def test_a_busy_segment_store_is_waited_for_then_pending(
    archived: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from archive.segments import ArchiveStore, SegmentBusy, export_in

    base = tmp_path / "segments"
    monkeypatch.setenv("ARES_SEGMENTS_BASE", str(base))
    scope = f"{archived.tenant}/s"
    ArchiveStore(base, scope, "s").seal([{"role": "user", "content": "lighthouse"}], "")
    monkeypatch.setattr("worker.erasing.segments._PAUSE_S", 0)

    def busy(*_: object) -> int:
        raise SegmentBusy

    with monkeypatch.context() as patch:
        patch.setattr("archive.segments.ArchiveStore.forget", busy)
        answer = archived("erase", "--stream", "s", "--json")
    assert answer.code == 75
    assert [item["where"] for item in answer.json["pending"]] == ["segments of s"]

    assert archived("erase", "--stream", "s", "--json").json["segments"] == 1
    assert [row["tombstone"] for row in export_in(base, scope)] == [True]
