"""`erase` beside workers that take in, archive and compact the same streams all the while."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from streams.keys import Keys
from support.waiting import eventually_sync
from support.worker_process import Installation

KEYS = Keys("default")
SETTINGS = {
    "ARES_COMPACTION_THRESHOLD": "60",
    "ARES_COMPACTION_KEEP_RECENT": "10",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_ARCHIVE_MAX_ROUNDS": "0",
}


class Producer:
    """Rounds of three events for two streams, fifty of each a second."""

    def __init__(self, client: redis.Redis) -> None:
        self._client, self._stop = client, threading.Event()
        self.sent = 0

    def round(self) -> None:
        """One more round of each stream."""
        self.sent += 1
        with self._client.pipeline(transaction=False) as packet:
            for stream in ("s", "t"):
                for kind in ("task.created", "message.added", "task.completed"):
                    told = f"{stream}-{self.sent}."
                    payload = json.dumps({"role": "user", "content": told, "result": told})
                    packet.xadd(KEYS.inbox, {"stream": stream, "type": kind, "payload": payload})
            packet.execute()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Send meanwhile."""

        def send() -> None:
            while not self._stop.wait(0.02):
                self.round()

        self._stop.clear()
        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


def told(here: Installation, admin: redis.Redis, stream: str) -> set[int]:
    """Numbers of the rounds of which something is found in Redis or the archive."""
    found = [repr(admin.xrange(key)).encode() for key in (KEYS.log(stream), KEYS.inbox)]
    found.append(repr(admin.lrange(KEYS.summaries(stream), 0, -1)).encode())
    found += here.rounds().values()
    mark = f"{stream}-".encode()
    return {
        int(piece.partition(b".")[0])
        for content in found
        for piece in content.split(mark)[1:]
        if piece.partition(b".")[0].isdigit()
    }


@pytest.mark.slow
def test_what_was_sent_before_is_gone_and_workers_go_on(start_server, install):
    here = install(start_server().url, **SETTINGS)
    with redis.Redis.from_url(here.redis_url) as admin, here.worker() as one, here.worker() as two:
        one.wait_ready()
        two.wait_ready()
        producer = Producer(admin)
        with producer.busy():
            eventually_sync(lambda: len(here.rounds()) > 60, 30, hint="rounds are archived")
            before = producer.sent
            answer = here.json("erase", "--stream", "s")
            after = producer.sent
        for _ in range(5):
            producer.round()
        eventually_sync(lambda: _all_done(admin), 60, hint="everything is archived")

        assert answer["complete"]
        assert answer["rounds"] > 20
        kept = told(here, admin, "s")
        assert not [number for number in kept if number < before - 1]
        assert {*range(after + 1, producer.sent + 1)} <= kept
        assert told(here, admin, "t") == {*range(1, producer.sent + 1)}


def _all_done(admin: redis.Redis) -> bool:
    """Nothing waits, and both streams are archived up to their heads."""
    if admin.xlen(KEYS.inbox):
        return False
    for stream in ("s", "t"):
        head = int(admin.get(KEYS.head(stream)).partition(b"-")[0])
        if int(admin.hget(KEYS.state(stream), "archived_version") or 0) < head:
            return False
    return True


@pytest.mark.slow
def test_a_tenant_is_erased_beside_a_busy_worker(start_server, install):
    here = install(start_server().url, **SETTINGS)
    with redis.Redis.from_url(here.redis_url) as admin, here.worker() as worker:
        worker.wait_ready()
        producer = Producer(admin)
        with producer.busy():
            eventually_sync(lambda: len(here.rounds()) > 60, 30, hint="rounds are archived")
            before = producer.sent
            assert here.json("erase", "--tenant", "default", "--yes")["complete"]
        producer.round()
        eventually_sync(lambda: _all_done(admin), 60, hint="everything is archived")

        for stream in ("s", "t"):
            kept = told(here, admin, stream)
            assert not [number for number in kept if number < before - 1]
            assert producer.sent in kept
