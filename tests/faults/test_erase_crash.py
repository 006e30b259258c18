"""An erasure killed at any step: it was not reported, and the same command again completes it.

The killed process is `ares-worker erase`, ended by SIGKILL before a packet or a system call, or
right after it, when its effect is there and its answer unread.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis

from streams.keys import Keys
from support.doomed import BEFORE, SENT, Doom, Nursery
from support.outcome import lapse
from support.redis_server import RedisServer
from support.worker_process import Installation

KEYS = Keys("default")
KILLED = -9
SETTINGS = {
    "ARES_COMPACTION_THRESHOLD": "5",
    "ARES_COMPACTION_KEEP_RECENT": "4",
    "ARES_SEGMENTS_ENABLED": "true",
}
ERASURES = {
    "a stream": (("--stream", "s"), ["s-1.", "s-2.", "s-3.", "s-open.", "s-dead.", "s-inbox."]),
    "a round in the log": (("--stream", "s", "--round", "3"), ["s-3."]),
    "a round in a summary": (("--stream", "s", "--round", "1"), ["s-1."]),
    "a tenant": (("--tenant", "default", "--yes"), ["s-", "other-"]),
}


def send(producer: redis.Redis, stream: str, kind: str, told: str) -> None:
    """One entry of the inbox; with a `bad` type one that is none."""
    text = f"as told in {stream}-{told}."
    payload = "{" + text if kind == "bad" else json.dumps({"content": text, "role": "user"})
    producer.xadd(KEYS.inbox, {"stream": stream, "type": kind, "payload": payload})


@dataclass(slots=True)
class Stage:
    """One Redis, archive and folder of segments, set anew for every death."""

    admin: redis.Redis
    here: Installation
    nursery: Nursery
    dumps: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Archive and segments are in here."""
        return self.here.archive.parent

    def prepare(self) -> None:
        """Two streams with a past: three rounds, partly compacted, and something of every kind."""
        for stream in ("s", "other"):
            for number in (1, 2, 3):
                for kind in ("task.created", "message.added", "task.completed"):
                    send(self.admin, stream, kind, str(number))
            send(self.admin, stream, "llm.call", "open")
            send(self.admin, stream, "bad", "dead")
        assert self.nursery.run("run", "--once") == 0, self.nursery.log()
        for stream in ("s", "other"):
            send(self.admin, stream, "llm.call", "inbox")
        self.dumps = {key: self.admin.dump(key) for key in self.admin.scan_iter()}
        shutil.copytree(self.folder, self._kept)
        assert len(self.traces("s-")) == 10

    def reset(self) -> None:
        """Before the erasure."""
        self.admin.flushall()
        for key, dump in self.dumps.items():
            self.admin.restore(key, 0, dump)
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder)

    @property
    def _kept(self) -> Path:
        return self.folder.with_name("kept")

    def traces(self, *needles: str) -> list[str]:
        """Keys and files that hold one of `needles`."""
        wanted = [needle.encode() for needle in needles]
        found = [
            key.decode()
            for key in self.admin.scan_iter()
            if any(needle in repr(_content(self.admin, key)).encode() for needle in wanted)
        ]
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return [
            *found,
            *(str(p) for p in files if any(needle in p.read_bytes() for needle in wanted)),
        ]


def _content(admin: redis.Redis, key: bytes) -> object:
    kind = admin.type(key)
    if kind == b"stream":
        return admin.xrange(key)
    if kind == b"list":
        return admin.lrange(key, 0, -1)
    if kind == b"hash":
        return admin.hgetall(key)
    return admin.get(key) if kind == b"string" else admin.zrange(key, 0, -1)


