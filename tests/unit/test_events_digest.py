"""The digest is an identity for ever: its bytes are fixed, and written down here by hand."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest

from archive.digest import events_digest
from streams.event import Event, EventType

EVENT = Event(
    type="message.added",
    payload={"role": "user", "content": "Grüß dich 👋", "n": [1, 2.5, None, True]},
    id="e-1",
    stream_id="s-1",
    version=7,
    timestamp=datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC),
    metadata={"z": 1, "a": {"y": 2, "b": 3}},
)


def field(value: str) -> bytes:
    raw = value.encode()
    return len(raw).to_bytes(8, "big") + raw


def test_every_field_is_hashed_with_its_length() -> None:
    by_hand = (
        field("e-1")
        + field("message.added")
        + field("7")
        + field("1772355600123456")
        + field('{"content":"Grüß dich 👋","n":[1,2.5,null,true],"role":"user"}')
        + field('{"a":{"b":3,"y":2},"z":1}')
    )
    assert events_digest([EVENT]) == hashlib.sha256(by_hand).hexdigest()


def test_the_digest_of_one_event_never_changes() -> None:
    assert events_digest([EVENT]) == (
        "2edd2147a3596795455a8eabec233b2e8d5e73e32061fcf2c920b0f6cfd655bc"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "e-2"},
        {"type": "message.updated"},
        {"version": 8},
        {"timestamp": EVENT.timestamp + timedelta(microseconds=1)},
        {"payload": {**EVENT.payload, "role": "assistant"}},
        {"metadata": {}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_change_of_an_event_changes_it(change: dict[str, Any]) -> None:
    assert events_digest([replace(EVENT, **change)]) != events_digest([EVENT])


def test_neither_key_order_nor_time_zone_changes_it() -> None:
    turned = replace(
        EVENT,
        payload=dict(reversed(EVENT.payload.items())),
        timestamp=EVENT.timestamp.astimezone(timezone(timedelta(hours=9))),
    )
    assert events_digest([turned]) == events_digest([EVENT])


def test_the_order_and_the_borders_of_events_count() -> None:
    other = replace(EVENT, id="e-2")
    assert events_digest([EVENT, other]) != events_digest([other, EVENT])
    left, right = replace(EVENT, id="ab", type="c"), replace(EVENT, id="a", type="bc")
    assert events_digest([left]) != events_digest([right])


@pytest.mark.parametrize(
    "value",
    [
        1e16, 1e-07, 1e22, 0.0001, 5e-324, -0.0, float("nan"), float("inf"),
        -(1 << 63), (1 << 64) - 1, True, None, EventType.LLM_CALL,
        "".join(map(chr, range(0x180))), "\u2028\ufeff\uffff\U0001f600", "\ud800 half a pair",
        [[], {}, [1, "a", None], {"b": [1.5e300], "a": {"c": 1e-9}}],
        {"\U00010000": 1, "\uffff": 2, "é": 3, "z": 4, "": 5, "Z": {"b": 1, "a": 2}},
    ],
    ids=repr,
)  # fmt: skip
def test_the_payload_is_hashed_in_the_bytes_of_pythons_json(value: Any) -> None:
    payload = {"value": value, "n": 1}
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    raw = text.encode("utf-8", "surrogatepass")
    by_hand = b"".join(
        [
            *map(field, ("e-1", "message.added", "7", "1772355600123456")),
            len(raw).to_bytes(8, "big") + raw,
            field("{}"),
        ]
    )
    event = replace(EVENT, payload=payload, metadata={})
    assert events_digest([event]) == hashlib.sha256(by_hand).hexdigest()


def test_a_mapping_that_is_no_dict_is_hashed_like_one() -> None:
    wrapped = MappingProxyType({**EVENT.payload, "inner": MappingProxyType({"a": [1]})})
    plain = {**EVENT.payload, "inner": {"a": [1]}}
    digests = {events_digest([replace(EVENT, payload=p)]) for p in (wrapped, plain)}
    assert len(digests) == 1
