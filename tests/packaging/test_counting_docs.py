"""The store that counts its refusals, as the documentation has it, on a real Redis."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prometheus_client
import pytest

from streams import ANY, Event, InvalidEvent, OutcomeUnknown, StreamCorrupted, VersionConflict, emit
from streams.redis_store import RedisEventStore
from support.redis_server import RedisServer

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
NAME = "ares_append_rejections_total"

Count = Callable[[str], float | None]


@pytest.fixture
def documented(monkeypatch: pytest.MonkeyPatch) -> tuple[type[RedisEventStore], Count]:
    """The class of the page, and what its counter says of a reason."""
    registry = prometheus_client.CollectorRegistry()
    counter = prometheus_client.Counter

    def new(*args: Any) -> prometheus_client.Counter:
        return counter(*args, registry=registry)

    monkeypatch.setattr(prometheus_client, "Counter", new)
    [code] = re.findall(r"^```python\n(.*?class CountingStore.*?)^```$", PAGE, re.M | re.S)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["CountingStore"], lambda reason: registry.get_sample_value(
        NAME, {"reason": reason}
    )


async def test_what_a_program_is_refused_is_counted_and_raised(
    server: RedisServer, tenant: str, documented
):
    counting, count = documented
    async with await counting.connect(server.url, tenant) as store:
        with pytest.raises(InvalidEvent):
            await store.append("s", [Event("llm.call", {"n": float("nan")})])
        with pytest.raises(InvalidEvent):
            await store.append("s", [Event("llm.call", {"text": "x" * (9 << 20)})])
        await emit(store, "s", "llm.call", "runner", {"n": float("inf")})
        await store.append("s", [Event("llm.call")])
        await store.client.xadd(store.keys.log("s"), {"by": "hand"})
        with pytest.raises(StreamCorrupted):
            await store.append("s", [Event("llm.call")])

    assert (count("invalid"), count("too_large"), count("corrupt_stream")) == (2, 1, 1)


async def test_a_conflict_is_no_refusal(server: RedisServer, tenant: str, documented):
    counting, count = documented
    async with await counting.connect(server.url, tenant) as store:
        await store.append("s", [Event("llm.call")])
        with pytest.raises(VersionConflict):
            await store.append("s", [Event("llm.call")], 7)

    assert count("invalid") is None


async def test_an_outcome_nobody_knows_is_counted(
    server: RedisServer, tenant: str, documented, monkeypatch: pytest.MonkeyPatch
):
    async def lost(*_: Any) -> int:
        raise OutcomeUnknown("s")

    counting, count = documented
    async with await counting.connect(server.url, tenant) as store:
        monkeypatch.setattr(RedisEventStore, "append", lost)
        with pytest.raises(OutcomeUnknown):
            await store.append("s", [Event("llm.call")], ANY)

    assert count("unknown_outcome") == 1
