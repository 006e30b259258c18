"""Render the Helm chart offline, by Helm itself, and look into what comes out.

The packages are those of the extra `chart`. Where they are missing, tests skip at a desk and fail
in CI.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "ares-worker"
CASES = sorted((CHART / "ci").glob("*-values.yaml"))
REFUSED = sorted((CHART / "ci" / "bad").glob("*.yaml"))

Object = dict[str, Any]


def missing(what: str) -> None:
    """Skip at a desk; fail where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed, and CI must not skip it")
    pytest.skip(f"{what} is not installed", allow_module_level=True)


def needed(module: str) -> Any:
    """The module of that name."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing(module)


def program(name: str) -> str:
    """Path of a program, as `promtool`."""
    path = shutil.which(name)
    if path is None:
        missing(name)
    return str(path)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`, as Helm lays one values file over another."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        result[key] = merged(below, value) if both else value
    return result


def values_of(path: Path) -> dict[str, Any]:
    """The values of a case."""
    loaded: dict[str, Any] = needed("yaml").safe_load(path.read_text("utf-8")) or {}
    return loaded


def render(values: Mapping[str, Any] | None = None, **options: Any) -> dict[str, str]:
    """Template path → text. Options are Helm's: `name`, `namespace`, `is_upgrade`…"""
    with needed("helm_python").Chart.load(str(options.pop("chart", CHART))) as chart:
        rendered: dict[str, str] = chart.render(
            dict(values or {}), **{"name": "rel", "namespace": "ns", **options}
        )
    return rendered


def refusal(values: Mapping[str, Any]) -> str:
    """Why Helm refuses `values`; fails the test where it doesn't."""
    helm = needed("helm_python")
    with pytest.raises(helm.HelmError) as caught:
        render(values)
    return str(caught.value)


def objects(values: Mapping[str, Any] | None = None, **options: Any) -> list[Object]:
    """Every object that these values make; the caller may change them."""
    found: list[Object] = copy.deepcopy(_objects(json.dumps([values or {}, options], default=str)))
    return found


@cache
def _objects(asked: str) -> list[Object]:
    values, options = json.loads(asked)
    return [
        document
        for path, text in render(values, **options).items()
        if not path.endswith(".txt")
        for document in needed("yaml").safe_load_all(text)
        if document
    ]


def of_kind(kind: str, values: Mapping[str, Any] | None = None, **options: Any) -> list[Object]:
    """Those objects that are of `kind`."""
    return [each for each in objects(values, **options) if each["kind"] == kind]


def the(kind: str, values: Mapping[str, Any] | None = None, **options: Any) -> Object:
    """The one object of `kind`."""
    (only,) = of_kind(kind, values, **options)
    return only


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that an object makes."""

    owner: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """Init containers and containers."""
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    @property
    def main(self) -> Mapping[str, Any]:
        """The container of ares-worker itself."""
        found: Mapping[str, Any] = self.spec["containers"][0]
        return found


def pods(made: list[Object]) -> Iterator[Pod]:
    """Pods of all objects."""
    for each in made:
        spec = each.get("spec", {})
        name = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] == "Pod":
            yield Pod(name, each["metadata"]["labels"], spec)
        elif each["kind"] == "Deployment":
            yield Pod(name, spec["template"]["metadata"]["labels"], spec["template"]["spec"])
        elif each["kind"] == "CronJob":
            template = spec["jobTemplate"]["spec"]["template"]
            yield Pod(name, template["metadata"]["labels"], template["spec"])


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether a selector of equal labels takes a pod with `labels`."""
    return all(labels.get(name) == value for name, value in selector.items())
