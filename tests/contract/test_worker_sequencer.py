"""The sequencer on every kind of Redis: once, in order, and no entry harms another."""

from __future__ import annotations

import msgpack
import pytest

from streams.codec import Limits
from streams.inbox import parse_entry
from streams.integrity import verify_stream_integrity
from streams.plan import BatchLimits
from streams.redis_store import StoreOptions
from support.workshop import Workshop, drain
from worker.inbox_reader import PagePolicy


async def dead(workshop: Workshop) -> list[dict[bytes, bytes]]:
    entries = await workshop.client.xrange(workshop.store().keys.dead)
    return [fields for _, fields in entries]


async def test_entries_reach_their_logs_in_arrival_order(workshop: Workshop):
    for number in range(20):
        await workshop.xadd(f"s{number % 2}", "llm.call", {"n": number})

    await drain(workshop.sequencer())

    events = await workshop.store().read("s1")
    verify_stream_integrity(events)
    assert [event.payload["n"] for event in events] == list(range(1, 20, 2))
    assert await workshop.client.xlen(workshop.store().keys.inbox) == 0


async def test_a_second_worker_waits_for_the_lease_and_goes_on_when_it_is_released(
    workshop: Workshop,
):
    first, second = workshop.sequencer(), workshop.sequencer()
    await workshop.xadd("s", "llm.call")
    await drain(first)
    await workshop.xadd("s", "llm.call")

    assert not (await second.run_once()).held
    await first.release()
    await drain(second)

    assert await workshop.store().stream_version("s") == 2


async def test_the_same_id_xadded_again_is_recorded_once(workshop: Workshop):
    for _ in range(2):
        await workshop.xadd("s", "llm.call", {"n": 1}, id="call-1")
    sequencer = workshop.sequencer()
    [first, *_] = await drain(sequencer)
    await workshop.xadd("s", "llm.call", {"n": 1}, id="call-1")
    [later, *_] = await drain(sequencer)

    assert await workshop.store().stream_version("s") == 1
    assert (first.repeats, later.repeats) == (1, 1)
    assert await workshop.client.xlen(workshop.store().keys.inbox) == 0


async def test_the_same_id_in_another_stream_is_another_event(workshop: Workshop):
    await workshop.xadd("a", "llm.call", id="1")
    await workshop.xadd("b", "llm.call", id="1")

    await drain(workshop.sequencer())

    assert await workshop.store().list_streams() == ["a", "b"]


async def test_a_foreign_payload_survives_exactly(workshop: Workshop):
    payload = {"big": 2**64 - 1, "float": 0.1, "text": "αβ\n\u2028", "empty": "", "none": None}
    await workshop.xadd("json", "x", payload)
    await workshop.xadd("msgpack", "x", msgpack.packb(payload))

    await drain(workshop.sequencer())

    for stream in ("json", "msgpack"):
        [event] = await workshop.store().read(stream)
        assert event.payload == payload


