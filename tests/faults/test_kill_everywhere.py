"""A worker killed at any step of its work: the next one ends where an undisturbed one would have.

The killed worker is `ares-worker run --once`, ended by SIGKILL before a packet or a system call,
or right after it, when its effect is there and its answer unread.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import pytest
import redis

from streams.keys import Keys
from support.doomed import BEFORE, SENT, Doom, Nursery
from support.outcome import Outcome, lapse, outcome
from support.redis_server import REDIS_7, REDIS_62, RedisServer
from support.worker_process import Installation
from worker.console.exit_codes import ExitCode

KEYS = Keys("default")
SETTINGS = {
    "ARES_COMPACTION_THRESHOLD": "14",
    "ARES_COMPACTION_KEEP_RECENT": "4",
    "ARES_COMPACTION_MAX_SUMMARIES_PER_STREAM": "2",
    "ARES_COMMIT_MAX_EVENTS": "50",
}
KILLED = -9
GAVE_WAY = (ExitCode.DONE, ExitCode.UNAVAILABLE, ExitCode.BUSY)
"""How `--once` ends whose connection is gone, or whose work another has done."""


def send_work(producer: redis.Redis, first: int, last: int) -> None:
    """Three streams of finished rounds and an open one; repeats; entries that are none."""
    for n in range(first, last):
        for stream in ("a", "b/B", "c"):
            fields = {
                "stream": stream,
                "type": "task.completed" if n % 9 == 8 else "llm.call",
                "payload": json.dumps({"n": n}),
                "id": f"{stream}-{n}",
                "timestamp": str(1_770_000_000_000 + n),
            }
            producer.xadd(KEYS.inbox, fields)
            if n % 20 == 8:
                producer.xadd(KEYS.inbox, fields)
        if n % 20 == 13:
            producer.xadd(KEYS.inbox, {"stream": "a", "type": "llm.call", "payload": "{"})


@dataclass(slots=True)
class Stage:
    """One Redis and one archive, set anew for every death, and what must come out."""

    server: RedisServer
    here: Installation
    nursery: Nursery
    dumps: dict[bytes, bytes] = field(default_factory=dict)
    expected: Outcome | None = None
    steps: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Streams with a past: two summaries each, so that the next one makes two merge."""
        with self.server.admin() as admin:
            for first in (0, 20):
                send_work(admin, first, first + 20)
                assert self.work() == 0, self.nursery.log()
            send_work(admin, 40, 60)
            self.dumps = {key: admin.dump(key) for key in admin.scan_iter()}
            shutil.copytree(self.here.archive, self._kept)
            assert self.work() == 0, self.nursery.log()
            self.steps = self.nursery.steps()
            self.expected = outcome(admin, self.here)
        assert len(self.expected.rounds) == 18
        assert len(self.expected.dead) == 3
        spans = [[item[:2] for item in items] for items in self.expected.summaries.values()]
        assert spans == [[(1, 54)]] * 3

    def reset(self) -> None:
        """Before the last piece of work."""
        with self.server.admin() as admin:
            admin.flushall()
            for key, dump in self.dumps.items():
                admin.restore(key, 0, dump)
        shutil.rmtree(self.here.archive)
        shutil.copytree(self._kept, self.here.archive)

    @property
    def _kept(self) -> Path:
        return self.here.archive.with_name("kept")

    def work(self, doom: Doom | None = None) -> int:
        """A worker that does all there is to do, or dies of it; its exit code."""
        return self.nursery.run("run", "--once", doom=doom)

    def check(self) -> None:
        """All is as if nothing had happened; `verify` agrees, and nothing is left to do."""
        with self.server.admin() as admin:
            seen = outcome(admin, self.here)
            for part in fields(Outcome):
                assert getattr(seen, part.name) == getattr(self.expected, part.name), part.name
            assert set(admin.hgetall(KEYS.attempts)) <= {b"holder"}
        assert self.nursery.run("verify") == 0, self.nursery.log()


@contextmanager
def set_up(server: RedisServer, folder: Path) -> Iterator[Stage]:
    """The stage, after one undisturbed worker has shown what must come out."""
    here = Installation(server.url, folder / "rounds", SETTINGS)
    with Nursery(here.environment, folder / "nursery") as nursery:
        stage = Stage(server, here, nursery)
        stage.prepare()
        yield stage


@pytest.fixture(scope="module")
def stage(servers, tmp_path_factory) -> Iterator[Stage]:
    """On a server of this module's own."""
    folder = tmp_path_factory.mktemp("kill")
    server = RedisServer(servers.binary(servers.newest()), folder / "redis").start()
    with set_up(server, folder) as stage:
        yield stage
    server.kill()


