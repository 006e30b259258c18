"""`verify` is clean on what the worker did, and names whatever a foreign hand changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import redis

from archive.erase import Eraser
from streams.keys import Keys
from support.command_line import CommandLine
from worker.verifying.verifier import Verifier


@pytest.fixture(autouse=True)
def nobody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no workers here that a second look would have to wait for."""
    monkeypatch.setitem(Verifier.__init__.__kwdefaults__, "pause_s", 0.0)


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


@pytest.mark.damage("a log is deleted")
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
        "digest_mismatch",
        "round 3 isn't made of the events 7-9 of the log",
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
        "a stored summary can't be read",
    ),
    "an entry replaced by a foreign one": (
        lambda client, keys: _replace_last(client, keys.log("b"), foreign=True),
        "log",
        "quarantined: its log has no version 9 though its head is 9",
    ),
    "an entry taken out of the log": (
        lambda client, keys: client.xdel(keys.log("b"), client.xrange(keys.log("b"))[4][0]),
        "log",
        "promise 9; its log goes on with version 6 where 5 is due",
    ),
    "a foreign entry come and gone": (
        lambda client, keys: client.xdel(keys.log("b"), client.xadd(keys.log("b"), {"x": "y"})),
        "log",
        "quarantined: its log once had an entry",
    ),
    "head and log deleted": (
        lambda client, keys: client.delete(keys.head("b"), keys.log("b")),
        "state",
        "archived version 9 is above head version 0",
    ),
}


def _replace_last(client: redis.Redis, log: bytes, *, foreign: bool = False) -> None:
    (entry_id, fields), (before, _) = client.xrevrange(log, count=2)
    fields[b"payload"] = b'{"content": "forged"}'
    client.xdel(log, entry_id)
    client.execute_command("XSETID", log, before)
    client.xadd(log, fields, id="*" if foreign else entry_id)


@pytest.mark.damage("a foreign hand in Redis")
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


@pytest.mark.damage("a file is cut off")
def test_a_damaged_round_file_is_named_beside_what_it_leaves_open(archived: CommandLine) -> None:
    file = archived.archive / archived.tenant / "b" / "round_2.json"
    file.write_bytes(file.read_bytes()[:50])
    answer = archived("verify", "--json")
    assert [(item["kind"], item["path"], item["detail"]) for item in answer.json["findings"]] == [
        ("damaged", str(file), "the file is cut off"),
        ("gap", "", "no readable file has versions 4-6, between rounds 1 and 3"),
    ]
    assert f"FOUND  {archived.tenant}/b: damaged: {file}: the file is cut" in archived("verify").out


def test_a_damaged_round_that_was_erased_is_a_note(archived: CommandLine) -> None:
    file = archived.archive / archived.tenant / "b" / "round_2.json"
    file.write_bytes(b"")
    Eraser(archived.archive).round(archived.tenant, "b", 2)
    answer = archived("verify", "--json").json
    assert [note["kind"] for note in answer["notes"]] == ["gap"]
    assert (answer["ok"], answer["checked"]["rounds"]) == (True, 6)


def test_an_erased_stream_is_in_order(archived: CommandLine) -> None:
    Eraser(archived.archive).stream(archived.tenant, "b")
    answer = archived("verify", "--json").json
    assert (answer["ok"], answer["notes"], answer["checked"]["rounds"]) == (True, [], 6)


@pytest.mark.damage("a file is replaced by another stream's")
def test_a_round_of_another_stream_is_named(archived: CommandLine) -> None:
    folder = archived.archive / archived.tenant
    target = folder / "b" / "round_3.json"
    target.unlink()
    target.write_bytes((folder / "a" / "round_3.json").read_bytes())
    assert [item[:2] for item in findings(archived)] == [
        ("a", "misplaced"),
        ("b", "not_in_archive"),
    ]


@pytest.mark.damage("a file is lost")
def test_a_missing_newest_round_file_is_named(archived: CommandLine) -> None:
    (archived.archive / archived.tenant / "b" / "round_3.json").unlink()
    detail = "archived is version 9, no readable file of epoch 0 reaches it"
    assert findings(archived) == [("b", "not_in_archive", detail)]


@pytest.mark.damage("all files are lost")
@pytest.mark.parametrize("left", ["nothing", "the mount point", "folders without files"])
def test_an_archive_without_any_round_is_one_finding_and_not_one_a_stream(
    archived: CommandLine, left: str
) -> None:
    """A volume that isn't mounted, mostly: the first thing to say, and said once."""
    for file in archived.archive.rglob("round_*.json"):
        file.unlink()
    if left != "folders without files":
        shutil.rmtree(archived.archive)
    if left == "the mount point":
        archived.archive.mkdir()

    answer = archived("verify")

    assert answer.code == 1
    assert answer.out.splitlines() == [
        f"FOUND  {archived.tenant}: empty_archive: {archived.archive} looks empty: it holds no "
        "round file, and Redis says that rounds of 2 streams were archived; is it mounted?",
        "Checked 2 streams, 13 events in logs and 0 rounds in the archive: 1 finding.",
    ]


