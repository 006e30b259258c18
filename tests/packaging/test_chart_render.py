"""What Helm itself makes of the chart: it renders, or it refuses in words."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.chart import CASES, CHART, REFUSED, needed, objects, refusal, render, values_of

helm = needed("helm_python")
yaml = needed("yaml")

by_name = pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
SCHEMA = json.loads((CHART / "values.schema.json").read_text("utf-8"))
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
LIMITS = {"CronJob": 52, "Service": 63, "Deployment": 63, "Pod": 63}


@by_name
def test_each_case_lints_without_a_remark(case: Path) -> None:
    report = helm.lint(str(CHART), values_of(case), strict=True, kube_version="v1.33.0")

    assert [message for message in report["messages"] if message["severity"] > 0] == []


@by_name
def test_each_case_renders_alike_every_time_and_on_upgrade(case: Path) -> None:
    """Chance or the clock in a template would restart pods with every upgrade."""
    first = render(values_of(case))

    assert render(values_of(case)) == first
    upgraded = render(values_of(case), is_upgrade=True, is_install=False, revision=2)
    assert upgraded == first


@by_name
def test_no_name_gets_too_long(case: Path) -> None:
    for each in objects(values_of(case), name="r" * 53, namespace="n" * 63):
        name = each["metadata"]["name"]
        assert len(name) <= LIMITS.get(each["kind"], 253), name


@by_name
def test_objects_of_one_kind_differ_in_name(case: Path) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in objects(values_of(case))]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", REFUSED, ids=lambda path: path.stem)
def test_bad_values_are_refused_in_words(case: Path) -> None:
    words = case.read_text("utf-8").splitlines()[0].removeprefix("# error:").strip()

    assert words in refusal(values_of(case))


def test_every_guard_has_a_case() -> None:
    """But for one: offline nothing tells which APIs a cluster has."""
    guards = (CHART / "templates" / "_guards.tpl").read_text("utf-8")
    messages = re.findall(r'append \$problems \(?(?:printf )?"([^"]+)"', guards)
    said = "\n".join(refusal(values_of(case)) for case in REFUSED)

    def never_said(message: str) -> bool:
        return not re.search(re.sub("%[vs]", ".+", re.escape(message)), said)

    assert [message[:33] for message in messages if never_said(message)] == [
        "this cluster doesn't know %s: ins"
    ]


def test_all_that_is_wrong_is_said_at_once() -> None:
    words = refusal(
        {
            "replicas": 3,
            "persistence": {"accessModes": ["ReadWriteOnce"]},
            "redis": {"url": "embedded"},
        }
    )

    assert "ReadWriteOnce" in words
    assert "embedded" in words


def test_a_url_in_an_existing_secret_needs_none_among_the_values() -> None:
    redis = {"url": None, "existingSecret": "redis"}
    values = {"redis": redis, "networkPolicy": {"redis": {"ports": [6379]}}}

    assert not [each for each in objects(values) if each["kind"] == "Secret"]
    assert "Look at" in render(values)["ares-worker/templates/NOTES.txt"]


def test_without_any_value_it_installs_and_needs_no_operator() -> None:
    groups = {each["apiVersion"] for each in objects({})}

    assert not {group for group in groups if "coreos" in group or "keda" in group}


def test_schema_and_defaults_name_the_same_values() -> None:
    declared = set(_paths_of_schema(SCHEMA["properties"])) - {"global", "enabled"}
    given = set(_paths_of_values(DEFAULTS, declared))

    assert given == declared


def test_the_schema_catches_a_typo_at_every_level() -> None:
    open_objects = [path for path, node in _objects_of(SCHEMA) if not _closed(node)]

    assert open_objects == []


def test_it_works_as_a_subchart(tmp_path: Path) -> None:
    """Helm hands a subchart `global`, and its parent's condition as `enabled`."""
    parent = tmp_path / "parent"
    shutil.copytree(CHART, parent / "charts" / "ares-worker")
    (parent / "Chart.yaml").write_text(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n"
        "  - {name: ares-worker, version: '*', condition: ares-worker.enabled}\n"
    )
    values = {"global": {"imageRegistry": "any"}, "ares-worker": {"enabled": True, "replicas": 3}}

    made = objects(values, chart=parent)

    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 3
    assert objects({"ares-worker": {"enabled": False}}, chart=parent) == []


@by_name
def test_notes_tell_no_secret(case: Path) -> None:
    notes = next(text for path, text in render(values_of(case)).items() if path.endswith(".txt"))

    assert "rollout status" in notes
    assert "correct-horse" not in notes
    assert "battery-staple" not in notes


def test_notes_warn_of_what_would_lose_data() -> None:
    values = {"replicas": 1, "persistence": {"enabled": False}, "verify": {"enabled": False}}

    notes = render(values)["ares-worker/templates/NOTES.txt"]

    assert "the archive is lost with its pod" in notes
    assert "nobody is told when archiving stops" in notes
    assert "image.repository is the default, which no registry has" in notes


def test_the_notes_of_an_image_of_ones_own_say_nothing_of_the_default() -> None:
    values = {"image": {"registry": "registry.example.com"}}

    notes = render(values)["ares-worker/templates/NOTES.txt"]

    assert "which no registry has" not in notes


def _paths_of_schema(properties: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, node in properties.items():
        if node.get("additionalProperties") is False and node["properties"]:
            if f"{prefix}{name}" == "prometheusRule.overrides":
                yield f"{prefix}{name}"
            else:
                yield from _paths_of_schema(node["properties"], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _paths_of_values(values: dict[str, Any], leaves: set[str], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        if path not in leaves and isinstance(value, dict):
            yield from _paths_of_values(value, leaves, f"{path}.")
        else:
            yield path


def _objects_of(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            yield path, node
        for name, inner in node.items():
            yield from _objects_of(inner, f"{path}/{name}")


def _closed(node: dict[str, Any]) -> bool:
    """Closed, or a piece of Kubernetes' own API, which the API server checks."""
    kubernetes = ("strategy", "requests", "limits")
    return node.get("additionalProperties") is False or any(
        node is SCHEMA["properties"].get(name) for name in kubernetes
    )
