"""Real trouble raises its alert in a real Prometheus, and the alert clears afterwards.

The rules are the chart's; only their windows and `for` are shortened to seconds.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from streams import RedisEventStore, StoreOptions, SubscriptionOptions
from support.chart import needed, the
from support.loaded_program import LoadedProgram
from support.prometheus import Prometheus
from support.redis_server import RedisServer, die_with_parent
from support.waiting import eventually_sync
from support.worker_process import PROGRAM, Installation, WorkerProcess

needed("yaml")

pytestmark = [pytest.mark.live, pytest.mark.slow]

UNSHARE = ("unshare", "--mount", "--map-root-user", "--propagation", "private")


def quick_rules(**thresholds: float) -> list[dict[str, Any]]:
    """The chart's groups, in seconds instead of minutes."""
    values = {"prometheusRule": {"enabled": True, "thresholds": thresholds}}
    groups: list[dict[str, Any]] = the("PrometheusRule", values)["spec"]["groups"]
    for group in groups:
        for rule in group["rules"]:
            rule["expr"] = re.sub(r"\[\d+m\]", "[6s]", rule["expr"])
            rule["expr"] = re.sub(r"offset \d+m", "offset 6s", rule["expr"])
            rule["expr"] = re.sub(r"time\(\) - \d+", "time() - 6", rule["expr"])
            if "for" in rule:
                rule["for"] = "2s"
    return groups


