"""Whatever is done in whatever order, Redis and memory give the same answers."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import AsyncExitStack
from typing import Any

import fakeredis
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from streams.codec import from_microseconds
from streams.errors import AresError, VersionConflict
from streams.event import Event
from streams.store import NO_STREAM, Direction
from support.redis_server import REDIS_7, REDIS_62
from support.stores import memory_backend, redis_backend

STREAMS = st.sampled_from(["a", "b", "{c}:d/é"])
VERSIONS = st.integers(-1, 12)
AGO_MS = st.none() | st.integers(-2, 12)
MAYBE = st.none() | VERSIONS
LIMITS = st.none() | st.integers(0, 12)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.builds(
    Event,
    type=st.sampled_from(["task.created", "task.completed", "llm.call", "ours"]),
    payload=st.dictionaries(TEXT, JSON, max_size=3),
    metadata=st.dictionaries(TEXT, JSON, max_size=2),
    module_name=st.sampled_from(["", "runner"]),
)


class TwoStores(RuleBasedStateMachine):
    """Does everything to both stores and compares. The clock also steps back."""

    def __init__(self, connect) -> None:
        super().__init__()
        self.now_ms = 1_000_000_000_000
        self.loop = asyncio.Runner()
        self.stack = AsyncExitStack()
        tenant = f"p{uuid.uuid4().hex[:12]}"
        self.backends = (
            memory_backend(tenant, clock=lambda: self.now_ms),
            redis_backend(tenant, connect, self.stack, clock=lambda: self.now_ms),
        )
        self.stores = [self.loop.run(backend.open()) for backend in self.backends]

    def teardown(self) -> None:
        self.loop.run(self.stack.aclose())
        self.loop.close()

    def same(self, call) -> Any:
        """The answer of both stores to `call`, failures included."""
        ours, theirs = (self.loop.run(outcome(call(store))) for store in self.stores)
        assert ours == theirs
        return ours

    @initialize(stream=STREAMS, sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4))
    def begin(self, stream, sizes) -> None:
        for size in sizes:
            self.time_passes(size)
            self.append(stream, [Event(type="llm.call")] * size, 0)

    @rule(by=st.integers(-5, 5))
    def time_passes(self, by: int) -> None:
        self.now_ms += by

    @rule(
        stream=STREAMS,
        events=st.lists(EVENTS, min_size=1, max_size=4),
        expected=VERSIONS | st.just(NO_STREAM),
    )
    def append(self, stream, events, expected) -> None:
        self.same(lambda store: store.append(stream, events, expected))

    @rule(stream=STREAMS, ahead=st.integers(0, 1))
    def append_with_the_expectation_of_one_who_read(self, stream, ahead) -> None:
        version = self.same(lambda store: store.stream_version(stream)) + ahead
        events = [Event(type="llm.call")]
        self.same(lambda store: store.append(stream, events, version or NO_STREAM))

    @rule(
        stream=STREAMS,
        first=VERSIONS,
        last=MAYBE,
        limit=LIMITS,
        direction=st.sampled_from(Direction),
        ago_ms=AGO_MS,
    )
    def read(self, stream, first, last, limit, direction, ago_ms) -> None:
        since = self.before(ago_ms)
        self.same(lambda store: store.read(stream, first, last, limit, direction, since))

    @rule(limit=LIMITS, ago_ms=AGO_MS)
    def read_all(self, limit, ago_ms) -> None:
        since = self.before(ago_ms)
        self.same(lambda store: collect(store.read_all(since=since, limit=limit)))

    @rule()
    def list_streams(self) -> None:
        self.same(lambda store: store.list_streams())

    @rule(stream=STREAMS, kept=st.integers(0, 6))
    def compact(self, stream, kept) -> None:
        head = self.same(lambda store: store.stream_version(stream))
        read = self.same(lambda store: store.read(stream))
        retained = [e for e in read if e.version <= head - kept and not e.id.startswith("summary")]
        if retained:
            for backend in self.backends:
                self.loop.run(backend.compact(stream, head - kept))

    def before(self, ago_ms: int | None):
        return None if ago_ms is None else from_microseconds((self.now_ms - ago_ms) * 1000 - 1)


async def outcome(answer) -> object:
    """What a call returns, or the kind and facts of its failure."""
    try:
        return await answer
    except VersionConflict as conflict:
        return (VersionConflict, conflict.stream, conflict.expected, conflict.actual)
    except AresError as failure:
        return (type(failure), str(failure))


async def collect(events) -> list[Event]:
    return [event async for event in events]


@pytest.mark.parametrize("name", ["fakeredis", REDIS_7, REDIS_62])
def test_redis_and_memory_give_the_same_answers(servers, name):
    if name == "fakeredis":
        shared = fakeredis.FakeServer(version=(7,))

        def connect():
            return fakeredis.FakeAsyncRedis(server=shared)
    else:
        connect = servers.get(name).client
    run_state_machine_as_test(
        lambda: TwoStores(connect),
        settings=settings(max_examples=40, stateful_step_count=30, deadline=None),
    )