VIOLATIONS = {
    "no stream": ({"type": "x"}, "stream: is missing", "schema"),
    "no type": ({"stream": "s"}, "type: is missing", "schema"),
    "empty stream": ({"stream": "", "type": "x"}, "stream: must not be empty", "schema"),
    "unknown field": (
        {"stream": "s", "type": "x", "colour": "red"},
        "entry: has unknown fields: 'colour'",
        "schema",
    ),
    "control character": (
        {"stream": "a\nb", "type": "x"},
        "stream: contains a control character",
        "schema",
    ),
    "long stream": (
        {"stream": "é" * 257, "type": "x"},
        "stream: is 514 bytes, more than 512",
        "too_large",
    ),
    "long type": (
        {"stream": "s", "type": "x" * 129},
        "type: is 129 bytes, more than 128",
        "too_large",
    ),
    "not UTF-8": (
        {"stream": b"\xff", "type": "x"},
        "stream: is not UTF-8 at byte 0",
        "encoding",
    ),
    "NaN": (
        {"stream": "s", "type": "x", "payload": '{"a":[NaN]}'},
        "payload.a[0]: is nan, which JSON has no form for",
        "encoding",
    ),
    "half a pair": (
        {"stream": "s", "type": "x", "payload": '{"a":"\\ud83d"}'},
        "payload.a: contains half a surrogate pair, which is no character",
        "encoding",
    ),
    "key twice": (
        {"stream": "s", "type": "x", "metadata": '{"a":1,"a":2}'},
        "metadata: has the key 'a' twice",
        "schema",
    ),
    "huge integer": (
        {"stream": "s", "type": "x", "payload": '{"a":18446744073709551616}'},
        "payload.a: is an integer beyond 64 bits",
        "schema",
    ),
    "an array": (
        {"stream": "s", "type": "x", "payload": "[1]"},
        "payload: must be an object, not an array",
        "schema",
    ),
    "forged msgpack": (
        {"stream": "s", "type": "x", "payload": b"\xdf\xff\xff\xff\xff"},
        "payload: is not msgpack: 4294967295 exceeds max_map_len(2)",
        "encoding",
    ),
    "binary": (
        {"stream": "s", "type": "x", "payload": msgpack.packb({"a": b"\xff"})},
        "payload.a: is binary, which JSON can't hold; send text such as base64",
        "schema",
    ),
    "large": (
        {"stream": "s", "type": "x", "payload": '{"a":"' + "x" * 1000 + '"}'},
        "payload: is 1008 bytes, more than 1000",
        "too_large",
    ),
    "deep": (
        {"stream": "s", "type": "x", "payload": '{"a":' + "[" * 9 + "]" * 9 + "}"},
        "payload.a[0][0][0][0][0][0][0]: is nested deeper than 8",
        "limits",
    ),
    "time": (
        {"stream": "s", "type": "x", "timestamp": "yesterday"},
        "timestamp: is neither RFC 3339 nor epoch milliseconds",
        "schema",
    ),
}


@pytest.mark.parametrize("violation", VIOLATIONS)
async def test_a_bad_entry_is_kept_whole_with_its_reason_and_its_neighbours_go_on(
    workshop: Workshop, violation: str
):
    workshop.options = StoreOptions(limits=Limits(max_payload_bytes=1000, max_depth=8))
    fields, reason, code = VIOLATIONS[violation]
    await workshop.xadd("good", "x", {"n": 1})
    flat = [part for pair in fields.items() for part in pair]
    bad_id = await workshop.client.execute_command("XADD", workshop.store().keys.inbox, "*", *flat)
    await workshop.xadd("good", "x", {"n": 2})

    await drain(workshop.sequencer())

    [letter] = await dead(workshop)
    assert letter[b"reason"].decode() == reason
    assert letter[b"code"].decode() == code
    assert letter[b"origin_id"] == bad_id
    encoded = {
        f"f:{name}".encode(): value if isinstance(value, bytes) else value.encode()
        for name, value in fields.items()
    }
    assert {name: value for name, value in letter.items() if name.startswith(b"f:")} == encoded
    events = await workshop.store().read("good")
    assert [event.payload["n"] for event in events] == [1, 2]


async def test_a_full_dead_stream_leaves_bad_entries_in_the_inbox(workshop: Workshop):
    for _ in range(3):
        await workshop.xadd("s", "x", "not json")
    await workshop.xadd("s", "x")

    [facts, *_] = await drain(workshop.sequencer(dead_max=2))

    assert facts.dead_full
    assert await workshop.client.xlen(workshop.store().keys.dead) == 2
    assert await workshop.client.xlen(workshop.store().keys.inbox) == 1
    assert await workshop.store().stream_version("s") == 1


@pytest.mark.damage("somebody else wrote or deleted a log")
@pytest.mark.parametrize("damage", ["foreign entry", "wrong type", "deleted log"])
async def test_a_damaged_stream_waits_in_the_inbox_and_the_others_go_on(
    workshop: Workshop, damage: str
):
    keys = workshop.store().keys
    await workshop.xadd("bad", "x")
    sequencer = workshop.sequencer()
    await drain(sequencer)
    if damage == "foreign entry":
        await workshop.client.xadd(keys.log("bad"), {"by": "hand"})
    else:
        await workshop.client.delete(keys.log("bad"))
        if damage == "wrong type":
            await workshop.client.set(keys.log("bad"), "x")
    await workshop.xadd("bad", "x", {"n": 2})
    await workshop.xadd("good", "x")

    [facts, *_] = await drain(sequencer)

    assert list(facts.quarantined) == ["bad"]
    assert await workshop.store().stream_version("good") == 1
    assert await workshop.store().stream_version("bad") == 1
    assert await workshop.client.xlen(keys.inbox) == 1


