"""Which series of a real worker move when everything happens to it that happens to workers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest

from streams.event import Event
from streams.redis_store import RedisEventStore
from support.waiting import eventually

pytestmark = pytest.mark.slow

SETTINGS = {
    "ARES_COMPACTION_THRESHOLD": "40",
    "ARES_COMPACTION_KEEP_RECENT": "10",
    "ARES_METRICS_FACTS_TTL": "100ms",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_SEGMENTS_ENABLED": "true",
}

STILL_BECAUSE: Final = {
    "no producer of the SDK reports its refusals to a worker": {
        'ares_append_rejections_total{reason="invalid"}',
        'ares_append_rejections_total{reason="too_large"}',
        'ares_append_rejections_total{reason="unknown_outcome"}',
    },
    "no log was touched by a stranger": {
        'ares_append_rejections_total{reason="corrupt_stream"}',
        'ares_events_lost_total{reason="failover"}',
        'ares_events_lost_total{reason="foreign_delete"}',
        'ares_events_lost_total{reason="trimmed_unread"}',
    },
    "no entry was that bad": {
        'ares_events_dead_lettered_total{reason="encoding"}',
        'ares_events_dead_lettered_total{reason="limits"}',
        'ares_events_dead_lettered_total{reason="poison"}',
        'ares_events_dead_lettered_total{reason="too_large"}',
    },
    "no other worker died": {"ares_feed_claimed_total"},
    "no stream was idle for days": {'ares_rounds_archived_total{outcome="unfinished"}'},
    "memory sufficed, and no summarizer of one's own is set": {
        'ares_compaction_runs_total{result="relief"}',
        "ares_summarizer_failures_total",
    },
    "no more than fifty subscribe": {
        'ares_subscriber_delivered_events_total{subscriber="other"}',
        'ares_subscriber_dropped_events_total{subscriber="other"}',
    },
    "its lease was never in danger": {
        'ares_lease_changes_total{change="lost",lease="sequencer"}',
        'ares_lease_changes_total{change="released",lease="sequencer"}',
    },
}
SOMETIMES: Final = re.compile(
    # What depends on chance, what a sound volume never shows, what is switched off, and gauges
    # that are 0 when all is well.
    r"ares_(archive_errors_total|segment_refusals|redis_errors_total|worker_state|build_info"
    r"|compaction_runs_total\{result=\"(conflict|error)\"\}|inflight_events|inbox_|feed_lag"
    r"|feed_pending|feed_oldest|compaction_lag|verify_findings|subscriber_lag)"
)


def numbers(text: str) -> dict[str, float]:
    """Our series and their values; histograms by their counts."""
    lines = [line for line in text.splitlines() if line.startswith("ares_")]
    found = {series: float(value) for series, value in (line.rsplit(" ", 1) for line in lines)}
    return {s: v for s, v in found.items() if not re.search(r"_(bucket|sum)(\{|$)", s)}


@contextlib.asynccontextmanager
async def busy(store: RedisEventStore) -> AsyncIterator[None]:
    """Both doors at the same streams, repeats, a bad entry now and then, a sleeping subscriber."""

    stop = asyncio.Event()  # a flag: cancelled at the wrong moment, redis-py goes on

    async def produce() -> None:
        inbox, client = store.keys.inbox, store.client
        for number in itertools.count():
            end = {9: "task.completed", 19: "task.failed"}.get(number % 20)
            for stream in ("s-1", "s-2"):
                fields = {"stream": stream, "type": end or "message.added", "id": f"{number}"}
                fields["payload"] = '{"role": "user", "content": "Use Redis Streams."}'
                await client.xadd(inbox, fields)
                await client.xadd(inbox, fields)
                await store.append(stream, [Event("message.added")])
            if end:
                await client.xadd(inbox, {"stream": "s-1"})
            if stop.is_set():
                return

    async def sleep() -> None:
        async with store.subscribe(name="audit", buffer=1) as subscription:
            async for _ in subscription:
                if await pause(stop, 0.5):
                    return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(produce())
        tasks.create_task(sleep())
        try:
            yield
        finally:
            stop.set()


async def pause(stop: asyncio.Event, seconds: float) -> bool:
    """Whether `stop` was set within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            return await stop.wait()
    except TimeoutError:
        return False


async def test_every_series_moves_but_those_whose_cause_is_missing(start_server, install, tmp_path):
    server = start_server()
    with server.admin() as admin:
        admin.acl_setuser("worker", enabled=True, nopass=True, keys=["*"], categories=["+@all"])
    segments = str(tmp_path / "segments")
    url = server.url.replace("//", "//worker:any@")
    installation = install(url, **SETTINGS, ARES_SEGMENTS_BASE=segments)
    still = set().union(*STILL_BECAUSE.values())
    with installation.worker() as worker:
        await asyncio.to_thread(worker.wait_ready)

        async def unmoved() -> set[str]:
            _, text = await asyncio.to_thread(worker.get, "/metrics")
            found = numbers(text)
            return {s for s, value in found.items() if not value and not SOMETIMES.match(s)}

        async with await RedisEventStore.connect(server.url) as store, busy(store):
            await asyncio.to_thread(installation.call, "verify")
            with server.admin() as admin:
                admin.execute_command("CLIENT", "KILL", "USER", "worker")
            await eventually(lambda: settled(unmoved, still), 60)

        assert await unmoved() == still


async def settled(unmoved: Callable[[], Awaitable[set[str]]], still: set[str]) -> bool:
    """Whether nothing is unmoved that should move; says what is."""
    missing = await unmoved() - still
    assert not missing, sorted(missing)
    return True
