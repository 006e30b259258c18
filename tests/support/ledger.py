"""Producers that keep a ledger of what Redis acknowledged, and the audit of logs against it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field

import redis

from streams.keys import Keys

from .outcome import Outcome
from .redis_server import RedisServer

ROUND = 8
"""Events of a round of these producers."""


@dataclass(slots=True)
class Ledger:
    """Ids by stream, in the order sent: those acknowledged, and those nobody knows about."""

    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def check(self, seen: Outcome) -> None:
        """What was acknowledged is in one log, once, in order; nothing else but what is unknown."""
        stored = [item[1] for log in seen.logs.values() for item in log]
        assert len(stored) == len(set(stored)), "an event was recorded twice"
        for stream, sent in self.acknowledged.items():
            log = seen.logs.get(stream, [])
            assert [item[0] for item in log] == list(range(1, len(log) + 1)), stream
            assert [item[1] for item in log if item[1] not in self.unknown] == sent, stream
        known = {name for sent in self.acknowledged.values() for name in sent}
        assert set(stored) - known <= self.unknown
        assert seen.waiting == 0
        assert seen.pending == 0

    def check_rounds(self, seen: Outcome) -> None:
        """The files hold every event up to the last terminal one of its stream, once."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for record in map(json.loads, seen.rounds.values()):
            span = (record["first_version"], record["last_version"])
            spans.setdefault(record["stream_id"], []).append(span)
        for stream, log in seen.logs.items():
            ends = [item[0] for item in log if item[2] == "task.completed"]
            starts = [1, *(end + 1 for end in ends[:-1])]
            due = list(zip(starts, ends, strict=True)) if ends else []
            assert sorted(spans.get(stream, [])) == due, stream


class Producers:
    """Threads that XADD without rest; `with` them, and they end at the end of the block."""

    def __init__(
        self, server: RedisServer, streams: int, *, tenant: str = "default", pause_s: float = 0.002
    ) -> None:
        self.ledger = Ledger({f"agent-{n}": [] for n in range(streams)})
        self._server, self._inbox, self._pause_s = server, Keys(tenant).inbox, pause_s
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._produce, args=(stream,))
            for stream in self.ledger.acknowledged
        ]

    def __enter__(self) -> Producers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    @property
    def sent(self) -> int:
        """Events acknowledged so far."""
        return sum(map(len, self.ledger.acknowledged.values()))

    def _produce(self, stream: str) -> None:
        """Until told to stop; and then to the end of the round."""
        acknowledged, number = self.ledger.acknowledged[stream], 0
        until = float("inf")
        with self._server.admin() as client:
            while number % ROUND or not self._stop.is_set():
                if self._stop.is_set():
                    until = min(until, time.monotonic() + 20)
                    assert time.monotonic() < until, "Redis does not come back"
                type_ = "task.completed" if number % ROUND == ROUND - 1 else "llm.call"
                name = f"{stream}:{number}:{len(self.ledger.unknown)}"
                fields = {"stream": stream, "type": type_, "id": name}
                try:
                    client.xadd(self._inbox, {**fields, "payload": json.dumps({"n": number})})
                except redis.RedisError:
                    self.ledger.unknown.add(name)
                    self._stop.wait(0.05)
                    continue
                acknowledged.append(name)
                number += 1
                self._stop.wait(self._pause_s)
