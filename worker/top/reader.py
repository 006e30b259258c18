"""Looks at everything `top` shows, and changes nothing; of many streams only at the newest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from streams.feed import ARCHIVERS
from streams.keys import Keys
from streams.lease import owner_of
from streams.overview import Overview
from streams.redis_store import RedisEventStore
from streams.wire import Command, Reply, Wires, as_map, checked
from worker.compacting.plan import CompactionPolicy
from worker.sequencing.sequencer import LEASE as SEQUENCER
from worker.shared_facts import SharedFactsReader
from worker.upkeep.janitor import LEASE as JANITOR

from .sample import LeaseLook, RedisLook, Sample, TenantLook, WorkerLook

LEASES: Final = (SEQUENCER, JANITOR)


class TopReader:
    """Samples of the given tenants, on connections of its own beside those of the stores."""

    def __init__(
        self,
        stores: Sequence[RedisEventStore],
        policy: CompactionPolicy,
        *,
        most_streams: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stores, self._most_streams, self._monotonic = stores, most_streams, monotonic
        self._clock = stores[0].clock
        self._facts = SharedFactsReader(stores, policy, self._clock, monotonic=monotonic)

    async def read(self) -> Sample:
        """One look. Raises `StoreUnavailable`."""
        facts = (await self._facts.read()).tenants
        tenants: list[TenantLook] = []
        for store in self._stores:
            overview = Overview(store.wires, store.keys)
            streams = [look async for look in overview.streams(limit=self._most_streams)]
            workers, leases = await _workers_and_leases(store.wires, store.keys)
            tenants.append(
                TenantLook(
                    name=store.tenant,
                    facts=facts[store.tenant],
                    workers=workers,
                    leases=leases,
                    streams=streams,
                    stream_count=(await overview.tenant()).streams,
                )
            )
        redis = await _redis(self._stores[0].wires)
        return Sample(self._clock(), self._monotonic(), redis, tenants)

    async def close(self) -> None:
        """Close its connections; the stores stay open."""
        await self._facts.close()


async def _workers_and_leases(wires: Wires, keys: Keys) -> tuple[list[WorkerLook], list[LeaseLook]]:
    packet: list[Command] = [("XINFO", "CONSUMERS", keys.feed, ARCHIVERS)]
    for name in LEASES:
        packet += [("GET", keys.lease(name)), ("PTTL", keys.lease(name))]
    async with wires.borrow() as wire:
        consumers, *held = await wire.exchange(packet)
    leases = [
        LeaseLook(name, owner_of(checked(value)), max(checked(left_ms), 0))
        for name, value, left_ms in zip(LEASES, held[::2], held[1::2], strict=True)
    ]
    return _workers(consumers), leases


def _workers(reply: Reply) -> list[WorkerLook]:
    """From XINFO CONSUMERS; nobody, where there is no feed or group yet."""
    found: list[WorkerLook] = []
    for raw in reply if isinstance(reply, list) else []:
        facts = as_map(raw)
        name = facts[b"name"].decode(errors="replace")
        found.append(WorkerLook(name, facts[b"pending"], facts[b"idle"]))
    return sorted(found, key=lambda worker: worker.name)


async def _redis(wires: Wires) -> RedisLook:
    """What INFO says, section by section: older servers take one at a time."""
    sections: list[Command] = [("INFO", "server"), ("INFO", "memory"), ("INFO", "stats")]
    async with wires.borrow() as wire:
        replies = await wire.exchange(sections)
    lines = [line for reply in replies if isinstance(reply, bytes) for line in reply.splitlines()]
    said = dict(line.decode(errors="replace").split(":", 1) for line in lines if b":" in line)

    def number(name: str) -> int | None:
        return int(said[name]) if said.get(name, "").isdigit() else None

    return RedisLook(
        version=said.get("redis_version"),
        uptime_s=number("uptime_in_seconds"),
        memory_bytes=number("used_memory"),
        max_bytes=number("maxmemory"),
        calls_per_s=number("instantaneous_ops_per_sec"),
    )
