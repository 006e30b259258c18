"""Pure. A dashboard: variables, and panels set from left to right in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .panels import DATASOURCE, Panel
from .query import FLEET

_WIDTH: Final = 24
_EVERYWHERE: Final = ".*"
"""What `All` stands for: also what has no such label, as outside Kubernetes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A panel and its size on the grid of 24 columns."""

    panel: Panel
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Row:
    """A heading and the panels below it, from left to right, wrapped."""

    title: str
    cells: tuple[Cell, ...]


def row(title: str, *cells: Cell) -> Row:
    """A row of `cells` under `title`."""
    return Row(title, cells)


def cell(panel: Panel, *, width: int, height: int = 8) -> Cell:
    """`panel` at `width` of 24 columns and `height` lines."""
    return Cell(panel, width, height)


def build(uid: str, title: str, rows: Sequence[Row], *, about: str, since: str) -> dict[str, Any]:
    """The dashboard's JSON as a dictionary; `since` is the start of its time range."""
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["ares-worker"],
        "editable": False,
        "graphTooltip": 1,
        "refresh": "30s",
        "schemaVersion": 39,
        "time": {"from": since, "to": "now"},
        "timezone": "browser",
        "links": [_LINK],
        "annotations": {"list": [_RESTARTS]},
        "templating": {"list": _variables()},
        "panels": _panels(rows),
    }


def _panels(rows: Sequence[Row]) -> list[Panel]:
    panels: list[Panel] = []
    y = 0

    def place(panel: Panel, x: int, width: int, height: int) -> None:
        grid = {"x": x, "y": y, "w": width, "h": height}
        panels.append({"id": len(panels) + 1, **panel, "gridPos": grid})

    for each in rows:
        place({"type": "row", "title": each.title, "collapsed": False, "panels": []}, 0, _WIDTH, 1)
        y += 1
        x = tallest = 0
        for item in each.cells:
            if x + item.width > _WIDTH:
                y += tallest
                x = tallest = 0
            place(item.panel, x, item.width, item.height)
            x += item.width
            tallest = max(tallest, item.height)
        y += tallest
    return panels


_LINK: Final = {
    "type": "dashboards",
    "title": "ares-worker",
    "tags": ["ares-worker"],
    "asDropdown": False,
    "icon": "external link",
    "includeVars": True,
    "keepTime": True,
    "targetBlank": False,
    "tooltip": "",
    "url": "",
}

_RESTARTS: Final = {
    "name": "Worker starts",
    "datasource": DATASOURCE,
    "enable": True,
    "hide": False,
    "iconColor": "blue",
    "expr": f"changes(process_start_time_seconds{{{FLEET}}}[2m]) > 0",
    "step": "60s",
    "titleFormat": "{{pod}} started",
}


def _variables() -> list[dict[str, Any]]:
    return [
        {
            "type": "datasource",
            "name": "datasource",
            "label": "Data source",
            "query": "prometheus",
            "refresh": 1,
            "hide": 0,
            "includeAll": False,
            "multi": False,
            "options": [],
        },
        _variable("namespace", "Namespace", "ares_build_info"),
        _variable("job", "Job", 'ares_build_info{namespace=~"$namespace"}'),
        _variable("pod", "Pod", f"ares_build_info{{{FLEET}}}"),
        _variable("tenant", "Tenant", f"ares_inbox_events{{{FLEET}}}"),
    ]


def _variable(name: str, label: str, series: str) -> dict[str, Any]:
    query = f"label_values({series}, {name})"
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": f"variable-{name}"},
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "includeAll": True,
        "multi": True,
        "allValue": _EVERYWHERE,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "options": [],
    }
