"""Redis stays small, big events pass, bad ones step aside, foreign writes are named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import redis as redis_py

from streams.event import SUMMARY_TYPE
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from support.sessions import session

KEYS = Keys("default")


@pytest.fixture
def own(start_server):
    """A server of the test's own."""
    return start_server()


@pytest.fixture
def here(own, install):
    """An installation with small compaction windows."""
    return install(own.url, ARES_COMPACTION_THRESHOLD="500", ARES_COMPACTION_KEEP_RECENT="100")


@pytest.fixture
def producer(own):
    """A client in another language would send the same: plain XADD."""
    with own.admin() as admin:
        yield admin


def xadd(producer: redis_py.Redis, stream: str, type_: str = "llm.call", **fields) -> bytes:
    return producer.xadd(KEYS.inbox, {"stream": stream, "type": type_, **fields})


async def test_a_long_stream_is_folded_and_reads_as_a_whole(here, producer):
    """5,000 events in 50 rounds, threshold 500, keep 100."""
    pipe = producer.pipeline(transaction=False)
    for n in range(1, 5_001):
        type_ = "task.completed" if n % 100 == 0 else "llm.call"
        xadd(pipe, "s", type_, payload=json.dumps({"n": n}))
    pipe.execute()

    here.call("run", "--once")

    assert len(here.rounds()) == 50
    assert producer.xlen(KEYS.log("s")) <= 600
    async with await RedisEventStore.connect(here.redis_url) as store:
        read = await store.read("s")
    due = 1
    for event in read:
        first = event.payload["first_version"] if event.type == SUMMARY_TYPE else event.version
        assert first == due
        due = event.version + 1
    assert due == 5_001
    kinds = [event.type == SUMMARY_TYPE for event in read]
    assert kinds == sorted(kinds, reverse=True)


async def test_an_event_of_six_megabytes_passes_from_inbox_to_archive(here, producer):
    xadd(producer, "s", payload=json.dumps({"output": "x" * (6 << 20)}))
    xadd(producer, "s", "task.completed", payload='{"result": "done"}')

    here.call("run", "--once")

    [record] = map(json.loads, here.rounds().values())
    assert (record["event_count"], record["outcome"]) == (2, "completed")
    async with await RedisEventStore.connect(here.redis_url) as store:
        first, _ = await store.read("s")
    assert len(first.payload["output"]) == 6 << 20


def broken(**fields: str | bytes) -> dict[str, str | bytes]:
    """An inbox entry that is good but for `fields`."""
    return {"stream": "s", "type": "llm.call", **fields}


VIOLATIONS: dict[str, tuple[dict[str, str | bytes], str]] = {
    "no stream": ({"type": "llm.call"}, "stream"),
    "no type": ({"stream": "s"}, "type"),
    "empty stream": (broken(stream=""), "stream"),
    "long stream": (broken(stream="s" * 513), "stream"),
    "control character": (broken(stream="a\nb"), "stream"),
    "not UTF-8": (broken(stream=b"\xff\x80"), "stream"),
    "long type": (broken(type="t" * 129), "type"),
    "unknown field": (broken(colour="red"), "colour"),
    "bad time": (broken(timestamp="yesterday"), "timestamp"),
    "long id": (broken(id="i" * 257), "id"),
    "metadata": (broken(metadata="7"), "metadata"),
    "no JSON": (broken(payload="{"), "payload"),
    "no object": (broken(payload="[1]"), "payload"),
    "NaN": (broken(payload='{"a": [NaN]}'), "payload.a[0]"),
    "Infinity": (broken(payload='{"a": -Infinity}'), "payload.a"),
    "duplicate key": (broken(payload='{"a": {"b": 1, "b": 2}}'), "payload.a"),
    "lone surrogate": (broken(payload='{"a": "\\ud83d"}'), "payload.a"),
    "66 bits": (broken(payload='{"a": 36893488147419103232}'), "payload.a"),
    "too deep": (broken(payload='{"a":' * 65 + "1" + "}" * 65), "payload.a.a"),
    "too large": (broken(payload=json.dumps({"a": "x" * (8 << 20)})), "payload"),
    "binary": (broken(payload=b"\x81\xa1a\xc4\x01\xff"), "payload.a"),
    "extension": (broken(payload=b"\x81\xa1a\xd4\x05\x01"), "payload"),
    "cut": (broken(payload=b"\x82\xa1a\x01"), "payload"),
    "trailing bytes": (broken(payload=b"\x81\xa1a\x01\x02"), "payload"),
    "giant header": (broken(payload=b"\xdf\xff\xff\xff\xff"), "payload"),
    "number as key": (broken(payload=b"\x81\x01\x01"), "payload"),
}