@pytest.fixture(scope="module")
def stage(servers, tmp_path_factory) -> Iterator[Stage]:
    """On a server of this module's own."""
    folder = tmp_path_factory.mktemp("erase")
    server = RedisServer(servers.binary(servers.newest()), folder / "redis").start()
    here = Installation(
        server.url,
        folder / "data/rounds",
        {**SETTINGS, "ARES_SEGMENTS_BASE": str(folder / "data/segments")},
    )
    with Nursery(here.environment, folder / "nursery") as nursery, server.admin() as admin:
        stage = Stage(admin, here, nursery)
        stage.prepare()
        yield stage
    server.kill()


def complete(stage: Stage, what: str) -> None:
    """Do it again, with a worker in between that takes up whatever is left to be taken up."""
    command, gone = ERASURES[what]
    lapse(stage.admin)
    assert stage.nursery.run("run", "--once") == 0, stage.nursery.log()
    assert stage.nursery.run("erase", *command) == 0, stage.nursery.log()
    assert stage.traces(*gone) == []
    assert stage.nursery.run("run", "--once") == 0, stage.nursery.log()
    assert stage.traces(*gone) == []
    assert stage.nursery.run("verify") == 0, stage.nursery.log()


def steps_of(stage: Stage, what: str) -> list[str]:
    """The steps of an erasure nobody disturbs."""
    stage.reset()
    assert stage.nursery.run("erase", *ERASURES[what][0]) == 0, stage.nursery.log()
    return stage.nursery.steps()


def die_and_do_it_again(stage: Stage, what: str, doom: Doom) -> None:
    stage.reset()
    code = stage.nursery.run("erase", *ERASURES[what][0], doom=doom)
    assert code == KILLED, f"step {doom} was never reached"
    assert stage.nursery.run("verify") == 0, f"{doom}: {stage.nursery.log()}"
    complete(stage, what)


@pytest.mark.parametrize("what", ERASURES)
def test_an_erasure_nobody_disturbs_leaves_nothing(stage: Stage, what: str):
    stage.reset()
    assert stage.nursery.run("erase", *ERASURES[what][0]) == 0, stage.nursery.log()
    assert stage.traces(*ERASURES[what][1]) == []
    complete(stage, what)


TURNS = {
    "the first tombstone is staged": Doom(1, BEFORE, "file rename"),
    "some are in place": Doom(2, SENT, "file rename"),
    "the sequencer is stopped": Doom(1, SENT, "HGET HSET"),
    "dead letters are gone": Doom(1, SENT, "XDEL"),
    "inbox entries are gone": Doom(2, SENT, "XDEL"),
    "the tail is published blank": Doom(1, SENT, "file link"),
    "the tail is noted": Doom(1, SENT, "MULTI HSET EXEC"),
    "the log is about to go": Doom(1, BEFORE, "DEL HSET"),
    "the log is gone": Doom(1, SENT, "DEL HSET"),
    "the feed is about to go": Doom(1, BEFORE, "XDEL XACK"),
}


@pytest.mark.parametrize("turn", TURNS)
def test_an_erased_stream_is_gone_though_its_erasure_was_killed_when(stage: Stage, turn: str):
    die_and_do_it_again(stage, "a stream", TURNS[turn])


@pytest.mark.parametrize("what", ["a round in the log", "a round in a summary"])
@pytest.mark.parametrize("when", [BEFORE, SENT])
def test_an_erased_round_is_gone_though_its_erasure_was_killed_at_its_transaction(
    stage: Stage, what: str, when: str
):
    die_and_do_it_again(stage, what, Doom(1, when, "MULTI DEL RPUSH"))


@pytest.mark.chaos
@pytest.mark.parametrize("what", ERASURES)
@pytest.mark.parametrize("when", [BEFORE, SENT])
def test_an_erasure_killed_at_any_step(stage: Stage, what: str, when: str):
    """Every packet and every system call on archive and segments, one death each."""
    for nth, step in enumerate(steps_of(stage, what), 1):
        if (when, step) == (SENT, "file unlink"):
            continue  # of a file that may not be there: then nothing has happened
        die_and_do_it_again(stage, what, Doom(nth, when))