def die_and_go_on(stage: Stage, doom: Doom) -> None:
    """One worker dies at a step; after the time for that, another does what is left."""
    stage.reset()
    assert stage.work(doom) == KILLED, f"step {doom} was never reached"
    with stage.server.admin() as admin:
        left = list(admin.scan_iter(KEYS.lease("*")))
        assert all(admin.pttl(lease) > 0 for lease in left), "a lease that never ends"
        lapse(admin)
    assert stage.work() == 0, stage.nursery.log()
    stage.check()


TURNS = {
    "the lease is taken": Doom(1, SENT, "SET"),
    "a page is read": Doom(1, SENT, "XRANGE"),
    "a commit is on its way": Doom(1, BEFORE, "ZADD"),
    "a commit is done": Doom(1, SENT, "ZADD"),
    "the second commit is done": Doom(2, SENT, "ZADD"),
    "a bad entry is buried": Doom(1, SENT, "MULTI PEXPIRE XADD XDEL HDEL EXEC"),
    "feed entries are taken on": Doom(1, SENT, "XREADGROUP"),
    "round files are written": Doom(5, SENT, "file fsync"),
    "some rounds are published": Doom(3, SENT, "file link"),
    "all rounds are published": Doom(1, BEFORE, "WATCH HMGET"),
    "the state is advanced": Doom(1, SENT, "MULTI HSET EXEC"),
    "the feed is acknowledged": Doom(1, SENT, "XACK"),
    "a window is fixed": Doom(2, SENT, "MULTI HSET EXEC"),
    "a window is summarized": Doom(1, BEFORE, "RPUSH"),
    "a window is folded": Doom(1, SENT, "RPUSH"),
    "summaries are merged": Doom(1, SENT, "LPOP LSET"),
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_worker_killed_when(stage: Stage, turn: str):
    die_and_go_on(stage, TURNS[turn])


def freeze_and_go_on(stage: Stage, doom: Doom) -> None:
    """One worker stops at a step for longer than its lease; another does everything meanwhile."""
    stage.reset()
    frozen = stage.nursery.freeze("run", "--once", doom=doom)
    with stage.server.admin() as admin:
        lapse(admin)
        assert stage.work() == 0, stage.nursery.log()
        admin.client_kill_filter(_type="normal", skipme=True)
    assert stage.nursery.thaw(frozen) in GAVE_WAY, stage.nursery.log()
    stage.check()


@pytest.mark.parametrize(
    "turn",
    [
        "the lease is taken",
        "a commit is on its way",
        "all rounds are published",
        "a window is summarized",
    ],
)
def test_a_worker_frozen_when(stage: Stage, turn: str):
    turned = replace(TURNS[turn], signal=signal.SIGSTOP)
    freeze_and_go_on(stage, turned)


SHARES = 6  # each well within the time after which a test counts as hanging


@pytest.mark.chaos
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("when", [BEFORE, SENT])
def test_a_worker_killed_at_any_step(stage: Stage, when: str, share: int):
    """Every packet and every system call on the archive, one death each."""
    for nth in range(1 + share, len(stage.steps) + 1, SHARES):
        die_and_go_on(stage, Doom(nth, when))


@pytest.mark.chaos
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("when", [BEFORE, SENT])
def test_a_worker_frozen_at_any_step(stage: Stage, when: str, share: int):
    """It wakes into a world where everything is done, and changes nothing."""
    for nth in range(1 + share, len(stage.steps) + 1, SHARES):
        freeze_and_go_on(stage, Doom(nth, when, signal=signal.SIGSTOP))


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(6))
def test_workers_killed_one_after_the_other_come_to_the_end(stage: Stage, seed: int):
    """What the many dead leave never stops the living, and nobody's event becomes poison."""
    chance = random.Random(seed)
    stage.reset()
    for _ in range(200):
        if stage.work(Doom(chance.randint(12, 90), chance.choice([BEFORE, SENT]))) == 0:
            break
        with stage.server.admin() as admin:
            lapse(admin)
    else:
        pytest.fail("no worker came to the end")
    stage.check()


@pytest.mark.chaos
@pytest.mark.parametrize("share", range(3))
@pytest.mark.parametrize("version", [REDIS_7, REDIS_62])
def test_a_worker_killed_at_any_step_and_its_redis_with_it(
    servers, tmp_path, version: str, share: int
):
    """The AOF brings back what was acknowledged; the half of a transaction never counts."""
    server = RedisServer(servers.binary(version), tmp_path / "redis", aof="always").start()
    with set_up(server, tmp_path) as stage:
        for nth in range(1 + 2 * share, len(stage.steps) + 1, 6):
            stage.reset()
            stage.work(Doom(nth, SENT))
            server.restart()
            with server.admin() as admin:
                lapse(admin)
            assert stage.work() == 0, stage.nursery.log()
            stage.check()
    server.kill()
