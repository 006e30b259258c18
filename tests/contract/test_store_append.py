"""`append`: versions, expectations and all or nothing, on every store."""

from __future__ import annotations

import pytest

from streams.errors import InvalidEvent, UsageError, VersionConflict
from streams.event import Event
from streams.store import ANY, FOLLOW, NO_STREAM


def events(count: int, type_: str = "llm.call") -> list[Event]:
    return [Event(type=type_, payload={"n": n}) for n in range(count)]


async def versions(store, stream: str = "s") -> list[int]:
    return [event.version for event in await store.read(stream)]


async def test_the_first_event_has_version_one_and_append_returns_the_last(store):
    assert await store.append("s", events(1)) == 1
    assert await store.append("s", events(3)) == 4
    assert await versions(store) == [1, 2, 3, 4]
    assert await store.stream_version("s") == 4


async def test_streams_are_numbered_apart(store):
    await store.append("a", events(2))

    assert await store.append("b", events(1)) == 1
    assert await store.stream_version("a") == 2


async def test_a_stream_without_events_has_version_zero(store):
    assert await store.stream_version("nobody") == 0


async def test_appending_nothing_is_refused(store):
    with pytest.raises(UsageError):
        await store.append("s", [])


async def test_two_stores_see_one_log(backend):
    first, second = await backend.open(), await backend.open()

    await first.append("s", events(1))

    assert await second.append("s", events(1)) == 2
    assert [e.version for e in await first.read("s")] == [1, 2]


@pytest.mark.parametrize("unchecked", [ANY, FOLLOW, -2, -(2**63)])
async def test_without_an_expectation_any_version_is_followed(store, unchecked):
    await store.append("s", events(1), unchecked)

    assert await store.append("s", events(1), expected_version=unchecked) == 2


async def test_a_met_expectation_appends(store):
    await store.append("s", events(2))

    assert await store.append("s", events(1), expected_version=2) == 3


@pytest.mark.parametrize("expected", [1, 3, 2**62])
async def test_a_missed_expectation_is_a_conflict_that_names_both_versions(store, expected):
    await store.append("s", events(2))

    with pytest.raises(VersionConflict) as conflict:
        await store.append("s", events(2), expected_version=expected)

    assert (conflict.value.stream, conflict.value.expected, conflict.value.actual) == (
        "s",
        expected,
        2,
    )
    assert await versions(store) == [1, 2]


async def test_an_expectation_on_an_empty_stream_is_a_conflict(store):
    with pytest.raises(VersionConflict) as conflict:
        await store.append("s", events(1), expected_version=1)

    assert conflict.value.actual == 0
    assert await store.list_streams() == []


async def test_no_stream_begins_a_stream(store):
    assert await store.append("s", events(2), expected_version=NO_STREAM) == 2


async def test_no_stream_conflicts_with_a_stream_that_has_events(store):
    await store.append("s", events(1))

    with pytest.raises(VersionConflict) as conflict:
        await store.append("s", events(1), expected_version=NO_STREAM)

    assert (conflict.value.expected, conflict.value.actual) == (0, 1)


@pytest.mark.parametrize("lax", [True, False, "0", "7", 0.0, 7.0, None, 2**63, 2**70, b"1"])
async def test_an_expectation_that_only_looks_like_one_is_refused(store, lax):
    """Any of these would silently switch the check off."""
    with pytest.raises((TypeError, ValueError)):
        await store.append("s", events(1), expected_version=lax)

    assert await store.stream_version("s") == 0


@pytest.mark.parametrize("position", [0, 1, 2])
async def test_one_bad_event_keeps_its_whole_batch_out(store, position):
    batch = events(3)
    batch[position] = Event(type="llm.call", payload={"x": float("nan")})

    with pytest.raises(InvalidEvent):
        await store.append("s", batch)

    assert await store.stream_version("s") == 0
    assert await store.read("s") == []


async def test_a_batch_beyond_one_commit_is_still_all_or_nothing_in_order(store):
    assert await store.append("s", events(500), expected_version=NO_STREAM) == 500

    read = await store.read("s")
    assert [(e.version, e.payload["n"]) for e in read] == [(n + 1, n) for n in range(500)]


async def test_an_append_of_more_events_than_one_may_hold_is_refused(store):
    with pytest.raises(UsageError, match="10000"):
        await store.append("s", events(10_001))

    assert await store.stream_version("s") == 0


async def test_stream_and_version_of_the_caller_are_replaced_by_the_true_ones(store):
    await store.append("s", [Event(type="llm.call", stream_id="other", version=77)])

    [event] = await store.read("s")
    assert (event.stream_id, event.version) == ("s", 1)


async def test_what_the_caller_changes_afterwards_is_not_stored(store):
    payload = {"items": [1]}
    await store.append("s", [Event(type="llm.call", payload=payload)])
    payload["items"].append(2)

    [event] = await store.read("s")
    event.payload["items"].append(3)

    [again] = await store.read("s")
    assert again.payload == {"items": [1]}


@pytest.mark.parametrize(
    "stream",
    ["", "x" * 513, "ü" * 257, "a\nb", "a\x00b", "a\x7fb", "a\x85b", "lone \ud83d surrogate"],
)
async def test_a_stream_name_outside_the_contract_is_refused(store, stream):
    with pytest.raises(UsageError):
        await store.append(stream, events(1))

    assert await store.list_streams() == []


@pytest.mark.parametrize(
    "stream", ["x" * 512, "ü" * 256, "{tag}", "a:b/c", "..", " ", "日本語 🚀", "\u202e", "log:s"]
)
async def test_any_other_name_is_a_stream_of_its_own(store, stream):
    await store.append("s", events(3))

    assert await store.append(stream, events(1), expected_version=NO_STREAM) == 1
    assert [event.stream_id for event in await store.read(stream)] == [stream]
    assert sorted(await store.list_streams()) == sorted(["s", stream])
