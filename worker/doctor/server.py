"""Pure. Judges a Redis server by what it says of itself (`INFO`, `CONFIG GET`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streams.embedded.server import OLDEST_REDIS
from worker.settings.types import format_size
from worker.upkeep.relief_plan import SHORT_SHARE

from .findings import Finding, fail, gib, ok, skip, warn

Info = Mapping[str, str]

_NEARLY: Final = 0.9


def judge_server(info: Info, config: Info, *, max_payload_bytes: int) -> list[Finding]:
    """Every finding on one server. `config` may lack what the server wouldn't tell."""
    if not info:
        todo = "ACL SETUSER <user> +info"
        return [skip("redis.server", "the user may not run INFO", todo)]
    return [
        version(info),
        role(info),
        persistence(info, config),
        saving(info),
        eviction(info),
        memory(info),
        clients(info),
        bulk_limit(config, max_payload_bytes),
    ]


def version(info: Info) -> Finding:
    """Old servers lack commands that exactly-once needs."""
    found = info.get("redis_version", "0")
    parts = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    if parts < OLDEST_REDIS:
        return fail("redis.version", f"Redis {found}", "upgrade to 6.2 or newer")
    return ok("redis.version", f"Redis {found}")


def role(info: Info) -> Finding:
    """A replica refuses every write."""
    if info.get("role") == "slave":
        todo = "name the master, or use redis+sentinel:// so that failovers are followed"
        return fail("redis.role", "this server is a replica", todo)
    return ok("redis.role", "master")


def persistence(info: Info, config: Info) -> Finding:
    """What is acknowledged must outlive a restart."""
    if info.get("aof_enabled") != "1":
        found = "no append-only file: a restart loses what came after the last snapshot"
        return warn("redis.persistence", found, "CONFIG SET appendonly yes; and in redis.conf")
    fsync = config.get("appendfsync")
    if fsync == "no":
        found = "append-only file, never fsynced: a power loss loses up to half a minute"
        return warn("redis.persistence", found, "CONFIG SET appendfsync everysec (or always)")
    if fsync == "always":
        return ok("redis.persistence", "append-only file, fsynced before every answer")
    if fsync is None:
        return ok("redis.persistence", "append-only file; its fsync policy is not told")
    return ok("redis.persistence", "append-only file, fsynced every second")


def saving(info: Info) -> Finding:
    """A server that can't save refuses writes sooner or later."""
    failing = [
        what
        for field, what in (
            ("rdb_last_bgsave_status", "the last snapshot failed"),
            ("aof_last_write_status", "the last write to the append-only file failed"),
            ("aof_last_bgrewrite_status", "the last rewrite of the append-only file failed"),
        )
        if info.get(field, "ok") != "ok"
    ]
    if failing:
        todo = "look at the disk and the log of the Redis server"
        return fail("redis.saving", "; ".join(failing), todo)
    if info.get("loading") == "1":
        return fail("redis.saving", "still loading its data", "wait until it has finished")
    return ok("redis.saving", "snapshots and append-only file are written without errors")


def eviction(info: Info) -> Finding:
    """An evicted log or head is lost data."""
    policy = info.get("maxmemory_policy", "unknown")
    if policy != "noeviction":
        todo = "CONFIG SET maxmemory-policy noeviction; and in redis.conf"
        return fail("redis.eviction", f"maxmemory-policy is {policy}: logs may be evicted", todo)
    return ok("redis.eviction", "noeviction")


def memory(info: Info) -> Finding:
    """Room for what arrives before it is archived."""
    limit, used = int(info.get("maxmemory", "0")), int(info.get("used_memory", "0"))
    if not limit:
        total = int(info.get("total_system_memory", "0"))
        limit_text = f"{gib(total)} of the machine, no maxmemory" if total else "no maxmemory"
        if total and used > total * _NEARLY:
            todo = "set maxmemory below the machine's memory, or use a larger machine"
            return warn("redis.memory", f"{gib(used)} of {limit_text}", todo)
        return ok("redis.memory", f"{gib(used)} of {limit_text}")
    share = used / limit
    found = f"{gib(used)} of {gib(limit)} ({share:.0%})"
    if share > SHORT_SHARE:
        todo = "let workers archive and compact, lower compaction.threshold, or raise maxmemory"
        return warn("redis.memory", found, todo)
    return ok("redis.memory", found)


def clients(info: Info) -> Finding:
    """Room for the connections of workers and producers."""
    connected, most = int(info.get("connected_clients", "0")), int(info.get("maxclients", "0"))
    if most and connected > most * _NEARLY:
        todo = "raise maxclients, or close what leaks connections"
        return warn("redis.clients", f"{connected} of {most} connections", todo)
    return ok("redis.clients", f"{connected} of {most or 'unlimited'} connections")


def bulk_limit(config: Info, max_payload_bytes: int) -> Finding:
    """The server must accept an event as large as the settings allow."""
    raw = config.get("proto-max-bulk-len")
    if raw is None:
        return skip("redis.bulk_limit", "the user may not run CONFIG GET")
    if int(raw) < max_payload_bytes:
        found = f"proto-max-bulk-len {format_size(int(raw))} is below limits.max_payload_bytes"
        todo = f"CONFIG SET proto-max-bulk-len {2 * max_payload_bytes}, or lower the limit"
        return warn("redis.bulk_limit", found, todo)
    return ok("redis.bulk_limit", f"values up to {format_size(int(raw))}")


def cluster(info: Info, cluster_info: Info, *, spoken: bool) -> Finding:
    """`spoken`: whether the URL says that this is a cluster."""
    if info.get("cluster_enabled") != "1":
        if spoken:
            todo = "use redis:// instead of redis+cluster://"
            return fail("redis.cluster", "the server is no cluster", todo)
        return ok("redis.cluster", "a single server")
    if not spoken:
        todo = "use redis+cluster:// instead of redis://"
        return fail("redis.cluster", "the server is part of a cluster", todo)
    state, slots = (
        cluster_info.get("cluster_state", "unknown"),
        cluster_info.get("cluster_slots_ok", "0"),
    )
    if state != "ok" or slots != "16384":
        todo = "redis-cli --cluster check HOST:PORT, then fix"
        return fail("redis.cluster", f"state {state}, {slots} of 16384 slots served", todo)
    return ok("redis.cluster", "all 16384 slots served")


def latency(round_trips: list[float]) -> Finding:
    """`round_trips`: seconds of single PINGs."""
    ordered = sorted(round_trips)
    median, worst = ordered[len(ordered) // 2], ordered[-1]
    found = f"median {median * 1e3:.1f} ms, worst {worst * 1e3:.1f} ms"
    if median > 0.005:
        todo = "run workers in the zone of their Redis; each commit takes two round trips"
        return warn("redis.latency", found, todo)
    return ok("redis.latency", found)


def clock(difference_s: float) -> Finding:
    """Ages and delays compare two clocks; order never does."""
    found = f"{abs(difference_s):.1f} s apart from this machine's"
    if abs(difference_s) > 2:
        return warn("redis.clock", found, "synchronise both clocks (NTP): ages shown are off")
    return ok("redis.clock", found)
