"""A worker killed at any script it runs at `maxmemory`: the next one ends where it would have."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from streams.keys import Keys
from support.doomed import BEFORE, SENT, Doom, Nursery
from support.outcome import Outcome, lapse, outcome
from support.redis_server import RedisServer
from support.worker_process import Installation

KEYS = Keys("default")
KILLED = -9
FIELDS = ("logs", "heads", "states", "summaries", "rounds", "dead", "waiting", "pending")


@dataclass(slots=True)
class Stage:
    """A full Redis with a full inbox, set anew for every death."""

    server: RedisServer
    here: Installation
    nursery: Nursery
    expected: Outcome | None = None
    scripts: int = 0

    def reset(self) -> None:
        shutil.rmtree(self.here.archive, ignore_errors=True)
        with self.server.admin() as admin:
            admin.config_set("maxmemory", 0)
            admin.flushall()
            for n in range(44):
                fields = {
                    "stream": f"s{n % 3}",
                    "type": "task.completed" if n % 9 > 6 else "llm.call",
                    "payload": json.dumps({"n": n}),
                    "id": f"id-{n}",
                    "timestamp": str(1_770_000_000_000 + n),
                }
                admin.xadd(KEYS.inbox, fields)
                if n % 20 == 13:
                    admin.xadd(KEYS.inbox, {**fields, "payload": "{", "id": f"bad-{n}"})
            admin.config_set("maxmemory", 1)

    def run(self, doom: Doom | None = None) -> int:
        return self.nursery.run("run", "--once", doom=doom)

    def outcome(self) -> Outcome:
        with self.server.admin() as admin:
            return outcome(admin, self.here)


@pytest.fixture(scope="module")
def stage(servers, tmp_path_factory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("relief")
    server = RedisServer(servers.binary(servers.newest()), folder / "redis").start()
    settings = {"ARES_COMMIT_MAX_EVENTS": "20"}
    here = Installation(server.url, folder / "rounds", settings)
    with Nursery(here.environment, folder / "nursery") as nursery:
        stage = Stage(server, here, nursery)
        stage.reset()
        assert stage.run() == 0, nursery.log()
        stage.expected = stage.outcome()
        stage.scripts = sum("EVAL" in step for step in nursery.steps())
        yield stage
    server.kill()


def die_and_go_on(stage: Stage, doom: Doom) -> None:
    stage.reset()
    assert stage.run(doom) == KILLED, f"{doom} was never reached"
    with stage.server.admin() as admin:
        lapse(admin)
    assert stage.run() == 0, stage.nursery.log()
    seen = stage.outcome()
    for part in FIELDS:
        assert getattr(seen, part) == getattr(stage.expected, part), part
    assert stage.nursery.run("verify") == 0, stage.nursery.log()


def test_undisturbed_everything_finished_is_archived_and_out_of_the_logs(stage: Stage):
    assert stage.scripts > 8
    assert stage.expected.waiting == stage.expected.pending == 0
    assert len(stage.expected.dead) == 2
    assert len(stage.expected.rounds) == 9
    terminal = [item for log in stage.expected.logs.values() for item in log if "task" in item[2]]
    assert terminal == []


@pytest.mark.parametrize("when", [BEFORE, SENT])
@pytest.mark.parametrize("nth", [1, 3, 6, -2, -1])
def test_killed_at_some_scripts(stage: Stage, nth: int, when: str):
    die_and_go_on(stage, Doom(nth if nth > 0 else stage.scripts + 1 + nth, when, "EVAL"))


@pytest.mark.chaos
@pytest.mark.parametrize("when", [BEFORE, SENT])
def test_killed_at_every_script(stage: Stage, when: str):
    for nth in range(1, stage.scripts + 1):
        die_and_go_on(stage, Doom(nth, when, "EVAL"))
