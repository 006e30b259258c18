"""Events in and out by the command line: emit, import, streams."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from streams.keys import Keys
from support.command_line import CommandLine


@pytest.fixture
def keys(tenant: str) -> Keys:
    return Keys(tenant)


def inbox(ares: CommandLine) -> list[dict[bytes, bytes]]:
    with ares.server.admin() as client:
        return [fields for _, fields in client.xrange(Keys(ares.tenant).inbox)]


def test_emit_sends_one_event_to_the_inbox_byte_for_byte(ares: CommandLine) -> None:
    answer = ares("emit", "s", "task.created", "--payload", '{"n": 1.50, "u":"\\u00e9"}', "--json")

    (sent,) = inbox(ares)
    assert answer.code == 0
    assert sent == {
        b"stream": b"s",
        b"type": b"task.created",
        b"payload": b'{"n": 1.50, "u":"\\u00e9"}',
        b"id": answer.json["id"].encode(),
    }


def test_emit_says_all_that_the_contract_knows(ares: CommandLine) -> None:
    ares(
        *("emit", "s", "t", "--id", "e1", "--module", "m", "--timestamp", "2026-01-02T03:04:05Z"),
        *("--metadata", '{"a":1}'),
    )
    (sent,) = inbox(ares)
    assert (sent[b"id"], sent[b"module"]) == (b"e1", b"m")
    assert sent[b"timestamp"] == b"2026-01-02T03:04:05Z"
    assert sent[b"metadata"] == b'{"a":1}'


def test_emit_reads_a_payload_from_a_file_or_a_pipe(
    ares: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "payload.json").write_bytes(b'{"from": "file"}')
    ares("emit", "s", "t", "--payload", f"@{tmp_path}/payload.json")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"from": "pipe"}')))
    ares("emit", "s", "t", "--payload", "-")
    assert [sent[b"payload"] for sent in inbox(ares)] == [b'{"from": "file"}', b'{"from": "pipe"}']


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("s", "t", "--payload", "{"), "payload: is not JSON"),
        (("s", "t", "--payload", "[]"), "payload: must be an object, not an array"),
        (("s", "t", "--payload", "@/no/such/file"), "can't read /no/such/file: No such file"),
        (("s" * 513, "t"), "stream: is 513 bytes, more than 512"),
        (("s", ""), "type: must not be empty"),
        (("s", "t", "--timestamp", "noon"), "timestamp: is neither RFC 3339"),
        (("s", "t", "--id", "a\nb"), "id: contains a control character"),
        (("s\udcff", "t"), "stream: is not UTF-8"),
    ],
)
def test_emit_refuses_what_the_inbox_would_reject_and_sends_nothing(
    ares: CommandLine, args: tuple[str, ...], why: str
) -> None:
    answer = ares("emit", *args, "--json")
    assert answer.code == 2
    assert why in answer.json["error"]["message"]
    assert inbox(ares) == []


def test_emit_with_an_expected_version_appends_at_once(ares: CommandLine) -> None:
    first = ares("emit", "s", "t", "--expected-version", "no-stream", "--json")
    second = ares("emit", "s", "t", "--expected-version", "1", "--json")
    follow = ares("emit", "s", "t", "--expected-version", "0", "--json")
    assert [answer.json["version"] for answer in (first, second, follow)] == [1, 2, 3]
    assert inbox(ares) == []


def test_emit_at_a_wrong_version_is_a_conflict(ares: CommandLine) -> None:
    ares("emit", "s", "t", "--expected-version", "0")
    answer = ares("emit", "s", "t", "--expected-version", "7", "--json")
    assert answer.code == 75
    assert answer.json["error"]["message"] == "stream 's' is at version 1, expected 7"


def test_emit_for_several_tenants_at_once_is_refused(ares: CommandLine) -> None:
    answer = ares("emit", "s", "t", "--tenant", "a", "--tenant", "b")
    assert answer.code == 2
    assert "choose one of the tenants a, b with --tenant" in answer.err


def write_lines(path: Path, *lines: dict[str, Any] | str) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


SESSION = (
    {"stream": "a", "type": "task.created", "payload": {"task": "x"}},
    {"stream": "b", "type": "task.created", "payload": {"task": "y"}},
    {"stream": "a", "type": "task.completed", "payload": {"result": "z"}},
)


def test_import_sends_the_lines_in_order(ares: CommandLine, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "x.jsonl", *SESSION)
    answer = ares("import", str(lines), "--json")
    assert answer.json == {"files": 1, "sent": 3, "skipped": 0, "streams": 2}
    assert [(sent[b"stream"], sent[b"type"]) for sent in inbox(ares)] == [
        (b"a", b"task.created"), (b"b", b"task.created"), (b"a", b"task.completed"),
    ]  # fmt: skip


def test_a_file_imported_twice_is_recorded_once(ares: CommandLine, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "x.jsonl", *SESSION)
    ares("import", str(lines))
    ares("run", "--once")
    renamed = lines.rename(tmp_path / "y.jsonl")
    ares("import", str(renamed), str(renamed))
    ares("run", "--once")
    heads = {facts["stream"]: facts["head"] for facts in ares("streams", "list", "--json").json}
    assert heads == {"a": 2, "b": 1}


def test_import_skips_bad_lines_and_names_them(ares: CommandLine, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "x.jsonl", SESSION[0], "nonsense", "", {"stream": "s"})
    answer = ares("import", str(lines))
    assert answer.code == 0
    assert answer.out == "Sent 1 event of 1 stream from 1 file, skipped 2 bad lines.\n"
    assert answer.err.splitlines() == [
        f"{lines}:2: is not JSON: Expecting value at character 0",
        f"{lines}:4: lacks the field `type`",
    ]
    assert len(inbox(ares)) == 1


def test_a_strict_import_with_a_bad_line_sends_nothing(ares: CommandLine, tmp_path: Path) -> None:
    good = write_lines(tmp_path / "good.jsonl", *SESSION)
    bad = write_lines(tmp_path / "bad.jsonl", SESSION[0], "nonsense")
    answer = ares("import", "--strict", str(good), str(bad))
    assert answer.code == 65
    assert f"{bad}:2: is not JSON" in answer.err
    assert "1 bad line: nothing was sent" in answer.err
    assert inbox(ares) == []


def test_an_import_of_nothing_but_bad_lines_is_an_error(ares: CommandLine, tmp_path: Path) -> None:
    assert ares("import", str(write_lines(tmp_path / "bad.jsonl", "x", "y"))).code == 65


def test_an_empty_file_is_imported_as_nothing(ares: CommandLine, tmp_path: Path) -> None:
    answer = ares("import", str(write_lines(tmp_path / "empty.jsonl")))
    assert (answer.code, answer.out) == (0, "Sent 0 events of 0 streams from 1 file.\n")


def test_a_strict_import_reads_a_pipe_too(
    ares: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    text = "".join(json.dumps(line) + "\n" for line in SESSION)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Pipe(text.encode())))
    assert ares("import", "--strict", "-").code == 0
    assert len(inbox(ares)) == 3


def test_a_line_too_long_for_memory_is_skipped_as_one_bad_line(
    ares: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARES_LIMITS_MAX_PAYLOAD_BYTES", "1024")
    long = {"stream": "a", "type": "t", "payload": {"x": "y" * 3_000_000}}
    answer = ares("import", str(write_lines(tmp_path / "x.jsonl", SESSION[0], long, SESSION[2])))
    assert answer.out == "Sent 2 events of 1 stream from 1 file, skipped 1 bad line.\n"
    assert ":2: is longer than" in answer.err


def test_import_of_a_missing_file_sends_nothing_at_all(ares: CommandLine, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "x.jsonl", *SESSION)
    assert ares("import", str(lines), str(tmp_path / "missing")).code == 2
    assert inbox(ares) == []


def fill(ares: CommandLine, stream: str, count: int) -> None:
    for number in range(count):
        payload = json.dumps({"role": "user", "content": f"message {number + 1}"})
        ares("emit", stream, "message.added", "--payload", payload, "--expected-version", "0")


def shown_versions(answer: Any) -> list[int]:
    return [event["version"] for event in answer.json["events"]]


def test_streams_show_takes_ranges_limits_and_directions(ares: CommandLine) -> None:
    fill(ares, "s", 6)

    def show(*args: str) -> list[int]:
        return shown_versions(ares("streams", "show", "s", "--json", *args))

    assert show() == [1, 2, 3, 4, 5, 6]
    assert show("--from", "2", "--to", "4") == [2, 3, 4]
    assert show("--limit", "2") == [1, 2]
    assert show("--limit", "2", "--backward") == [6, 5]
    assert show("--limit", "0", "--from", "5") == [5, 6]
    assert show("--since", "1h") == [1, 2, 3, 4, 5, 6]
    assert show("--since", "2999-01-01") == []
    assert show("--from", "5", "--to", "4") == []


def test_streams_show_reads_page_after_page(
    ares: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.commands.streams._PAGE", 2)
    fill(ares, "s", 5)
    assert shown_versions(ares("streams", "show", "s", "--json", "--limit", "0")) == [1, 2, 3, 4, 5]
    answer = ares("streams", "show", "s", "--json", "--limit", "4", "--backward")
    assert shown_versions(answer) == [5, 4, 3, 2]


def test_streams_show_says_when_there_is_more(ares: CommandLine) -> None:
    fill(ares, "s", 3)
    answer = ares("streams", "show", "s", "--limit", "2")
    assert "message 2" in answer.out
    assert "message 3" not in answer.out
    assert answer.err == "Stopped after 2 events; --limit 0 shows all.\n"
    assert ares("streams", "show", "s", "--limit", "3").err == ""


def test_streams_show_of_an_unknown_stream_is_a_no(ares: CommandLine) -> None:
    answer = ares("streams", "show", "nobody")
    assert (answer.code, answer.err) == (1, "ares-worker: stream 'nobody' does not exist\n")


def test_streams_list_covers_every_tenant_asked_for(ares: CommandLine) -> None:
    fill(ares, "s", 2)
    ares("emit", "u", "t", "--expected-version", "0", "--tenant", f"{ares.tenant}-b")
    both = ("--tenant", ares.tenant, "--tenant", f"{ares.tenant}-b")
    found = {
        (facts["tenant"], facts["stream"])
        for facts in ares("streams", "list", "--json", *both).json
    }
    assert found == {(ares.tenant, "s"), (f"{ares.tenant}-b", "u")}
    assert f"tenant {ares.tenant}-b" in ares("streams", "list", *both).out


@pytest.mark.damage("a log has a foreign entry")
def test_a_quarantined_stream_is_named_with_the_reason(ares: CommandLine, keys: Keys) -> None:
    fill(ares, "s", 2)
    with ares.server.admin() as client:
        client.xadd(keys.log("s"), {"foreign": "entry"})
    text = ares("streams", "list").out
    assert "! quarantined: its log holds 3 events, head and state promise 2" in text
    (facts,) = ares("streams", "list", "--json").json
    assert facts["quarantined"].startswith("its log holds 3 events")


def test_compact_folds_and_a_dry_run_only_says_so(ares: CommandLine) -> None:
    for kind in ("task.created", "message.added", "task.completed"):
        ares("emit", "s", kind, "--expected-version", "0")
    ares("run", "--once")
    keep = ("compact", "s", "--force", "--json")
    assert ares("compact", "s").code == 1, "below the threshold there is nothing to do"

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARES_COMPACTION_KEEP_RECENT", "1")
        planned = ares(*keep, "--dry-run")
        assert shown_versions(ares("streams", "show", "s", "--json")) == [1, 2, 3]
        done = ares(*keep)
    assert planned.json == {**done.json, "dry_run": True}
    assert done.json["events"] == 2
    events = ares("streams", "show", "s", "--json").json["events"]
    assert [(event["type"], event["version"]) for event in events] == [
        ("event.summary", 2), ("task.completed", 3),
    ]  # fmt: skip


def test_compact_of_an_unknown_stream_is_a_no(ares: CommandLine) -> None:
    answer = ares("compact", "nobody", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (1, "StreamNotFound")


@pytest.mark.parametrize(
    "line",
    [
        *("streams list", "streams show none", "dead list", "dead show 1-1", "emit s t"),
        *("dead requeue --all", "dead purge --all --yes", "compact s", "verify", "verify s"),
    ],
)
def test_json_stays_one_document_with_debug_logs_and_no_redis(ares: CommandLine, line: str) -> None:
    answer = ares("-vv", *line.split(), "--redis", "redis://127.0.0.1:1/0", "--json")
    assert answer.json["error"]["kind"] == "StoreUnavailable"
    assert answer.code == 69


@pytest.mark.parametrize("line", ["streams list", "dead list"])
def test_json_of_nothing_is_an_empty_array(ares: CommandLine, line: str) -> None:
    answer = ares(*line.split(), "--json")
    assert (answer.code, answer.json) == (0, [])