@pytest.mark.damage("all files are lost, and a log besides")
def test_an_empty_archive_hides_nothing_that_is_wrong_in_redis(
    archived: CommandLine, keys: Keys
) -> None:
    shutil.rmtree(archived.archive)
    with archived.server.admin() as client:
        client.delete(keys.log("b"))
    assert [item[:2] for item in findings(archived)] == [("", "empty_archive"), ("b", "log")]


@pytest.mark.damage("all files are lost")
def test_one_stream_of_an_empty_archive_is_told_with_the_reason(archived: CommandLine) -> None:
    shutil.rmtree(archived.archive)
    found = [item[:2] for item in findings(archived, "b")]
    assert found == [("", "empty_archive"), ("b", "not_in_archive")]


@pytest.mark.damage("all files are lost")
def test_the_file_that_tells_a_mounted_volume_is_named_where_it_is_missing(
    archived: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(archived.archive)
    archived.archive.mkdir()
    monkeypatch.setenv("ARES_ARCHIVE_SENTINEL_FILE", ".volume")
    [(_, _, detail)] = findings(archived)
    assert detail.endswith("; .volume is missing, too: mount it")


def test_a_tenant_that_has_archived_nothing_yet_needs_no_archive(
    ares: CommandLine, keys: Keys
) -> None:
    with ares.server.admin() as client:
        client.xadd(keys.inbox, {"stream": "a", "type": "task.created"})
    ares("run", "--once")
    shutil.rmtree(ares.archive, ignore_errors=True)
    assert ares("verify").code == 0


@pytest.mark.damage("a link stands in the place of a folder")
def test_a_link_in_place_of_a_folder_is_named_once_and_nothing_is_called_lost(
    archived: CommandLine,
) -> None:
    folder = archived.archive / archived.tenant / "b"
    folder.rename(archived.archive.with_name("elsewhere"))
    folder.symlink_to(archived.archive.with_name("elsewhere"))
    assert [item[:2] for item in findings(archived)] == [("b", "unsafe")]
    assert [item[:2] for item in findings(archived, "b")] == [("b", "unsafe")]


def test_a_round_published_before_the_state_knew_is_a_note(
    archived: CommandLine, keys: Keys
) -> None:
    """A worker died in between; the next one recognises its own file."""
    with archived.server.admin() as client:
        client.hset(keys.state("b"), mapping={"archived_version": 6, "rounds": 2})
    answer = archived("verify")
    assert answer.code == 0
    assert answer.out.startswith(f"note   {archived.tenant}/b: unfinished: round 3 is published")


@pytest.mark.damage("a file is lost")
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
    folder = archived.archive / archived.tenant / "b"
    (folder / "round_1.json").unlink()
    assert archived("verify").code == 0, "rotation may have taken it"
    (folder / "round_1.json").write_bytes((folder / "round_2.json").read_bytes())
    assert [item[1] for item in findings(archived)] == ["duplicate", "misnumbered"]
    assert [item[1] for item in findings(archived, "b")] == ["duplicate", "misnumbered"]


@pytest.mark.damage("a stream is taken from the list")
def test_a_stream_that_is_archived_and_not_listed_is_checked_whole(
    archived: CommandLine, keys: Keys
) -> None:
    with archived.server.admin() as client:
        client.zrem(keys.streams, "b")
        assert archived("verify", "--json").json["checked"]["events"] == 13
        client.delete(keys.log("b"))
    assert [item[:2] for item in findings(archived)] == [("b", "log")]


def test_a_stream_nobody_knows_is_a_no(archived: CommandLine) -> None:
    answer = archived("verify", "nobody", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (1, "StreamNotFound")


@pytest.mark.damage("foreign names among the streams")
def test_listed_streams_without_anything_and_names_that_are_none_are_named(
    archived: CommandLine, keys: Keys
) -> None:
    with archived.server.admin() as client:
        client.zadd(keys.streams, {"ghost": 1, b"\xff": 2, b"": 3})
    assert findings(archived) == [
        ("", "state", "b'' is listed among the streams, and is no stream's name"),
        ("", "state", r"b'\xff' is listed among the streams, and is no stream's name"),
        ("ghost", "state", "is listed, and has no head, no log and no state"),
    ]


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
