"""Writers at once: nothing lost, nothing repeated, one winner an expectation."""

from __future__ import annotations

import asyncio
from collections import Counter

from streams.errors import VersionConflict
from streams.event import Event
from streams.store import ANY, NO_STREAM


def one(writer: int, n: int) -> list[Event]:
    return [Event(type="llm.call", payload={"w": writer, "n": n})]


async def test_eight_writers_of_five_hundred_events_leave_versions_1_to_4000(backend):
    stores = [await backend.open() for _ in range(8)]

    async def write(writer: int) -> list[int]:
        return [await stores[writer].append("s", one(writer, n)) for n in range(500)]

    returned = await asyncio.gather(*map(write, range(8)))

    log = await stores[0].read("s")
    assert [e.version for e in log] == list(range(1, 4001))
    for writer, versions in enumerate(returned):
        own = [(e.payload["n"], e.version) for e in log if e.payload["w"] == writer]
        assert own == list(enumerate(versions))


async def test_of_eight_writers_with_one_expectation_one_wins(backend):
    stores = [await backend.open() for _ in range(8)]
    await stores[0].append("s", one(0, 0) * 3)

    outcomes = await asyncio.gather(
        *(store.append("s", one(w, 1), expected_version=3) for w, store in enumerate(stores)),
        return_exceptions=True,
    )

    assert outcomes.count(4) == 1
    conflicts = [o for o in outcomes if isinstance(o, VersionConflict)]
    assert [(c.stream, c.expected, c.actual) for c in conflicts] == [("s", 3, 4)] * 7


async def test_a_hundred_races_have_a_hundred_winners(backend):
    """A check on one connection and a write on another would let several win."""
    stores = [await backend.open() for _ in range(10)]
    for version in range(100):
        outcomes = await asyncio.gather(
            *(s.append("s", one(w, version), version or NO_STREAM) for w, s in enumerate(stores)),
            return_exceptions=True,
        )
        assert Counter(type(o) for o in outcomes) == {int: 1, VersionConflict: 9}

    assert [e.version for e in await stores[0].read("s")] == list(range(1, 101))


async def test_callers_of_one_store_share_it_without_meeting(store):
    async def write(caller: int) -> list[int]:
        stream = f"s{caller % 8}"
        return [await store.append(stream, one(caller, n)) for n in range(20)]

    await asyncio.gather(*map(write, range(64)))

    for stream in await store.list_streams():
        log = await store.read(stream)
        assert [e.version for e in log] == list(range(1, 161))
        for caller in {e.payload["w"] for e in log}:
            assert [e.payload["n"] for e in log if e.payload["w"] == caller] == list(range(20))


async def test_one_callers_conflict_or_bad_event_is_not_its_neighbours(store):
    appends = [("s", one(0, n), ANY) for n in range(20)]
    appends[7] = ("s", one(0, 0), 5_000)
    appends[13] = ("s", [Event(type="llm.call", payload={"x": float("nan")})], ANY)
    appends[17] = ("other", one(0, 0), NO_STREAM)

    outcomes = await asyncio.gather(
        *(store.append(*append) for append in appends), return_exceptions=True
    )

    failed = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Exception)]
    assert failed == [7, 13]
    assert await store.stream_version("s") == 17
    assert await store.stream_version("other") == 1


async def test_batches_at_once_are_never_interleaved(backend):
    stores = [await backend.open() for _ in range(4)]

    async def write(writer: int) -> None:
        for n in range(25):
            await stores[writer].append("s", one(writer, n) * 7)

    await asyncio.gather(*map(write, range(4)))

    log = await stores[0].read("s")
    assert len(log) == 4 * 25 * 7
    for start in range(0, len(log), 7):
        batch = log[start : start + 7]
        assert len({(e.payload["w"], e.payload["n"]) for e in batch}) == 1


async def test_a_cancelled_append_leaves_the_store_usable(store):
    for _ in range(20):
        append = asyncio.ensure_future(store.append("s", one(0, 0)))
        await asyncio.sleep(0)
        append.cancel()
        await asyncio.gather(append, return_exceptions=True)

    before = await store.stream_version("s")
    assert await store.append("s", one(0, 1)) == before + 1
    assert [e.version for e in await store.read("s")] == list(range(1, before + 2))
