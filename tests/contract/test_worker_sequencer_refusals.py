"""Entries that break the contract of the inbox: kept whole with a reason, and harmless."""

from __future__ import annotations

import msgpack
import pytest

from streams.codec import Limits
from streams.redis_store import StoreOptions
from support.workshop import Workshop, drain

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

    [letter] = await workshop.dead_letters()
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
