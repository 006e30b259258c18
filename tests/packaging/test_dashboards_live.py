"""Every query of every dashboard, answered by a real Prometheus that scrapes real workers."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.chart import ROOT, needed, the
from support.loaded_program import LoadedProgram
from support.prometheus import Prometheus
from support.promql import metrics_of, series_types
from support.redis_server import RedisServer
from support.waiting import eventually_sync
from support.worker_process import Installation, WorkerProcess

needed("yaml")
needed("promql_parser")

pytestmark = pytest.mark.live

BOARDS = [json.loads(path.read_text()) for path in (ROOT / "ops" / "dashboards").glob("*.json")]
PANELS = [panel for board in BOARDS for panel in board["panels"] if panel["type"] != "row"]
VARIABLES = [each for board in BOARDS for each in board["templating"]["list"]][1:]


def concrete(query: str) -> str:
    """The query as Grafana sends it with all values chosen."""
    query = re.sub(r"\$__\w+", "15s", query)
    return re.sub(r'=~"\$\w+"', '=~".*"', query)


def numbers(prometheus: Prometheus, query: str) -> list[float]:
    """Values of a query's result that are numbers."""
    values = [float(series["value"][1]) for series in prometheus.query(query)]
    return [value for value in values if value == value]


class Load:
    """A stream of rounds into the inbox until the block is left."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with self._server.admin() as redis:
            for number in itertools.count():
                kind = "message.added" if number % 10 else "task.completed"
                fields = {
                    "stream": f"session-{number // 10 % 7}",
                    "type": kind,
                    "payload": json.dumps({"content": "x" * 100}),
                }
                redis.xadd("ares:{default}:inbox", fields)
                if self._stop.wait(0.01):
                    return


@pytest.fixture(scope="module")
def system(
    servers: Any, loaded: LoadedProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Two workers under load, verified once, and a Prometheus with the chart's rules."""
    folder = tmp_path_factory.mktemp("live")
    groups = the("PrometheusRule", {"prometheusRule": {"enabled": True}})["spec"]["groups"]
    with ExitStack() as stack:
        server = RedisServer(servers.binary(servers.newest()), folder / "redis").start()
        stack.callback(server.kill)
        small = {"ARES_COMPACTION_THRESHOLD": "40", "ARES_COMPACTION_KEEP_RECENT": "10"}
        installation = Installation(server.url, folder / "rounds", small, loaded)
        workers = [stack.enter_context(WorkerProcess(installation)) for _ in range(2)]
        for worker in workers:
            worker.wait_ready()
        targets = {f"pod-{number}": worker.port for number, worker in enumerate(workers)}
        stack.enter_context(Load(server))
        eventually_sync(lambda: len(installation.rounds()) > 3, 30, hint="rounds are archived")
        installation.call("verify")
        yield stack.enter_context(Prometheus(folder, targets, groups))


def test_every_query_returns_numbers(system: Prometheus) -> None:
    queries = {concrete(each["expr"]) for panel in PANELS for each in panel["targets"]}

    def unanswered() -> set[str]:
        return {query for query in queries if not numbers(system, query)}

    eventually_sync(lambda: unanswered() == set(), 60, hint=f"{unanswered()}")


def test_every_legend_is_a_label_of_the_result(system: Prometheus) -> None:
    eventually_sync(lambda: system.query("ares_verify_findings"), 30)
    for panel in PANELS:
        for target in panel["targets"]:
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                found = system.query(concrete(target["expr"]))
                assert all(label in series["metric"] for series in found), panel["title"]


def test_every_variable_has_values(system: Prometheus) -> None:
    for variable in VARIABLES:
        if variable["type"] == "query":
            inner = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert inner
            series, label = concrete(inner[1]), inner[2]
            assert eventually_sync(lambda: system.label_values(label, series), 30), label  # noqa: B023


def test_no_alert_is_even_pending_on_a_healthy_fleet(system: Prometheus) -> None:
    long_enough = "count_over_time(up[1m]) > 6"
    eventually_sync(lambda: len(system.query(long_enough)) == 2, 60, hint="some evaluations")

    states = system.alert_states()

    assert len(states) > 15
    assert {name: state for name, state in states.items() if state != "inactive"} == {}


def test_a_worker_exports_no_more_series_than_promised(system: Prometheus) -> None:
    own, a_tenant, a_subscriber = 400, 14, 4

    (count,) = eventually_sync(lambda: numbers(system, 'count({pod="pod-0"})'), 30)

    assert count <= own + a_tenant + a_subscriber


def test_a_shared_gauge_is_not_larger_for_two_workers(system: Prometheus) -> None:
    """Both export it; a sum would say twice as much."""
    shown = next(panel for panel in PANELS if panel["title"] == "Consumers")

    def raw() -> list[float]:
        return numbers(system, "ares_feed_consumers")

    eventually_sync(lambda: len(raw()) == 2, 30, hint="both are scraped")
    (consumers,) = numbers(system, concrete(shown["targets"][0]["expr"]))

    assert consumers == max(raw())


def test_a_fresh_worker_exports_every_metric_that_anybody_asks_for(
    servers: Any, loaded: LoadedProgram, tmp_path: Path
) -> None:
    """Before anything has happened: no panel and no rule waits for a first event."""
    rules = the("PrometheusRule", {"prometheusRule": {"enabled": True}})["spec"]["groups"]
    queries = {each["expr"] for panel in PANELS for each in panel["targets"]}
    queries |= {rule["expr"] for group in rules for rule in group["rules"]}
    asked = set().union(*map(metrics_of, queries)) - {"up"}
    server = RedisServer(servers.binary(servers.newest()), tmp_path / "redis").start()
    try:
        with Installation(server.url, tmp_path / "rounds", loaded=loaded).worker() as worker:
            worker.wait_ready()

            def missing() -> set[str]:
                return asked - series_types(worker.get("/metrics")[1]).keys()

            eventually_sync(lambda: missing() == set(), 20, hint=f"{sorted(missing())}")
    finally:
        server.kill()
