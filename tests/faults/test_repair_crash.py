"""A repair killed in the middle has happened or hasn't: the next one goes on from there."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from streams.keys import Keys
from support.doomed import BEFORE, SENT, Doom, Nursery
from support.worker_process import Installation

KEYS = Keys("default")
REPAIR = ("streams", "repair", "s", "--yes")


@pytest.mark.parametrize("when", [BEFORE, SENT])
def test_a_repair_killed_at_its_one_write(start_server, tmp_path: Path, when: str):
    server = start_server()
    here = Installation(server.url, tmp_path / "rounds")
    with server.admin() as admin, Nursery(here.environment, tmp_path / "nursery") as nursery:
        add_round(admin)
        assert nursery.run("run", "--once") == 0
        admin.xadd(KEYS.log("s"), {"by": "hand"})

        assert nursery.run(*REPAIR, doom=Doom(1, when, "EVAL")) == -9
        assert nursery.run(*REPAIR) == 0, nursery.log()

        assert nursery.run("verify") == 0, nursery.log()
        assert admin.xlen(KEYS.dead) == 1
        assert [name for name, _ in admin.xrange(KEYS.log("s"))] == [
            admin.get(KEYS.head("s")).replace(b"3-", b"%d-" % n) for n in (1, 2, 3)
        ]


def add_round(admin: redis.Redis) -> None:
    for kind in ("task.created", "llm.call", "task.completed"):
        admin.xadd(KEYS.inbox, {"stream": "s", "type": kind})
