"""Pure. Which commands a worker sends, and which of them an ACL refuses.

Between MULTI and DISCARD the server checks a command's rights when it is queued and never
runs it: the only way that asks for every right, on the keys meant, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from redis.exceptions import ExecAbortError, NoPermissionError

from streams.keys import Keys
from streams.wire import Command, Reply

from .findings import Finding, fail, ok

_PROBE: Final = "ares-doctor"
_FIRST: Final = "+multi +exec +discard +watch"
_CONTAINERS: Final = ("xgroup", "xinfo", "memory")


def rights_probe(keys: Keys) -> list[Command]:
    """One packet that asks for every right a worker of this tenant needs; changes nothing."""
    # EXEC comes before MULTI: refused or not, it has nothing to run there.
    return [("EXEC",), ("MULTI",), *_needed(keys), ("DISCARD",)]


def judge_rights(tenant: str, keys: Keys, replies: Sequence[Reply]) -> Finding:
    """The finding on the replies to `rights_probe`."""
    check = f"tenant.{tenant}.rights"
    pattern = keys.inbox.decode().removesuffix("inbox") + "*"
    grant = f"ACL SETUSER <user> ~{pattern}"
    if _refused(replies[1]):
        return fail(check, "the user may not run MULTI", f"{grant} {_FIRST}; then doctor again")
    refused = [
        command
        for command, reply in zip(rights_probe(keys), replies, strict=True)
        if _refused(reply)
    ]
    if not refused:
        return ok(check, f"every command on {pattern}")
    names = sorted({_name(command) for command in refused})
    some = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    rights = " ".join(f"+{name}" for name in names)
    return fail(check, f"refused: {some}", f"{grant} {rights}")


def _refused(reply: Reply) -> bool:
    """EXEC answers a missing right with EXECABORT; without MULTI it has no other cause to."""
    return isinstance(reply, NoPermissionError | ExecAbortError)


def _name(command: Command) -> str:
    first = str(command[0]).lower()
    return f"{first}|{str(command[1]).lower()}" if first in _CONTAINERS else first


def _needed(keys: Keys) -> list[Command]:
    return [*_on_streams(keys), *_on_other_keys(keys)]


def _on_streams(keys: Keys) -> list[Command]:
    log = keys.log(_PROBE)
    return [
        ("XADD", keys.inbox, "*", "f", "v"),
        ("XLEN", log),
        ("XRANGE", log, "-", "+"),
        ("XREVRANGE", log, "+", "-"),
        ("XREAD", "STREAMS", keys.inbox, "$"),
        ("XDEL", keys.inbox, "1-1"),
        ("XTRIM", log, "MINID", "=", "1"),
        ("XGROUP", "CREATE", keys.feed, _PROBE, "0", "MKSTREAM"),
        ("XREADGROUP", "GROUP", _PROBE, _PROBE, "STREAMS", keys.feed, ">"),
        ("XACK", keys.feed, _PROBE, "1-1"),
        ("XAUTOCLAIM", keys.feed, _PROBE, _PROBE, 1, "0"),
        ("XCLAIM", keys.feed, _PROBE, _PROBE, 1, "1-1"),
        ("XPENDING", keys.feed, _PROBE),
        ("XINFO", "GROUPS", keys.feed),
    ]


def _on_other_keys(keys: Keys) -> list[Command]:
    log, head, state = keys.log(_PROBE), keys.head(_PROBE), keys.state(_PROBE)
    summaries, group, lease = keys.summaries(_PROBE), keys.group(_PROBE), keys.lease("sequencer")
    return [
        ("WATCH", head),
        ("UNWATCH",),
        ("PING",),
        ("TIME",),
        ("INFO", "memory"),
        ("GET", head),
        ("MGET", head),
        ("SET", lease, "x", "NX", "PX", 1),
        ("PEXPIRE", lease, 1),
        ("PTTL", lease),
        ("EXPIRE", keys.attempts, 1),
        ("DEL", log),
        ("HSET", state, "f", "v"),
        ("HGET", state, "f"),
        ("HMGET", state, "f"),
        ("HGETALL", group),
        ("HEXISTS", group, "f"),
        ("HSETNX", group, "f", "v"),
        ("HKEYS", group),
        ("HLEN", keys.subscribers),
        ("HDEL", state, "f"),
        ("HINCRBY", keys.attempts, "f", 1),
        ("ZADD", keys.streams, 0, _PROBE),
        ("ZREM", keys.streams, _PROBE),
        ("ZRANGE", keys.streams, 0, 0),
        ("ZRANGEBYSCORE", keys.streams, 0, 0),
        ("ZSCORE", keys.streams, _PROBE),
        ("ZCARD", keys.streams),
        ("ZSCAN", keys.streams, 0),
        ("RPUSH", summaries, "x"),
        ("LRANGE", summaries, 0, 0),
        ("LINDEX", summaries, 0),
        ("LPOP", summaries),
        ("LSET", summaries, 0, "x"),
        ("LLEN", summaries),
        ("MEMORY", "USAGE", keys.inbox),
        ("EVAL", "return 1", 1, log),
    ]
