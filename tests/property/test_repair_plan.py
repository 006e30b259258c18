"""Whatever is done to a stream's keys, its repair keeps every promise and every event there is."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from archive.verifying.checks import LiveStream, check_stream
from streams.codec import Limits, decode_entry, encode_event
from streams.event import Event
from streams.plan import Head
from streams.state import StreamState
from streams.summary import pack, summarize
from worker.repairing.log import LOST_TYPE, RawEntry
from worker.repairing.plan import Evidence, Reach, Repair, plan_repair

NOW_MS = 1_900_000_000_000
BEGAN_MS = 1_800_000_000_000


def entry(version: int, *, name: str = "") -> RawEntry:
    """An event of the stream as a commit writes it."""
    event = Event("llm.call", {"n": version}, id=name or f"e{version}")
    parts = encode_event(event, Limits()).fields()
    fields = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return RawEntry(f"{version}-{BEGAN_MS + version}".encode(), fields)


@st.composite
def healthy(draw: st.DrawFn) -> Evidence:
    """A stream as workers leave it."""
    head = draw(st.integers(1, 25))
    archived = draw(st.integers(0, head))
    compacted = draw(st.integers(0, archived))
    forgotten = draw(st.integers(0, compacted))
    packed = []
    first = forgotten + 1
    while first <= compacted:
        last = draw(st.integers(first, compacted))
        events = [Event("llm.call", version=v) for v in range(first, last + 1)]
        packed.append(pack(summarize(events, BEGAN_MS + last, "some events")))
        first = last + 1
    entries = [entry(version) for version in range(compacted + 1, head + 1)]
    newest = Head(head, BEGAN_MS + head)
    return Evidence(
        stream="s",
        head=newest,
        state=StreamState(archived, 2, 1, compacted, 0, forgotten),
        entries=entries,
        last_id=newest if entries else None,
        packed=packed,
        reach=Reach(archived, 2, 1),
    )


FOREIGN = [
    RawEntry(b"3-5", [b"by", b"hand"]),
    RawEntry(b"9-9", [b"by", b"hand"]),
    RawEntry(b"1800000000000-0", [b"stream", b"s", b"type", b"t"]),
    RawEntry(b"1900000000000-0", entry(7, name="copied").fields),
]


@st.composite
def damaged(draw: st.DrawFn) -> Evidence:
    """Somebody else was at its keys."""
    seen = draw(healthy())
    entries = [item for item in seen.entries if draw(st.integers(0, 4))]
    entries += draw(st.lists(st.sampled_from(FOREIGN), max_size=2, unique_by=lambda item: item.id))
    entries.sort(key=lambda item: (item.version, item.ms))
    entries = list({item.id: item for item in entries}.values())
    numbers = st.integers(0, 30)
    heads = st.one_of(st.just(seen.head), st.none(), st.builds(Head, numbers, st.just(BEGAN_MS)))
    states = st.one_of(
        st.just(seen.state), st.none(), st.builds(StreamState, numbers, numbers, *[numbers] * 4)
    )
    packed = [item for item in seen.packed if draw(st.booleans())]
    packed += draw(st.lists(st.just(b"\xc1 no summary"), max_size=1))
    reached = st.sampled_from([0, seen.reach.last_version])
    return replace(
        seen,
        head=draw(heads),
        state=draw(states),
        entries=entries,
        packed=draw(st.permutations(packed)),
        reach=Reach(draw(reached), 2, 1, mismatch=draw(st.sampled_from([0, 0, 3]))),
    )


def as_live(repair: Repair) -> LiveStream:
    """The stream after the repair, as `verify` looks at it."""
    spans = tuple((item.first_version, item.last_version) for item in repair.summaries)
    return LiveStream("s", repair.head.version, repair.state, len(repair.entries), spans)


@given(healthy())
def test_a_healthy_stream_needs_none(seen: Evidence):
    repair = plan_repair(seen, NOW_MS)

    assert list(repair.found) == []
    assert (repair.head, repair.state) == (seen.head, seen.state)
    assert [item.id for item in repair.entries] == [item.id for item in seen.entries]


@settings(max_examples=400)
@given(damaged())
def test_afterwards_every_promise_holds(seen: Evidence):
    repair = plan_repair(seen, NOW_MS)

    assert check_stream(as_live(repair)) == []
    versions = [item.version for item in repair.entries]
    assert versions == list(range(repair.state.compacted_version + 1, repair.head.version + 1))
    times = [item.ms for item in repair.entries]
    assert times == sorted(times)
    for item in repair.entries:
        decode_entry("s", item.id, list(item.fields))


@settings(max_examples=400)
@given(damaged())
def test_what_is_there_stays_is_archived_or_goes_to_the_dead_letters(seen: Evidence):
    repair = plan_repair(seen, NOW_MS)

    kept = {item.id for item in repair.entries} | {item.entry.id for item in repair.foreign}
    for item in seen.entries:
        folded = item.version <= repair.state.compacted_version
        assert item.id in kept or (folded and item.version <= repair.state.archived_version)
    stood_in = [item for item in repair.entries if item.fields[1] == LOST_TYPE.encode()]
    assert [item.version for item in stood_in] == list(repair.lost)


@settings(max_examples=200)
@given(damaged())
def test_a_repaired_stream_needs_no_other_repair(seen: Evidence):
    repair = plan_repair(seen, NOW_MS)
    again = Evidence(
        stream="s",
        head=repair.head,
        state=repair.state,
        entries=repair.entries,
        last_id=repair.head if repair.entries else None,
        packed=[pack(item) for item in repair.summaries],
        reach=replace(seen.reach, mismatch=0),
    )

    assert list(plan_repair(again, NOW_MS + 1).found) == []
