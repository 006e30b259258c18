"""`verify` is clean on what the worker did, and names whatever a foreign hand changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis

from streams.keys import Keys
from support.command_line import CommandLine


@pytest.fixture
def keys(tenant: str) -> Keys:
    return Keys(tenant)


@pytest.fixture
def archived(ares: CommandLine, keys: Keys) -> CommandLine:
    """Two streams of three rounds each, archived; the first one compacted in part."""
    with ares.server.admin() as client, client.pipeline(transaction=False) as packet:
        for number in range(3):
            for stream in ("a", "b"):
                for kind in ("task.created", "message.added", "task.completed"):
                    payload = json.dumps({"content": f"{stream} {number}"})
                    fields = {"stream": stream, "type": kind, "payload": payload}
                    packet.xadd(keys.inbox, fields)
        packet.execute()
    ares("run", "--once")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARES_COMPACTION_KEEP_RECENT", "4")
        assert ares("compact", "a", "--force").code == 0
    return ares


def findings(ares: CommandLine, *args: str) -> list[tuple[str, str, str]]:
    document = ares("verify", "--json", *args).json
    return [(item["stream"], item["kind"], item["detail"]) for item in document["findings"]]


def test_what_the_worker_did_is_in_order(archived: CommandLine) -> None:
    answer = archived("verify")
    assert answer.code == 0
    assert answer.out == (
        "Checked 2 streams, 13 events in logs and 6 rounds in the archive: all agree.\n"
    )


def test_streams_verify_is_the_same_command(archived: CommandLine) -> None:
    assert archived("streams", "verify", "a", "--json").json == (
        archived("verify", "a", "--json").json
    )


def test_the_result_is_kept_for_the_metrics(archived: CommandLine, keys: Keys) -> None:
    archived("verify")
    with archived.server.admin() as client:
        kept = client.hgetall(keys.verify)
        assert kept[b"findings"] == b"0"
        succeeded = kept[b"succeeded_ms"]
        client.delete(keys.log("b"))
        archived("verify")
        assert client.hgetall(keys.verify) == {b"findings": b"1", b"succeeded_ms": succeeded}


Change = Callable[["redis.Redis", Keys], Any]

CHANGES: dict[str, tuple[Change, str, str]] = {
    "a foreign entry in the log": (
        lambda client, keys: client.xadd(keys.log("b"), {"foreign": "x"}),
        "log",
        "quarantined: its log holds 10 events, head and state promise 9",
    ),
    "a log of another type": (
        lambda client, keys: (client.delete(keys.log("b")), client.set(keys.log("b"), "x")),
        "log",
        "quarantined: somebody else wrote one of its keys",
    ),
    "a deleted log": (
        lambda client, keys: client.delete(keys.log("b")),
        "log",
        "quarantined: its log holds 0 events, head and state promise 9",
    ),
    "a state that is no number": (
        lambda client, keys: client.hset(keys.state("b"), "archived_version", "many"),
        "log",
        "quarantined: somebody else wrote one of its keys",
    ),
    "an entry replaced by another": (
        lambda client, keys: _replace_last(client, keys.log("b")),
        "archive",
        "round 3 isn't made of the events 7..9 of the log",
    ),
    "an archived version beyond the head": (
        lambda client, keys: client.hset(keys.state("b"), "archived_version", 12),
        "state",
        "archived version 12 is above head version 9",
    ),
    "a lost summary": (
        lambda client, keys: client.delete(keys.summaries("a")),
        "summaries",
        "summaries end at version 0, compacted is 5",
    ),
    "a summary that is none": (
        lambda client, keys: client.lset(keys.summaries("a"), 0, "x"),
        "summaries",
        "",
    ),
}


def _replace_last(client: redis.Redis, log: bytes) -> None:
    (entry_id, fields), (before, _) = client.xrevrange(log, count=2)
    fields[b"payload"] = b'{"content": "forged"}'
    client.xdel(log, entry_id)
    client.execute_command("XSETID", log, before)
    client.xadd(log, fields, id=entry_id)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_redis_is_named_and_the_other_stream_is_fine(
    archived: CommandLine, keys: Keys, change: str
) -> None:
    act, kind, detail = CHANGES[change]
    with archived.server.admin() as client:
        act(client, keys)

    found = findings(archived)

    assert kind in {item[1] for item in found}
    assert any(detail in item[2] for item in found)
    assert len({item[0] for item in found}) == 1
    assert archived("verify").code == 1


def test_a_damaged_round_file_is_named(archived: CommandLine) -> None:
    file = archived.archive / archived.tenant / "b" / "round_2.json"
    file.chmod(0o600)
    file.write_bytes(file.read_bytes()[:50])
    ((stream, kind, detail),) = findings(archived)
    assert (stream, kind) == ("b", "damaged")
    assert "b/round_2.json" in detail


def test_a_round_of_another_stream_is_named(archived: CommandLine) -> None:
    folder = archived.archive / archived.tenant
    target = folder / "b" / "round_3.json"
    target.unlink()
    target.write_bytes((folder / "a" / "round_3.json").read_bytes())
    assert ("b", "archive") in [item[:2] for item in findings(archived)]


def test_a_missing_newest_round_file_is_named(archived: CommandLine) -> None:
    (archived.archive / archived.tenant / "b" / "round_3.json").unlink()
    assert findings(archived) == [
        ("b", "archive", "3 rounds were archived, the archive's newest is 2")
    ]


def test_a_missing_archive_is_as_many_findings_as_streams(archived: CommandLine) -> None:
    archived.archive.rename(archived.archive.with_name("elsewhere"))
    assert findings(archived) == [
        (stream, "archive", "3 rounds were archived, the archive holds none")
        for stream in ("a", "b")
    ]


def test_a_round_published_before_the_state_knew_is_a_note(
    archived: CommandLine, keys: Keys
) -> None:
    """A worker died in between; the next one recognises its own file."""
    with archived.server.admin() as client:
        client.hset(keys.state("b"), mapping={"archived_version": 6, "rounds": 2})
    answer = archived("verify")
    assert answer.code == 0
    assert answer.out.startswith(f"note   {archived.tenant}/b: unfinished: round 3 is published")


def test_rounds_of_a_stream_redis_has_forgotten_are_checked_too(
    archived: CommandLine, keys: Keys
) -> None:
    with archived.server.admin() as client:
        client.delete(keys.log("b"), keys.head("b"), keys.state("b"))
        client.zrem(keys.streams, "b")
    answer = archived("verify", "--json").json
    assert answer["ok"]
    assert answer["checked"] == {"streams": 2, "events": 4, "rounds": 6}
    assert archived("verify", "b").code == 0
    (archived.archive / archived.tenant / "b" / "round_2.json").unlink()
    assert archived("verify").code == 0, "rotation may have taken it"


def test_a_stream_nobody_knows_is_a_no(archived: CommandLine) -> None:
    answer = archived("verify", "nobody", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (1, "StreamNotFound")


def test_a_listed_stream_without_anything_is_named(archived: CommandLine, keys: Keys) -> None:
    with archived.server.admin() as client:
        client.zadd(keys.streams, {"ghost": 1})
    assert findings(archived) == [("ghost", "state", "is listed, and has no head and no log")]


def test_a_redis_that_takes_no_writes_can_be_verified(archived: CommandLine) -> None:
    """Whoever may only read, or a Redis at maxmemory."""
    with archived.server.admin() as client:
        client.acl_setuser(
            "reader", enabled=True, nopass=True, keys=["*"],
            categories=["+@read", "+@connection", "+@transaction"], commands=["+memory"],
        )  # fmt: skip
    url = archived.server.url.replace("redis://", "redis://reader:any@")
    answer = archived("verify", "--redis", url)
    assert (answer.code, answer.out[:7]) == (0, "Checked")
    assert "The result isn't kept for the metrics" in answer.err
