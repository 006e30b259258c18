"""Asks Redis how it is: the server once, then each tenant. Writes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

from streams.errors import AresError, StoreAccessDenied, UsageError
from streams.overview import Overview
from streams.redis_store import RedisEventStore
from streams.wire import Reply, Wire
from worker.console.exit_codes import hint_for
from worker.settings.model import Settings
from worker.shared_facts import archivers_group

from . import server
from .findings import Finding, fail, skip
from .rights import judge_rights, rights_probe
from .tenant import judge_tenant

_PINGS: Final = 20
_DEADLINE_S: Final = 60.0


async def redis_findings(settings: Settings) -> AsyncIterator[Finding]:
    """Every finding on Redis; the last one says when something kept it from going on."""
    try:
        async with asyncio.timeout(_DEADLINE_S):
            async with await _open(settings, settings.tenants[0]) as store:
                async for finding in _server(store, settings):
                    yield finding
            for tenant in settings.tenants:
                async with await _open(settings, tenant) as store:
                    async for finding in _tenant(store):
                        yield finding
    except UsageError as exc:
        yield fail("redis.connection", str(exc), "correct redis.url and what goes with it")
    except StoreAccessDenied as exc:
        todo = "correct user and password; the user needs +ping and what tenant.*.rights names"
        yield fail("redis.connection", str(exc), todo)
    except AresError as exc:
        yield fail("redis.connection", str(exc), _what_to_do(exc))
    except TimeoutError:
        todo = "look at the server's load (redis-cli --latency, SLOWLOG GET)"
        yield fail("redis.connection", f"not done within {_DEADLINE_S:g} s", todo)


def _what_to_do(exc: AresError) -> str:
    if getattr(exc, "kind", "") == "connection" and not hasattr(exc, "hint"):
        return "start it, or correct its address: redis-cli -u URL PING; NetworkPolicy, firewall"
    return hint_for(exc)


async def _open(settings: Settings, tenant: str) -> RedisEventStore:
    redis = settings.redis
    return await RedisEventStore.connect(
        redis.read_url(), tenant, connection=redis.connection_options()
    )


async def _server(store: RedisEventStore, settings: Settings) -> AsyncIterator[Finding]:
    async with store.wires.borrow() as wire:
        started = time.time()
        replies = await wire.exchange(
            [
                ("INFO",),
                ("CONFIG", "GET", "appendfsync"),
                ("CONFIG", "GET", "proto-max-bulk-len"),
                ("CLUSTER", "INFO"),
                ("TIME",),
            ]
        )
        middle = (started + time.time()) / 2
        info = _fields(replies[0])
        config = _pairs(replies[1]) | _pairs(replies[2])
        for finding in server.judge_server(
            info, config, max_payload_bytes=settings.limits.max_payload_bytes
        ):
            yield finding
        if info:
            spoken = settings.redis.read_url().partition("://")[0].endswith("cluster")
            yield server.cluster(info, _fields(replies[3]), spoken=spoken)
        if isinstance(replies[4], list):
            seconds, micros = (int(part) for part in replies[4])
            yield server.clock(seconds + micros / 1e6 - middle)
        yield server.latency([await _round_trip(wire) for _ in range(_PINGS)])


async def _round_trip(wire: Wire) -> float:
    started = time.perf_counter()
    await wire.exchange([("PING",)])
    return time.perf_counter() - started


async def _tenant(store: RedisEventStore) -> AsyncIterator[Finding]:
    tenant, keys = store.tenant, store.keys
    async with store.wires.borrow() as wire:
        rights = judge_rights(tenant, keys, await wire.exchange(rights_probe(keys)))
        yield rights
        if rights.todo:
            yield skip(f"tenant.{tenant}", "not looked at without those rights")
            return
        replies = await wire.exchange(
            [
                ("XLEN", keys.inbox),
                ("GET", keys.lease("sequencer")),
                ("XLEN", keys.feed),
                ("XINFO", "GROUPS", keys.feed),
                ("XLEN", keys.dead),
            ]
        )
    quarantined = [
        (facts.stream, facts.quarantined)
        async for facts in Overview(store.wires, keys).streams()
        if facts.quarantined
    ]
    for finding in judge_tenant(
        tenant,
        inbox=replies[0],
        sequenced=replies[1] is not None,
        feed=replies[2],
        group=archivers_group(replies[3]),
        dead=replies[4],
        quarantined=quarantined,
    ):
        yield finding


def _fields(reply: Reply) -> dict[str, str]:
    """`name:value` lines; empty when the server refused."""
    if not isinstance(reply, bytes):
        return {}
    lines = reply.decode("utf-8", "replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _pairs(reply: Reply) -> dict[str, str]:
    if not isinstance(reply, Sequence) or isinstance(reply, bytes):
        return {}
    texts = [part.decode("utf-8", "replace") for part in reply]
    return dict(zip(texts[::2], texts[1::2], strict=True))