@pytest.fixture
def server(servers: Any, tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis to stop, with an append-only file."""
    started = RedisServer(servers.binary(servers.newest()), tmp_path / "redis", aof="always")
    yield started.start()
    started.kill()


def send_rounds(server: RedisServer, count: int, *, first: int = 0) -> None:
    """XADD rounds of ten events each."""
    with server.admin() as redis:
        for number in range(first, first + count):
            for step in range(10):
                kind = "task.completed" if step == 9 else "message.added"
                payload = json.dumps({"content": "x" * 2_000})
                fields = {"stream": f"s-{number % 3}", "type": kind, "payload": payload}
                redis.xadd("ares:{default}:inbox", fields)


def becomes(prometheus: Prometheus, alert: str, state: str, within_s: float = 40) -> None:
    """Wait until the alert is in that state."""
    eventually_sync(
        lambda: prometheus.alert_states()[alert] == state, within_s, hint=f"{alert} is {state}"
    )


def test_killed_workers_are_told_and_their_return_clears_it(
    server: RedisServer, tmp_path: Path, loaded: LoadedProgram
) -> None:
    installation = Installation(server.url, tmp_path / "rounds", loaded=loaded)
    with ExitStack() as stack:
        workers = [stack.enter_context(installation.worker()) for _ in range(2)]
        targets = {f"pod-{number}": worker.port for number, worker in enumerate(workers)}
        prometheus = stack.enter_context(Prometheus(tmp_path, targets, quick_rules()))
        becomes(prometheus, "AresWorkersDown", "inactive")

        for worker in workers:
            worker.kill()

        becomes(prometheus, "AresWorkersDown", "firing")
        again = WorkerProcess(installation)
        again.port = workers[0].port
        stack.enter_context(again)
        becomes(prometheus, "AresWorkersDown", "inactive")


def test_a_stopped_redis_is_told_and_its_return_clears_it(
    server: RedisServer, tmp_path: Path, loaded: LoadedProgram
) -> None:
    installation = Installation(server.url, tmp_path / "rounds", loaded=loaded)
    with ExitStack() as stack:
        worker = stack.enter_context(installation.worker()).wait_ready()
        targets = {"pod-0": worker.port}
        prometheus = stack.enter_context(Prometheus(tmp_path, targets, quick_rules()))
        becomes(prometheus, "AresRedisUnreachable", "inactive")

        server.kill()

        becomes(prometheus, "AresRedisUnreachable", "firing")
        assert worker.get("/livez")[0] == 200
        status, said = worker.get("/readyz")
        assert status == 503
        assert "redis" in json.loads(said)["reasons"]
        assert prometheus.alert_states()["AresSequencerUnheld"] == "inactive"
        server.start()
        becomes(prometheus, "AresRedisUnreachable", "inactive")


@contextmanager
def worker_on_a_small_volume(
    installation: Installation, port: int, size: str
) -> Iterator[Callable[[str], None]]:
    """A worker whose archive is a tmpfs of `size`; yields a function that resizes it."""
    archive = installation.archive
    archive.mkdir()
    mount = f"mount -t tmpfs -o size={size} tmpfs {archive} && exec "
    command = " ".join([*PROGRAM, "run", "--metrics-port", str(port)])
    log = (archive.parent / "small.log").open("w")
    process = subprocess.Popen(
        [*UNSHARE, "sh", "-c", mount + command],
        env=installation.environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
    )

    def resize(to: str) -> None:
        inside = (
            "nsenter",
            f"--target={process.pid}",
            "--user",
            "--mount",
            "--preserve-credentials",
        )
        subprocess.run([*inside, "mount", "-o", f"remount,size={to}", str(archive)], check=True)

    try:
        yield resize
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(40)
        log.close()


def test_a_full_volume_is_told_and_room_clears_it(
    server: RedisServer, tmp_path: Path, loaded: LoadedProgram
) -> None:
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    installation = Installation(server.url, tmp_path / "rounds", loaded=loaded)
    port = WorkerProcess(installation).port
    with ExitStack() as stack:
        resize = stack.enter_context(worker_on_a_small_volume(installation, port, "64k"))
        targets = {"pod-0": port}
        prometheus = stack.enter_context(Prometheus(tmp_path, targets, quick_rules()))

        send_rounds(server, 40)

        becomes(prometheus, "AresArchiveFailing", "firing")
        (failing,) = prometheus.query('ALERTS{alertname="AresArchiveFailing",alertstate="firing"}')
        assert failing["metric"]["reason"] == "no_space"
        becomes(prometheus, "AresArchiveVolumeFilling", "firing")
        resize("64m")
        becomes(prometheus, "AresArchiveFailing", "inactive")
        becomes(prometheus, "AresArchiveVolumeFilling", "inactive")
        archived = "sum(ares_rounds_archived_total)"
        eventually_sync(lambda: prometheus.query(archived)[0]["value"][1] == "40", 30)


@contextmanager
def sleeping_subscriber(server: RedisServer, name: str) -> Iterator[None]:
    """Somebody subscribed, and never asks for anything."""
    begun, over = threading.Event(), threading.Event()
    options = StoreOptions(subscriptions=SubscriptionOptions(report_s=1))

    async def sleep() -> None:
        async with (
            await RedisEventStore.connect(server.url, options=options) as store,
            store.subscribe(name=name),
        ):
            begun.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(sleep()), daemon=True)
    thread.start()
    assert begun.wait(20)
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def busy_agents(server: RedisServer) -> Iterator[None]:
    """A few rounds a second until the block is left."""
    over = threading.Event()

    def work() -> None:
        rounds = itertools.count()
        while not over.wait(0.2):
            send_rounds(server, 1, first=next(rounds))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_sleeping_subscriber_is_told_and_its_end_clears_it(
    server: RedisServer, tmp_path: Path, loaded: LoadedProgram
) -> None:
    """Its reports, the worker's /metrics, the rule and the alert, from end to end."""
    installation = Installation(server.url, tmp_path / "rounds", loaded=loaded)
    with ExitStack() as stack:
        worker = stack.enter_context(installation.worker()).wait_ready()
        prometheus = stack.enter_context(
            Prometheus(tmp_path, {"pod-0": worker.port}, quick_rules())
        )
        becomes(prometheus, "AresSubscribersDropping", "inactive")

        with sleeping_subscriber(server, "sleeper"), busy_agents(server):
            becomes(prometheus, "AresSubscribersDropping", "firing")
            (firing,) = prometheus.query(
                'ALERTS{alertname="AresSubscribersDropping",alertstate="firing"}'
            )
            assert firing["metric"]["subscriber"] == "sleeper"

        becomes(prometheus, "AresSubscribersDropping", "inactive")
        (listed,) = installation.json("subscribers", "list")
        assert listed["name"] == "sleeper"
        assert listed["dropped"] > 0


def test_a_lagging_compaction_is_told_and_catching_up_clears_it(
    server: RedisServer, tmp_path: Path, loaded: LoadedProgram
) -> None:
    """The summarizer hangs; then one that doesn't takes over."""
    (tmp_path / "slow_rules.py").write_text(
        "import asyncio\n\nasync def summarize(*_):\n    await asyncio.sleep(3600)\n"
    )
    small = {"ARES_COMPACTION_THRESHOLD": "40", "ARES_COMPACTION_KEEP_RECENT": "10"}
    hanging = {
        **small,
        "ARES_COMPACTION_SUMMARIZER": "slow_rules:summarize",
        "ARES_COMPACTION_SUMMARIZER_TIMEOUT": "1h",
        "ARES_WORKER_DRAIN_TIMEOUT": "3s",
        "PYTHONPATH": str(tmp_path),
    }
    rules = quick_rules(compactionLagEvents=50)
    with ExitStack() as stack:
        slow = WorkerProcess(Installation(server.url, tmp_path / "rounds", hanging))
        prometheus = stack.enter_context(Prometheus(tmp_path, {"pod-0": slow.port}, rules))
        send_rounds(server, 60)
        with slow:
            becomes(prometheus, "AresCompactionLagHigh", "firing", within_s=60)

        quick = WorkerProcess(Installation(server.url, tmp_path / "rounds", small, loaded))
        quick.port = slow.port
        stack.enter_context(quick)
        becomes(prometheus, "AresCompactionLagHigh", "inactive", within_s=60)
