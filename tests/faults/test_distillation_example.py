"""The example application: every finished task is paired with its text, whoever is killed."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streams import Event, RedisEventStore
from support.ending import end_in_order
from support.publisher import insist
from support.redis_server import RedisServer, die_with_parent
from support.waiting import eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "distillation.py"
QUERY = "SELECT stream, tenant, task, result FROM pairs"


def start(server: RedisServer, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, EXAMPLE, "--redis", server.url, "--tenant", "t"),
            *("--out", path, "--lease-ttl-ms", "1500"),
        ],
        preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
    )


def rows(path: Path, query: str) -> list[tuple]:
    """What the database says; nothing while it isn't there."""
    if not path.exists():
        return []
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as db:
            return db.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []  # its tables are being made


async def work(store: RedisEventStore, agent: int, tasks: int) -> None:
    """An agent: its tasks begin and end one after the other, with other events in between."""
    stream, tenant = f"agent-{agent}", f"team-{agent % 3}"
    for number in range(tasks):
        begun = {"task_id": f"t{number}", "task": f"ask {agent}/{number}", "tenant_id": tenant}
        ended = {"task_id": f"t{number}", "result": f"did {agent}/{number}", "tenant_id": tenant}
        await insist(store, stream, Event("task.created", begun))
        await insist(store, stream, Event("llm.call"))
        await insist(store, stream, Event("task.completed", ended))


@pytest.mark.parametrize(
    ("agents", "tasks", "kills"), [(6, 12, 3), pytest.param(20, 200, 20, marks=pytest.mark.chaos)]
)
async def test_every_task_is_paired_with_its_result_though_members_are_killed(
    start_server: Callable[..., RedisServer], tmp_path: Path, agents: int, tasks: int, kills: int
):
    server, path = start_server(aof="always"), tmp_path / "pairs.sqlite"
    rng = random.Random(7)
    members = [start(server, path) for _ in range(2)]
    async with await RedisEventStore.connect(server.url, "t") as store:
        working = asyncio.gather(*(work(store, agent, tasks) for agent in range(agents)))
        for number in range(kills):
            goal = agents * tasks * number // (kills + 1)
            await eventually(lambda g=goal: len(rows(path, QUERY)) > g, 60)
            victim = members.pop(rng.randrange(len(members)))
            victim.kill()
            victim.wait()
            members.append(start(server, path))
        await working

    expected = {
        (f"agent-{a}", f"team-{a % 3}", f"ask {a}/{n}", f"did {a}/{n}")
        for a in range(agents)
        for n in range(tasks)
    }
    await eventually(lambda: len(rows(path, QUERY)) == len(expected), 60)
    assert set(rows(path, QUERY)) == expected
    assert rows(path, "SELECT * FROM gaps") == []
    assert await asyncio.to_thread(end_in_order, members) == [0] * len(members)
