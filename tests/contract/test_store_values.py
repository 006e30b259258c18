"""What goes in comes out, value for value; what no reader could keep is refused by its path."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from streams.errors import InvalidEvent
from streams.event import Event, EventType, PayloadKey

KEPT = {
    "biggest integer": 2**63 - 1,
    "biggest unsigned integer": 2**64 - 1,
    "smallest integer": -(2**63),
    "beyond doubles": 2**53 + 1,
    "float": 0.1,
    "float like an integer": 1.0,
    "tiny": 5e-324,
    "huge": 1.7976931348623157e308,
    "negative zero": -0.0,
    "empty text": "",
    "text like a number": "7",
    "text like a bool": "False",
    "true": True,
    "null": None,
    "NUL": "a\x00b",
    "line separators": "\u2028\u2029\r\n\x85",
    "byte order mark": "\ufefftext",
    "emoji": "👩‍👩‍👧‍👦 🚀",
    "combining": "e\u0301 is not \u00e9",
    "highest": "\U0010ffff",
    "empty list": [],
    "empty map": {},
    "nested": [[{"": [None, {"a": [0, 0.0, False]}]}]],
    "empty key": {"": 1},
    "odd keys": {"a.b": 1, "$x": 2, "\u2028": 3, "ключ": 4},
}


def same(a, b) -> bool:
    """Equal in value and in type, all the way down: True isn't 1, 1 isn't 1.0, 0.0 isn't -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


@pytest.mark.parametrize("where", ["payload", "metadata"])
@pytest.mark.parametrize("name", KEPT)
async def test_a_value_survives_exactly(store, name, where):
    await store.append("s", [Event(type="llm.call", **{where: {"value": KEPT[name]}})])

    [event] = await store.read("s")
    assert same(getattr(event, where)["value"], KEPT[name])


class Celsius(float):
    pass


class Count(int):
    pass


class Label(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "plain"), [(Celsius(36.6), 36.6), (Count(3), 3), (Label("x"), "x")]
)
async def test_a_value_of_a_subclass_is_kept_as_its_plain_value(store, value, plain):
    """Numpy's floats are such a subclass."""
    await store.append("s", [Event(type="llm.call", payload={"value": value, Label("k"): 1})])

    [event] = await store.read("s")
    assert same(event.payload, {"value": plain, "k": 1})


async def test_known_payload_keys_and_types_may_be_given_by_their_names(store):
    await store.append("s", [Event(type=EventType.LLM_CALL, payload={PayloadKey.TASK: "t"})])

    [event] = await store.read("s")
    assert (event.type, event.payload) == ("llm.call", {"task": "t"})
    assert type(event.type) is str


async def test_everything_else_of_an_event_survives(store):
    moment = datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC)
    sent = Event(
        type="something.nobody.knows",
        id="an id of the producer's own, ünïcode",
        module_name="runner/1",
        timestamp=moment,
        payload={"b": 1, "a": 2},
        metadata={"trace": "x"},
    )
    await store.append("s", [sent])

    [event] = await store.read("s")
    assert (event.type, event.id, event.module_name) == (sent.type, sent.id, sent.module_name)
    assert (list(event.payload), event.metadata) == (["b", "a"], {"trace": "x"})
    assert (event.timestamp, event.timestamp.utcoffset()) == (moment, timedelta(0))


async def test_a_timestamp_of_another_zone_is_the_same_moment_in_utc(store):
    moment = datetime(2026, 1, 1, 2, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    await store.append("s", [Event(type="llm.call", timestamp=moment)])

    [event] = await store.read("s")
    assert (event.timestamp, event.timestamp.utcoffset()) == (moment, timedelta(0))


@pytest.mark.parametrize("year", [1, 1969, 9999])
async def test_a_moment_far_from_the_epoch_survives(store, year):
    moment = datetime(year, 6, 15, 12, 0, 0, 1, tzinfo=UTC)
    await store.append("s", [Event(type="llm.call", timestamp=moment)])

    [event] = await store.read("s")
    assert event.timestamp == moment


async def test_a_timestamp_without_a_zone_is_refused(store):
    with pytest.raises(InvalidEvent):
        await store.append(
            "s",
            [Event(type="llm.call", timestamp=datetime(2026, 1, 1))],
        )


def cyclic() -> list:
    loop: list = []
    loop.append(loop)
    return loop


def nested(depth: int):
    value: object = 0
    for _ in range(depth):
        value = [value]
    return value


REFUSED = {
    "NaN": (float("nan"), "payload.items[1].v"),
    "Infinity": (float("inf"), "payload.items[1].v"),
    "-Infinity": (float("-inf"), "payload.items[1].v"),
    "integer over 64 bits": (2**64, "payload.items[1].v"),
    "integer under 64 bits": (-(2**63) - 1, "payload.items[1].v"),
    "lone surrogate": ("\ud83d", "payload.items[1].v"),
    "bytes": (b"\xff", "payload.items[1].v"),
    "object": (object(), "payload.items[1].v"),
    "set": ({1}, "payload.items[1].v"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_value_no_reader_could_keep_is_refused_with_its_path(store, name):
    value, path = REFUSED[name]
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", payload={"items": [0, {"v": value}]})])

    assert refusal.value.path == path
    assert await store.stream_version("s") == 0


async def test_a_bad_value_in_the_metadata_is_refused_with_its_path(store):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", metadata={"a": [float("nan")]})])

    assert refusal.value.path == "metadata.a[0]"


@pytest.mark.parametrize("key", [1, None, True, b"k", ("a",), "\udc00"])
async def test_a_key_that_is_not_text_is_refused(store, key):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", payload={"a": {key: 1}})])

    assert refusal.value.path.startswith("payload.a")


@pytest.mark.parametrize("payload", [[], "text", 7, None, b"{}"])
async def test_a_payload_that_is_not_a_mapping_is_refused(store, payload):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", payload=payload)])

    assert refusal.value.path == "payload"


async def test_a_payload_of_the_greatest_depth_is_kept(store):
    await store.append("s", [Event(type="llm.call", payload={"v": nested(63)})])

    [event] = await store.read("s")
    assert event.payload == {"v": nested(63)}


@pytest.mark.parametrize(
    "value", [nested(64), nested(100_000), cyclic()], ids=["64", "deep", "cyclic"]
)
async def test_a_deeper_payload_is_refused(store, value):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", payload={"v": value})])

    assert refusal.value.code == "limits"


async def test_a_payload_of_six_megabytes_is_kept(store):
    text = "x" * (6 << 20)
    await store.append("s", [Event(type="llm.call", payload={"text": text})])

    [event] = await store.read("s")
    assert event.payload["text"] == text


async def test_a_payload_over_eight_megabytes_is_refused(store):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", payload={"text": "x" * (8 << 20)})])

    assert (refusal.value.path, refusal.value.code) == ("payload", "too_large")


@pytest.mark.parametrize("type_", ["", "x" * 129, "ü" * 129, "a\nb", 7, None, "\ud83d"])
async def test_a_type_outside_the_contract_is_refused(store, type_):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type=type_)])

    assert refusal.value.path == "type"


@pytest.mark.parametrize("id_", [7, None, "\ud83d"])
async def test_an_id_that_is_not_text_is_refused(store, id_):
    with pytest.raises(InvalidEvent) as refusal:
        await store.append("s", [Event(type="llm.call", id=id_)])

    assert refusal.value.path == "id"
