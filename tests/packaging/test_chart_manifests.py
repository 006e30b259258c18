"""The chart's objects against Kubernetes' schemas, strictly: an unknown field is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from support.chart import CASES, Object, needed, objects, values_of

kubernetes_validate = needed("kubernetes_validate")

VERSIONS: Final = ("1.27", "1.30", "1.33", "1.37")
OPERATORS: Final = ("monitoring.coreos.com/", "keda.sh/")

ENDPOINT: Final = {
    "port",
    "path",
    "interval",
    "scrapeTimeout",
    "relabelings",
    "metricRelabelings",
}
"""Fields below are those of the operators' CRDs that the chart uses."""

CUSTOM: Final[dict[str, dict[str, set[str]]]] = {
    "ServiceMonitor": {
        "spec": {"jobLabel", "namespaceSelector", "selector", "endpoints"},
        "spec.endpoints": ENDPOINT,
    },
    "PodMonitor": {
        "spec": {"jobLabel", "namespaceSelector", "selector", "podMetricsEndpoints"},
        "spec.podMetricsEndpoints": ENDPOINT,
    },
    "PrometheusRule": {
        "spec": {"groups"},
        "spec.groups": {"name", "rules"},
        "spec.groups.rules": {"alert", "record", "expr", "for", "labels", "annotations"},
    },
    "ScaledObject": {
        "spec": {
            "scaleTargetRef",
            "minReplicaCount",
            "maxReplicaCount",
            "pollingInterval",
            "cooldownPeriod",
            "fallback",
            "advanced",
            "triggers",
        },
        "spec.scaleTargetRef": {"apiVersion", "kind", "name"},
        "spec.fallback": {"failureThreshold", "replicas"},
        "spec.advanced": {"horizontalPodAutoscalerConfig"},
        "spec.triggers": {"type", "metadata", "authenticationRef", "metricType"},
    },
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_objects_are_valid(case: Path, version: str) -> None:
    for each in objects(values_of(case)):
        if not each["apiVersion"].startswith(OPERATORS):
            kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_operators_objects_have_known_fields_only(case: Path) -> None:
    for each in objects(values_of(case)):
        if each["apiVersion"].startswith(OPERATORS):
            assert unknown_fields(each) == set()


def test_an_unknown_field_would_be_noticed() -> None:
    deployment = next(each for each in objects() if each["kind"] == "Deployment")
    deployment["spec"]["replicass"] = 2

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, VERSIONS[0], strict=True)


def test_trigger_metadata_is_text() -> None:
    """KEDA refuses numbers."""
    values = {
        "keda": {"enabled": True, "prometheus": {"serverAddress": "http://p", "threshold": 9}}
    }
    (scaled,) = [each for each in objects(values) if each["kind"] == "ScaledObject"]

    (trigger,) = scaled["spec"]["triggers"]

    assert all(isinstance(value, str) for value in trigger["metadata"].values())


def unknown_fields(each: Object) -> set[str]:
    """Fields of an operator's object that its CRD doesn't have."""
    found: set[str] = set()
    for path, known in CUSTOM[each["kind"]].items():
        for node in _nodes(each, path.split(".")):
            found |= {f"{path}.{name}" for name in node.keys() - known}
    return found


def _nodes(node: Any, path: list[str]) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for inner in node for found in _nodes(inner, path)]
    if not path:
        return [node]
    return _nodes(node[path[0]], path[1:]) if path[0] in node else []
