"""`emit` is for code that must not fail for its events' sake."""

from __future__ import annotations

import logging

import pytest

from streams import emit


async def test_emit_appends_one_event(store):
    assert await emit(store, "s", "tool.call.completed", "runner", {"tool_name": "bash"}) is True

    [event] = await store.read("s")
    assert (event.type, event.module_name, event.payload) == (
        "tool.call.completed",
        "runner",
        {"tool_name": "bash"},
    )


async def test_emit_without_a_store_does_nothing():
    assert await emit(None, "", "llm.call", "runner", {"x": float("nan")}) is True


@pytest.mark.parametrize(
    ("stream", "type_", "payload"),
    [
        ("", "llm.call", {}),
        ("s", "", {}),
        ("s", "llm.call", {"x": float("nan")}),
        ("s", "llm.call", {"x": object()}),
        (None, None, 7),
    ],
)
async def test_emit_reports_a_bad_event_in_the_log_and_never_raises(
    store, stream, type_, payload, caplog
):
    with caplog.at_level(logging.WARNING, logger="ares"):
        assert await emit(store, stream, type_, "runner", payload) is False

    assert len(caplog.records) == 1
    assert await store.list_streams() == []


async def test_emit_never_raises_whatever_the_store_does(caplog):
    class Broken:
        async def append(self, *args: object, **options: object) -> int:
            raise ZeroDivisionError("not even an error of ours")

    assert await emit(Broken(), "s", "llm.call", "runner", {}) is False
    assert len(caplog.records) == 1
