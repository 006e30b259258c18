"""The page on subscriptions: its programs run, and its numbers are those of the code."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams import Event, RedisEventStore, SubscriptionOptions
from support.redis_server import RedisServer
from support.waiting import eventually

PAGE = (Path(__file__).parents[2] / "docs" / "subscriptions.md").read_text("utf-8")


def program(name: str) -> Callable[[str], Any]:
    """The function of that name, as it stands on the page."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    (source,) = [block for block in blocks if f"async def {name}(" in block]
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    found: Callable[[str], Any] = namespace[name]
    return found


async def test_the_program_that_watches_shows_what_it_asked_for(
    start_server: Callable[..., RedisServer], capsys: pytest.CaptureFixture[str]
):
    server = start_server()
    said = ""

    def shows(what: str) -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return what in said

    async with await RedisEventStore.connect(server.url) as store:
        await store.append("agent-7/a", [Event("task.created"), Event("llm.call")])
        watching = asyncio.create_task(program("watch")(server.url))
        await eventually(lambda: shows("agent-7/a 1 task.created"))
        await store.append("agent-7/b", [Event("task.failed")])
        await store.append("agent-8", [Event("task.failed")])
        await store.append("agent-7/a", [Event("task.completed")])
        await eventually(lambda: shows("agent-7/a 3 task.completed"))
        watching.cancel()
        await asyncio.wait([watching])
    assert said.split("\n") == [
        "agent-7/a 1 task.created",
        "agent-7/b 1 task.failed",
        "agent-7/a 3 task.completed",
        "",
    ]


async def test_the_durable_program_goes_on_where_it_was(
    start_server: Callable[..., RedisServer], capsys: pytest.CaptureFixture[str]
):
    server = start_server()
    async with await RedisEventStore.connect(server.url) as store:

        async def acknowledged() -> bool:
            """Whether every partition has come to the newest entry of the feed."""
            newest, fields = await store.wires.exchange(
                [
                    ("XREVRANGE", store.keys.feed, "+", "-", "COUNT", 1),
                    ("HGETALL", store.keys.group("audit")),
                ]
            )
            state = dict(zip(fields[::2], fields[1::2], strict=True))
            return {v for name, v in state.items() if name.startswith(b"pos:")} == {newest[0][0]}

        for _ in range(2):
            await store.append("s", [Event("x")])
            auditing = asyncio.create_task(program("audit")(server.url))
            await eventually(acknowledged)
            auditing.cancel()
            await asyncio.wait([auditing])
    assert capsys.readouterr().out == "s 1 1\ns 2 1\n"


def test_the_defaults_on_the_page_are_those_of_the_options():
    units = {"MiB": 1024 * 1024}
    defaults = {f.name: f.default for f in dataclasses.fields(SubscriptionOptions)}
    documented: dict[str, float] = {}
    for names, values in re.findall(r"^\| (`[a-z_`, ]+`) \| ([^|]+) \|", PAGE, re.M):
        for name, value in zip(
            re.findall(r"`([a-z_]+)`", names), re.split(r", (?=\d)", values), strict=False
        ):
            number, _, unit = value.strip().partition(" ")
            if name in defaults:
                documented[name] = float(number.replace(",", "")) * units.get(unit, 1)

    assert documented == defaults
