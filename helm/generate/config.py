"""Pure. The chart's `config` from the worker's settings: values with comments, and their schema."""

from __future__ import annotations

import json
import textwrap
from typing import Any, Final, Literal, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from worker.settings.model import setting_fields
from worker.settings.types import Written

GIVEN_ELSEWHERE: Final = frozenset(
    {
        "redis.url",
        "redis.url_file",
        "redis.username",
        "redis.password",
        "redis.password_file",
        "redis.sentinel_username",
        "redis.sentinel_password",
        "redis.sentinel_password_file",
        "redis.tls_ca",
        "redis.tls_cert",
        "redis.tls_key",
    }
)
"""Settings that the chart takes from the values under `redis`: they are secret, or are files."""

CHART_DEFAULTS: Final = {
    "archive.dir": "/var/lib/ares-worker/rounds",
    "metrics.host": "0.0.0.0",  # noqa: S104 - the kubelet and Prometheus come from outside
    "log.format": "json",
}
"""Where a pod needs another default than a desk."""

CHART_BOUNDS: Final = {"metrics.port": {"minimum": 1}}
"""Where a pod allows less than a desk: its probes must know the port."""

DURATION: Final = r"^[0-9]+(\.[0-9]{1,3})?\s*(ms|s|m|h|d|w)?$"
SIZE: Final = r"^[0-9]+\s*([kKmMgG]?[iI]?[bB])?$"
MODE: Final = "^0?[0-7]{3}$"
BEGIN: Final = "# config:begin"
END: Final = "# config:end"


def mirrored() -> dict[str, FieldInfo]:
    """Dotted key → declaration of each setting under `config`."""
    fields = setting_fields()
    return {key: field for key, field in fields.items() if key not in GIVEN_ELSEWHERE}


def default(key: str) -> Any:
    """The chart's default of a setting, as it is written in YAML."""
    if key in CHART_DEFAULTS:
        return CHART_DEFAULTS[key]
    field = mirrored()[key]
    value, written = field.default, _written(field)
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, str | bool) or (written and written.kind == "number"):
        return value
    shown = written.show(value) if written else str(value)
    return int(shown) if shown.isdecimal() and written and written.kind == "bytes" else shown


def fill_values(text: str) -> str:
    """Replace the block between the two marks of values.yaml."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{_block()}{END}{tail}"


def fill_schema(text: str) -> str:
    """Replace the property `config` of values.schema.json."""
    schema = json.loads(text)
    schema["properties"]["config"] = _schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _block() -> str:
    lines = [
        "# Settings of the worker, one to one. Write durations as 500ms, 30s, 5m, 12h or 7d, and",
        "# sizes in bytes or as 8MiB.",
        "config:",
    ]
    section = ""
    for key, field in mirrored().items():
        table, _, name = key.rpartition(".")
        if table != section:
            lines.append(f"  {table}:")
            section = table
        indent = "    " if table else "  "
        words = textwrap.wrap(f"-- {field.description}", 97 - len(indent))
        lines += [f"{indent}# {line}" for line in words]
        lines.append(f"{indent}{name}: {json.dumps(default(key), ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _schema() -> dict[str, Any]:
    """Closed; what has a default is required, since null would take it away from the templates."""
    top = _table()
    for key, field in mirrored().items():
        table, _, name = key.rpartition(".")
        target = top
        if table:
            target = top["properties"].setdefault(table, _table())
        target["properties"][name] = _property(field) | CHART_BOUNDS.get(key, {})
        if default(key) is not None:
            target["required"].append(name)
    top["required"] += [name for name in top["properties"] if name not in top["required"]]
    return top


def _table() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": [], "properties": {}}


def _property(field: FieldInfo) -> dict[str, Any]:
    written = _written(field)
    kind = written.kind if written else ""
    annotation, optional = _unwrapped(field.annotation)
    shape: dict[str, Any]
    if kind == "number":
        shape = {"type": "integer", **_bounds(field)}
    elif kind == "bytes":
        shape = {"type": ["integer", "string"], "pattern": SIZE, "minimum": 0}
    elif kind == "duration":
        shape = {"type": ["integer", "string"], "pattern": DURATION, "minimum": 0}
    elif kind == "octal mode":
        shape = {"type": "string", "pattern": MODE}
    elif get_origin(annotation) is Literal:
        shape = {"type": "string", "enum": list(get_args(annotation))}
    elif annotation is bool:
        shape = {"type": "boolean"}
    elif get_origin(annotation) is tuple:
        shape = {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "string", "pattern": "^[a-z0-9_-]{1,64}$"},
        }
    else:
        shape = {"type": "string", "minLength": 1}
    if optional:
        shape["type"] = [shape["type"], "null"]
    return {"description": field.description, **shape}


def _unwrapped(annotation: Any) -> tuple[Any, bool]:
    """The annotation without `| None`, and whether that was there."""
    if get_origin(annotation) in (Union, type(int | None)):
        return next(arg for arg in get_args(annotation) if arg is not type(None)), True
    return annotation, False


def _written(field: FieldInfo) -> Written | None:
    return next((meta for meta in field.metadata if isinstance(meta, Written)), None)


def _bounds(field: FieldInfo) -> dict[str, int]:
    bounds: dict[str, int] = {}
    for meta in field.metadata:
        if isinstance(meta, annotated_types.Ge):
            bounds["minimum"] = meta.ge  # type: ignore[assignment]  # a number's bound is one
        elif isinstance(meta, annotated_types.Le):
            bounds["maximum"] = meta.le  # type: ignore[assignment]
        elif isinstance(meta, annotated_types.Gt):
            bounds["exclusiveMinimum"] = meta.gt  # type: ignore[assignment]
    return bounds