def test_every_broken_entry_is_a_dead_letter_with_its_reason_and_its_neighbours_are_archived(
    here, producer
):
    sent = {}
    for number, (name, (fields, _)) in enumerate(VIOLATIONS.items()):
        xadd(producer, f"neighbour-{number % 5}")
        sent[producer.xadd(KEYS.inbox, fields).decode()] = name
        xadd(producer, f"neighbour-{number % 5}", "task.completed")

    here.call("run", "--once")

    dead = here.json("dead", "list")
    reasons = {sent[letter["origin_id"]]: letter["reason"] for letter in dead}
    assert set(reasons) == set(VIOLATIONS)
    for name, (_, place) in VIOLATIONS.items():
        assert place in reasons[name], (name, reasons[name])
    stored = {fields[b"origin_id"].decode(): fields for _, fields in producer.xrange(KEYS.dead)}
    for origin, name in sent.items():
        for field, value in VIOLATIONS[name][0].items():
            kept = [v for k, v in stored[origin].items() if k.endswith(field.encode())]
            assert (value if isinstance(value, bytes) else value.encode()) in kept, name
    assert producer.xlen(KEYS.inbox) == 0
    assert len(here.rounds()) == len(VIOLATIONS)


def test_a_dead_letter_comes_in_once_the_limit_is_mended(own, install, producer):
    strict = install(own.url, ARES_LIMITS_MAX_PAYLOAD_BYTES="1024")
    xadd(producer, "s", payload=json.dumps({"output": "x" * 2_000}))
    strict.call("run", "--once")
    [letter] = strict.json("dead", "list")

    mended = replace(strict, settings={})
    mended.call("dead", "requeue", letter["id"])
    xadd(producer, "s", "task.completed")
    mended.call("run", "--once")

    assert mended.json("dead", "list") == []
    [record] = map(json.loads, mended.rounds().values())
    assert record["event_count"] == 2


def foreign_entry(producer) -> None:
    producer.xadd(KEYS.log("hurt"), {"x": "y"}, id="99999-1")


def another_type(producer) -> None:
    producer.delete(KEYS.log("hurt"))
    producer.set(KEYS.log("hurt"), "x")


def deleted_log(producer) -> None:
    producer.delete(KEYS.log("hurt"))


@pytest.mark.damage("somebody else wrote or deleted a log")
@pytest.mark.parametrize("hurt", [foreign_entry, another_type, deleted_log])
def test_a_stream_somebody_wrote_to_is_quarantined_and_named_and_others_go_on(here, producer, hurt):
    for event in session("hurt", 1):
        xadd(producer, "hurt", event["type"])
    here.call("run", "--once")
    before = here.rounds()
    hurt(producer)
    damage = producer.dump(KEYS.log("hurt"))
    for stream in ["hurt", "fine", "hurt", "fine"]:
        xadd(producer, stream, "task.completed")

    here.call("run", "--once")

    after = here.rounds()
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 2
    assert producer.dump(KEYS.log("hurt")) == damage
    waiting = [fields[b"stream"] for _, fields in producer.xrange(KEYS.inbox)]
    assert waiting == [b"hurt", b"hurt"]
    found = here.call("verify", code=1)
    assert "hurt" in found
    assert "fine" not in found
