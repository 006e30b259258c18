"""`ares-worker streams repair`, as the person with the pager uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis

from streams.keys import Keys
from support.waiting import eventually_sync
from support.worker_process import Installation
from worker.console.exit_codes import ExitCode

KEYS = Keys("default")


@pytest.fixture
def here(start_server, install) -> Installation:
    return install(start_server().url, ARES_WORKER_SCAN_INTERVAL="1s")


@pytest.fixture
def admin(here: Installation) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(here.redis_url) as client:
        yield client


def add_round(admin: redis.Redis, events: int = 3) -> None:
    for n in range(events):
        kind = "task.completed" if n == events - 1 else "llm.call"
        admin.xadd(KEYS.inbox, {"stream": "s", "type": kind, "payload": json.dumps({"n": n})})


def test_it_shows_then_mends_and_the_stream_goes_on(here: Installation, admin: redis.Redis):
    add_round(admin)
    here.call("run", "--once")
    admin.xadd(KEYS.log("s"), {"by": "hand\x1b[2J"})
    add_round(admin)

    shown = here.call("streams", "repair", "s", code=ExitCode.NO)
    assert "somebody else's entries are in its log" in shown
    assert "Nothing was changed; --yes does it." in shown
    assert admin.xlen(KEYS.log("s")) == 4

    done = here.call("streams", "repair", "s", "--yes")
    assert "verify finds nothing wrong any more." in done
    here.call("run", "--once")

    assert len(here.rounds()) == 2
    assert here.call("streams", "repair", "s").strip() == "s: nothing to mend."
    assert here.json("dead", "list")[0]["code"] == "foreign"


@pytest.mark.chaos
def test_a_running_worker_takes_the_mended_stream_up_by_itself(
    here: Installation, admin: redis.Redis
):
    """Within a minute: so often it looks at what it has left in the inbox."""
    with here.worker() as worker:
        worker.wait_ready()
        add_round(admin)
        eventually_sync(lambda: len(here.rounds()) == 1, 30)
        admin.xadd(KEYS.log("s"), {"by": "hand"})
        add_round(admin)
        eventually_sync(lambda: "quarantined" in worker.log(), 30)

        here.call("streams", "repair", "s", "--yes")

        eventually_sync(lambda: len(here.rounds()) == 2, 90)


def test_a_loss_has_to_be_accepted_and_json_tells_it_exactly(
    here: Installation, admin: redis.Redis
):
    add_round(admin)
    here.call("run", "--once")
    add_round(admin)
    for n in range(2):
        admin.xadd(KEYS.inbox, {"stream": "s", "type": "llm.call", "payload": json.dumps({"n": n})})
    here.call("run", "--once")
    [*_, last] = admin.xrange(KEYS.log("s"))
    admin.xdel(KEYS.log("s"), last[0])

    seen = here.json("streams", "repair", "s", code=ExitCode.NO)
    assert seen["lost_versions"] == [8]
    refused = here.json("streams", "repair", "s", "--yes", code=ExitCode.USAGE)
    assert "--accept-loss" in refused["error"]["hint"]

    done = here.json("streams", "repair", "s", "--yes", "--accept-loss")
    assert (done["mended"], done["left"]) == (True, [])
    assert here.json("streams", "show", "s")["events"][-1]["type"] == "event.lost"


def test_an_unknown_stream_is_an_answer(here: Installation, admin: redis.Redis):
    refused = here.json("streams", "repair", "nobody", code=ExitCode.NO)

    assert refused["error"]["kind"] == "StreamNotFound"
