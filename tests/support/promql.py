"""What a query asks for, by a real PromQL parser; and what a worker exports."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from ops.facts import FactsCache, in_thread
from ops.metrics import Metrics
from ops.metrics_shared import (
    SharedFacts,
    SharedGauges,
    SubscriberFacts,
    TenantFacts,
    VolumeFacts,
)

from .chart import needed

T = TypeVar("T")

SHARED = {
    declared.metadata["name"]
    for facts in (TenantFacts, SubscriberFacts, VolumeFacts)
    for declared in dataclasses.fields(facts)
}
"""Series that every worker exports alike."""


def exposition() -> str:
    """`/metrics` of a worker that knows everything."""
    metrics = Metrics(version="0.1.0")
    facts = SharedFacts(
        tenants={"default": _filled(TenantFacts)}, subscribers={"audit": _filled(SubscriberFacts)}
    )
    metrics.share(
        SharedGauges(
            FactsCache(in_thread(lambda: facts), ttl=60, timeout=5),
            FactsCache(in_thread(lambda: _filled(VolumeFacts)), ttl=60, timeout=5),
        )
    )
    return metrics.exposition().decode()


def series_types(text: str) -> dict[str, str]:
    """Series name → type of an exposition."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    names = re.findall(r"^([a-zA-Z_:][\w:]*)", re.sub(r"^#.*$", "", text, flags=re.M), re.M)
    return {
        name: types.get(name) or types[re.sub(r"_(bucket|sum|count)$", "", name)]
        for name in set(names)
    }


def parsed(query: str) -> Any:
    """The syntax tree; Grafana's variables of time count as five minutes. Raises `ValueError`."""
    return needed("promql_parser").parse(re.sub(r"\$__\w+", "5m", query))


def metrics_of(query: str) -> set[str]:
    """Names of all series a query reads."""
    return {name for node in _nodes(parsed(query)) if (name := _metric(node))}


def selectors_of(query: str) -> list[str]:
    """Matchers of every selector of a query, as they are written."""
    return re.findall(r"\{([^{}]*)\}", query)


def summed_shared(query: str) -> set[str]:
    """Shared series that a query adds up: the result grows with the number of workers."""
    return set(_summed(parsed(query), added=False))


def _summed(node: Any, *, added: bool) -> Iterator[str]:
    name = _metric(node)
    if name and added and name in SHARED:
        yield name
    operation = str(getattr(node, "op", "")) if type(node).__name__ == "AggregateExpr" else ""
    if operation in ("sum", "avg"):
        added = True
    elif operation in ("max", "min"):
        added = False
    for child in _children(node):
        yield from _summed(child, added=added)


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node):
        yield from _nodes(child)


def _children(node: Any) -> Iterator[Any]:
    for attribute in ("expr", "lhs", "rhs", "vector_selector", "vs"):
        child = getattr(node, attribute, None)
        if child is not None:
            yield child
    yield from getattr(node, "args", None) or []


def _metric(node: Any) -> str:
    is_selector = type(node).__name__ == "VectorSelector"
    return (getattr(node, "name", None) or "") if is_selector else ""


def _filled(kind: type[T]) -> T:
    return kind(**{declared.name: 1 for declared in dataclasses.fields(kind)})  # type: ignore[arg-type]
