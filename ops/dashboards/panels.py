"""Pure. Grafana panels as dictionaries: one function for each kind that the dashboards use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Panel = dict[str, Any]
Query = tuple[str, str]
"""PromQL and legend; a legend of `{{tenant}}` is that label."""

DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, RED, BLUE, GREY = "green", "yellow", "red", "blue", "#6e6e6e"
CLEAR: Final = "transparent"

Steps = Sequence[tuple[float | None, str]]
"""Threshold and colour from there on; the first has no threshold."""


def timeseries(
    title: str,
    queries: Sequence[Query],
    *,
    unit: str,
    about: str,
    stacked: bool = False,
    bars: bool = False,
    colors: Mapping[str, str] | None = None,
) -> Panel:
    """Lines, areas or bars over time."""
    custom = {
        "drawStyle": "bars" if bars else "line",
        "lineWidth": 1,
        "fillOpacity": 60 if bars else 25 if stacked else 8,
        "showPoints": "never",
        "axisSoftMin": 0,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }
    panel = _panel("timeseries", title, queries, unit=unit, about=about, custom=custom)
    panel["fieldConfig"]["defaults"]["min"] = 0
    panel["fieldConfig"]["overrides"] = [_color(name, c) for name, c in (colors or {}).items()]
    panel["options"] = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel


def stat(
    title: str,
    query: str,
    *,
    unit: str,
    about: str,
    steps: Steps = ((None, GREEN),),
    words: Mapping[str, tuple[str, str]] | None = None,
    legend: str = "",
    decimals: int | None = None,
) -> Panel:
    """One number, coloured; `words` shows text and colour instead of single values."""
    panel = _panel("stat", title, [(query, legend)], unit=unit, about=about)
    panel["targets"][0]["instant"] = True
    panel["targets"][0]["range"] = False
    defaults = panel["fieldConfig"]["defaults"]
    defaults["thresholds"] = _thresholds(steps)
    defaults["color"] = {"mode": "thresholds"}
    defaults["mappings"] = _mappings(words or {})
    if decimals is not None:
        defaults["decimals"] = decimals
    panel["options"] = {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "center",
        "textMode": "name" if legend else "value",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return panel


def heatmap(title: str, query: str, *, unit: str, about: str) -> Panel:
    """Buckets of a histogram over time; `query` keeps the label le."""
    panel = _panel("heatmap", title, [(query, "{{le}}")], unit=unit, about=about)
    panel["targets"][0]["format"] = "heatmap"
    panel["options"] = {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"mode": "single", "yHistogram": True},
        "yAxis": {"unit": unit, "axisPlacement": "left"},
    }
    return panel


def timeline(
    title: str, query: Query, *, unit: str, about: str, words: Mapping[str, tuple[str, str]]
) -> Panel:
    """States over time, a line for each series; `words` names the values."""
    custom = {"fillOpacity": 80, "lineWidth": 0}
    panel = _panel("state-timeline", title, [query], unit=unit, about=about, custom=custom)
    defaults = panel["fieldConfig"]["defaults"]
    defaults["mappings"] = _mappings(words)
    defaults["color"] = {"mode": "thresholds"}
    defaults["thresholds"] = _thresholds(((None, CLEAR), (1, GREEN)))
    panel["options"] = {
        "mergeValues": True,
        "showValue": "auto",
        "alignValue": "left",
        "rowHeight": 0.85,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
        "tooltip": {"mode": "single"},
    }
    return panel


def _panel(
    kind: str,
    title: str,
    queries: Sequence[Query],
    *,
    unit: str,
    about: str,
    custom: Mapping[str, Any] | None = None,
) -> Panel:
    defaults: dict[str, Any] = {"unit": unit}
    if custom:
        defaults["custom"] = dict(custom)
    return {
        "type": kind,
        "title": title,
        "description": about,
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": DATASOURCE,
                "editorMode": "code",
                "expr": query,
                "legendFormat": legend,
                "range": True,
            }
            for number, (query, legend) in enumerate(queries)
        ],
    }


def _color(series: str, color: str) -> dict[str, Any]:
    return {
        "matcher": {"id": "byName", "options": series},
        "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
    }


def _thresholds(steps: Steps) -> dict[str, Any]:
    return {
        "mode": "absolute",
        "steps": [{"value": value, "color": color} for value, color in steps],
    }


def _mappings(words: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    options = {
        value: {"index": index, "text": text, "color": color}
        for index, (value, (text, color)) in enumerate(words.items())
    }
    return [{"type": "value", "options": options}] if options else []
