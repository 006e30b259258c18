"""Pure. Settings as people and scripts see them: masked, in units, with their origin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from ops.redact import MASK, redact_url

from .model import Settings, setting_fields
from .types import Written, format_duration, format_mode


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting: `text` for people, `value` for JSON, both without secrets."""

    key: str
    text: str
    value: Any
    origin: str


def shown_settings(settings: Settings) -> list[ShownSetting]:
    """Every setting in the order of the settings file."""
    return [
        ShownSetting(
            key,
            text=show_value(settings.value(key), info),
            value=_json_value(settings.value(key), info),
            origin=settings.origin(key),
        )
        for key, info in setting_fields().items()
    ]


def show_value(value: Any, info: FieldInfo) -> str:
    """`value` as it may be written in the environment; `-` when there is none."""
    if value is None:
        return "-"
    if isinstance(value, SecretStr):
        return _mask(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    written = written_as(info)
    return written.show(value) if written else str(value)


def written_as(info: FieldInfo) -> Written | None:
    """How values of this field are written, where that isn't plain text."""
    return next((mark for mark in info.metadata if isinstance(mark, Written)), None)


def _json_value(value: Any, info: FieldInfo) -> Any:
    if isinstance(value, SecretStr):
        return _mask(value)
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    written = written_as(info)
    return format_mode(value) if written and written.show is format_mode else value


def _mask(secret: SecretStr) -> str:
    """Only a URL is worth showing in part."""
    text = secret.get_secret_value()
    return redact_url(text) if "://" in text or text == "embedded" else MASK