@pytest.mark.damage("a log once had a foreign entry above its head")
async def test_a_torn_commit_keeps_its_events_in_the_dead_stream(workshop: Workshop):
    """A foreign entry, added above our head and deleted again, makes XADD fail inside EXEC."""
    keys = workshop.store().keys
    await workshop.xadd("s", "x", {"n": 1})
    sequencer = workshop.sequencer()
    await drain(sequencer)
    foreign = await workshop.client.xadd(keys.log("s"), {"by": "hand"}, id="999-0")
    await workshop.client.xdel(keys.log("s"), foreign)
    await workshop.xadd("s", "x", {"n": 2})
    await workshop.xadd("other", "x")

    [facts, *_] = await drain(sequencer)

    assert list(facts.quarantined) == ["s"]
    [letter] = await dead(workshop)
    assert letter[b"f:payload"] == b'{"n": 2}'
    assert await workshop.client.xlen(keys.inbox) == 0
    assert await workshop.store().stream_version("other") == 1


async def test_large_events_travel_in_several_commits_in_order(workshop: Workshop):
    workshop.options = StoreOptions(batch=BatchLimits(max_bytes=5_000))
    for number in range(10):
        await workshop.xadd("s", "x", {"n": number, "text": "x" * 2_000})

    await drain(workshop.sequencer())

    events = await workshop.store().read("s")
    assert [event.payload["n"] for event in events] == list(range(10))


async def test_a_page_is_halved_once_it_was_too_large(workshop: Workshop):
    for number in range(8):
        await workshop.xadd("s", "x", {"n": number, "text": "x" * 2_000})

    facts = await drain(workshop.sequencer(page=PagePolicy(bytes=8_000)))

    assert sum(item.events for item in facts) == 8
    assert all(item.events <= 4 for item in facts[1:])


class Died(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def deadly(monkeypatch):
    """Decoding an entry whose payload says so ends the worker."""

    def parse(entry_id, fields, limits):
        if any(b"poison" in value for value in fields):
            raise Died
        return parse_entry(entry_id, fields, limits)

    monkeypatch.setattr("worker.inbox_page.parse_entry", parse)


async def die_until_done(workshop: Workshop, **policy) -> int:
    """One worker after the other takes over from the dead; how many died."""
    for deaths in range(50):
        try:
            await drain(workshop.sequencer(**policy))
        except Died:
            await workshop.client.delete(workshop.store().keys.lease("sequencer"))
        else:
            return deaths
    raise AssertionError("workers die without end")


async def test_an_entry_that_kills_its_worker_is_buried_and_its_neighbours_go_on(
    workshop: Workshop, deadly
):
    for number in range(3):
        await workshop.xadd("s", "x", {"n": number})
    poison = await workshop.xadd("s", "x", {"poison": True})
    await workshop.xadd("s", "x", {"n": 3})

    assert await die_until_done(workshop, poison_attempts=5) <= 6

    [letter] = await dead(workshop)
    assert (letter[b"origin_id"], letter[b"code"]) == (poison, b"poison")
    assert letter[b"attempts"] == b"5"
    events = await workshop.store().read("s")
    assert [event.payload["n"] for event in events] == [0, 1, 2, 3]


async def test_several_that_kill_are_all_buried(workshop: Workshop, deadly):
    for number in range(30):
        payload = {"poison": True} if number % 10 == 4 else {"n": number}
        await workshop.xadd(f"s{number % 4}", "x", payload)

    await die_until_done(workshop)

    assert [letter[b"code"] for letter in await dead(workshop)] == [b"poison"] * 3
    versions = [await workshop.store().stream_version(f"s{number}") for number in range(4)]
    assert sum(versions) == 27


async def test_an_entry_dated_beyond_any_calendar_is_sequenced(workshop: Workshop):
    keys = workshop.store().keys
    await workshop.client.xadd(keys.inbox, {"stream": "s", "type": "x"}, id="9999999999999-0")

    [facts, *_] = await drain(workshop.sequencer())

    assert facts.events == 1
    assert min(facts.delays_ms) >= 0
