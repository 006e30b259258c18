"""The dashboards: Grafana's model, layout, variables, and queries that can be answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from support.chart import CHART, ROOT, needed, of_kind
from support.promql import (
    exposition,
    metrics_of,
    parsed,
    selectors_of,
    series_types,
    summed_shared,
)

needed("promql_parser")

Panel = dict[str, Any]

FOLDER = ROOT / "ops" / "dashboards"
BOARDS = {path.name: json.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.json")}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNBOUNDED = {"stream", "stream_id", "event_id", "consumer", "subscriber_id", "key"}
TYPES = series_types(exposition())


def panels(board: dict[str, Any]) -> list[Panel]:
    """All panels but rows."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def datasources(node: Any) -> Iterator[Any]:
    """Every data source that is named anywhere."""
    if isinstance(node, dict):
        yield from (node[key] for key in node if key == "datasource")
    for inner in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from datasources(inner)


def every_panel() -> Iterator[Any]:
    for name, board in sorted(BOARDS.items()):
        for panel in panels(board):
            yield pytest.param(panel, id=f"{name}-{panel['title']}")


def queries() -> Iterator[Any]:
    for name, board in sorted(BOARDS.items()):
        for panel in panels(board):
            for target in panel["targets"]:
                yield pytest.param(target["expr"], id=f"{name}-{panel['title']}-{target['refId']}")


each_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS.keys())
each_panel = pytest.mark.parametrize("panel", list(every_panel()))
each_query = pytest.mark.parametrize("query", list(queries()))


@each_board
def test_grafana_understands_every_key(board: dict[str, Any]) -> None:
    model = needed("grafana_foundation_sdk.models.dashboard")
    encoder = needed("grafana_foundation_sdk.cog.encoder")

    known = json.loads(encoder.JSONEncoder().encode(model.Dashboard.from_json(board)))

    assert {key for key, value in board.items() if value not in (None, [], {})} <= known.keys()


@each_board
def test_it_can_be_provisioned_and_imported(board: dict[str, Any]) -> None:
    """A fixed data source or an import's placeholder is 'not found' elsewhere."""
    assert board["editable"] is False
    assert board.get("id") is None
    assert 0 < len(board["uid"]) <= 40
    assert "__inputs" not in board
    assert "${DS_" not in json.dumps(board)
    sources = list(datasources(board))
    assert len(sources) > len(panels(board))
    assert all(source == DATASOURCE for source in sources)


def test_no_two_dashboards_share_a_uid() -> None:
    assert len({board["uid"] for board in BOARDS.values()}) == len(BOARDS)


@each_board
def test_variables_are_data_source_namespace_job_pod_and_tenant(board: dict[str, Any]) -> None:
    variables = {each["name"]: each for each in board["templating"]["list"]}

    assert list(variables) == ["datasource", "namespace", "job", "pod", "tenant"]
    for name, variable in variables.items():
        if name != "datasource":
            assert variable["refresh"] == 2
            assert variable["allValue"] == ".*"
            inner = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert inner
            assert inner[2] == name
            assert metrics_of(re.sub(r"\$\w+", "x", inner[1])) <= TYPES.keys()


@each_board
def test_panels_fill_the_grid_without_overlap(board: dict[str, Any]) -> None:
    ids = [panel["id"] for panel in board["panels"]]
    places = [panel["gridPos"] for panel in board["panels"]]

    assert len(set(ids)) == len(ids)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below


@each_board
def test_every_line_of_the_grid_is_full(board: dict[str, Any]) -> None:
    widths: dict[int, int] = {}
    for panel in board["panels"]:
        place = panel["gridPos"]
        widths[place["y"]] = widths.get(place["y"], 0) + place["w"]

    assert set(widths.values()) == {24}


@each_panel
def test_every_panel_has_title_description_unit_and_query(panel: Panel) -> None:
    assert panel["title"]
    assert panel["description"].endswith((".", "`."))
    assert panel["fieldConfig"]["defaults"]["unit"]
    references = [target["refId"] for target in panel["targets"]]
    assert references
    assert len(set(references)) == len(references)


@each_query
def test_every_query_reads_only_what_workers_export(query: str) -> None:
    assert metrics_of(query) <= TYPES.keys() | {"up"}


@each_query
def test_every_query_is_narrowed_to_job_and_namespace(query: str) -> None:
    selectors = selectors_of(query)

    assert selectors
    assert all('job=~"$job",namespace=~"$namespace"' in selector for selector in selectors)


@each_query
def test_counters_are_read_as_rates_and_gauges_are_not(query: str) -> None:
    for metric in metrics_of(query) & TYPES.keys():
        rated = re.search(rf"\b(rate|increase)\({metric}\b", query)
        is_counter = TYPES[metric] in ("counter", "histogram")
        assert bool(rated) == is_counter, metric
    windows = re.findall(r"\brate\([^()]*\[([^\]]+)\]", query)
    assert set(windows) <= {"$__rate_interval"}


@each_query
def test_no_query_adds_up_what_every_worker_exports(query: str) -> None:
    assert summed_shared(query) == set()


@each_query
def test_no_query_groups_by_an_unbounded_label(query: str) -> None:
    labels = re.findall(r"by \(([^)]*)\)", query)

    assert not {name.strip() for each in labels for name in each.split(",")} & UNBOUNDED
    parsed(query)


def test_every_exported_metric_is_on_a_panel() -> None:
    shown = {
        metric
        for board in BOARDS.values()
        for panel in panels(board)
        for target in panel["targets"]
        for metric in metrics_of(target["expr"])
    }
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    exported = {re.sub(r"_(bucket|sum|count)$", "", name) for name in TYPES if "ares_" in name}

    assert exported - families == set()


def test_the_chart_ships_the_same_dashboards() -> None:
    values = {"dashboards": {"enabled": True, "label": "find_me", "labelValue": "yes"}}
    maps = of_kind("ConfigMap", values)
    (shipped,) = [each for each in maps if "find_me" in each["metadata"]["labels"]]

    assert {name: json.loads(text) for name, text in shipped["data"].items()} == BOARDS
    assert shipped["metadata"]["labels"]["find_me"] == "yes"
    assert sum(len(text) for text in shipped["data"].values()) < 900_000
    assert sorted(path.name for path in (CHART / "dashboards").iterdir()) == sorted(BOARDS)


def test_links_lead_from_one_dashboard_to_the_other() -> None:
    for board in BOARDS.values():
        (link,) = board["links"]
        assert set(link["tags"]) <= set(board["tags"])
        assert link["includeVars"]
