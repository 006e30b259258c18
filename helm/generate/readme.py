"""Pure. The chart's README: its template with the table of values filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

TABLE: Final = "<!-- values -->"
VERSION: Final = "<!-- version -->"


@dataclass(frozen=True, slots=True)
class Value:
    """A documented value: its dotted key, its default and what its comment says."""

    key: str
    default: Any
    text: str


def render(template: str, values: str, chart: str) -> str:
    """Fill in `template`. Raises `ValueError` for a value without a comment."""
    meta = yaml.safe_load(chart)
    version = f"Chart {meta['version']}, ares-worker {meta['appVersion']}."
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for value in documented(values):
        shown = json.dumps(value.default, ensure_ascii=False)
        shown = "see values.yaml" if len(shown) > 60 else f"`{shown}`"
        rows.append(f"| `{value.key}` | {shown} | {value.text.replace('|', chr(92) + '|')} |")
    return template.replace(VERSION, version).replace(TABLE, "\n".join(rows))


def documented(values: str) -> list[Value]:
    """Every value that has a `# --` comment, in order.

    Raises `ValueError` where a value has no comment, neither itself nor any of its parents.
    """
    tree = yaml.safe_load(values)
    comments = dict(_comments(values))
    bare = [key for key in _leaves(tree) if not _covered(key, comments)]
    if bare:
        raise ValueError(f"no `# --` comment in values.yaml: {', '.join(bare)}")
    return [Value(key, _dig(tree, key), text) for key, text in comments.items()]


def _comments(values: str) -> Iterator[tuple[str, str]]:
    path: list[tuple[int, str]] = []
    text = ""
    for line in values.splitlines():
        comment = re.match(r"\s*# (-- )?(.*)", line)
        if comment:
            text = comment[2] if comment[1] else f"{text} {comment[2]}" if text else ""
            continue
        entry = re.match(r"( *)([\w.-]+):", line)
        if entry:
            indent = len(entry[1])
            path = [(depth, name) for depth, name in path if depth < indent]
            path.append((indent, entry[2]))
            if text:
                yield ".".join(name for _, name in path), text
        text = ""


def _leaves(tree: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _covered(key: str, comments: dict[str, str]) -> bool:
    parts = key.split(".")
    return any(".".join(parts[:count]) in comments for count in range(1, len(parts) + 1))


def _dig(tree: dict[str, Any], key: str) -> Any:
    value: Any = tree
    for part in key.split("."):
        value = value[part]
    return value
