"""What a tenant's Redis and archive hold at the end, in a form that two ways there can be compared.

Times and entry ids that differ from run to run are left out; everything else must be the same
whatever happened on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis

from streams.codec import entry_version
from streams.feed import ARCHIVERS
from streams.keys import Keys
from streams.summary import unpack

from .worker_process import Installation

Event = tuple[int, str, str, bytes]
"""Version, id, type and payload of an event in a log."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Logs, states and summaries by stream; the files; what waits and what was rejected."""

    logs: dict[str, list[Event]]
    heads: dict[str, int]
    states: dict[str, dict[str, int]]
    summaries: dict[str, list[tuple[int, int, str]]]  # put together as far as they are adjacent
    rounds: dict[str, bytes]
    dead: list[tuple[bytes, list[tuple[bytes, bytes]]]]
    waiting: int
    pending: int


def outcome(admin: redis.Redis, here: Installation, tenant: str = "default") -> Outcome:
    """Look at everything of one tenant."""
    keys = Keys(tenant)
    streams = sorted(name.decode() for name in admin.zrange(keys.streams, 0, -1))
    groups = admin.xinfo_groups(keys.feed) if admin.exists(keys.feed) else []
    archivers = [group for group in groups if group["name"] == ARCHIVERS.encode()]
    return Outcome(
        logs={
            stream: [_event(raw) for raw in admin.xrange(keys.log(stream))] for stream in streams
        },
        heads={stream: entry_version(admin.get(keys.head(stream))) for stream in streams},
        states={stream: _state(admin, keys, stream) for stream in streams},
        summaries={stream: _summaries(admin, keys, stream) for stream in streams},
        rounds=here.rounds(),
        dead=sorted(_letter(fields) for _, fields in admin.xrange(keys.dead)),
        waiting=admin.xlen(keys.inbox),
        pending=sum(group["pending"] for group in archivers),
    )


def check_against(seen: Outcome, sent: dict[str, list[str]]) -> None:
    """Every event sent is in exactly one log, once, in the order sent; versions are 1..head.

    `sent` are the ids by stream. Only for logs that were not compacted.
    """
    assert {stream: [item[1] for item in log] for stream, log in seen.logs.items()} == sent
    for stream, log in seen.logs.items():
        assert [item[0] for item in log] == list(range(1, seen.heads[stream] + 1))


def _event(raw: Any) -> Event:
    name, fields = raw
    return (
        entry_version(name),
        fields[b"id"].decode(),
        fields[b"type"].decode(),
        fields[b"payload"],
    )


def _state(admin: redis.Redis, keys: Keys, stream: str) -> dict[str, int]:
    found = admin.hgetall(keys.state(stream))
    return {name.decode(): int(value) for name, value in sorted(found.items()) if int(value)}


def _summaries(admin: redis.Redis, keys: Keys, stream: str) -> list[tuple[int, int, str]]:
    """Whether the oldest are merged yet is no difference."""
    joined: list[tuple[int, int, str]] = []
    for item in map(unpack, admin.lrange(keys.summaries(stream), 0, -1)):
        if joined and joined[-1][1] + 1 == item.first_version:
            first, _, text = joined.pop()
            joined.append((first, item.last_version, f"{text}\n{item.text}"))
        else:
            joined.append((item.first_version, item.last_version, item.text))
    return joined


def _letter(fields: dict[bytes, bytes]) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    kept = sorted(item for item in fields.items() if item[0].startswith(b"f:"))
    return fields[b"code"], kept


def lapse(admin: redis.Redis, tenant: str = "default") -> None:
    """Let the time pass after which a dead worker's leases and feed entries go to others."""
    keys = Keys(tenant)
    for name in admin.scan_iter(keys.lease("*")):
        admin.delete(name)
    if not admin.exists(keys.feed):
        return
    for group in admin.xinfo_groups(keys.feed):
        for item in admin.xpending_range(keys.feed, group["name"], "-", "+", 1_000):
            admin.xclaim(
                *(keys.feed, group["name"], item["consumer"], 0, [item["message_id"]]),
                idle=3_600_000,
                justid=True,
            )
