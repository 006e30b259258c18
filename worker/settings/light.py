"""The settings that reading the archive needs, without the library that checks all the others.

Recall starts several times faster this way. Same layers, names and spellings as `settings.py`;
a test holds the two together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.keys import check_tenant

from .errors import SettingProblem, SettingsError
from .files import (
    DEFAULT_ARCHIVE_DIR,
    DEFAULT_TENANTS,
    config_path,
    read_path,
    read_tables,
    split_list,
)


@dataclass(frozen=True, slots=True)
class LightSettings:
    """Where the archive is and whose rounds to read."""

    archive_dir: Path
    tenants: tuple[str, ...]


def load_light_settings(
    config_file: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LightSettings:
    """`archive.dir` and `tenants` as `load_settings` would have them.

    Raises `SettingsError` for a bad one of the two, or a file that can't be read.
    """
    environ = os.environ if environ is None else environ
    path = config_path(config_file, environ)
    tables = read_tables(path) if path else {}
    archive = tables.get("archive")
    layers = (
        ("flag", overrides or {}),
        (
            "environment",
            {
                "archive.dir": environ.get("ARES_ARCHIVE_DIR") or None,
                "tenants": environ.get("ARES_TENANTS") or None,
            },
        ),
        (
            f"file {path}",
            {
                "archive.dir": archive.get("dir") if isinstance(archive, dict) else None,
                "tenants": tables.get("tenants"),
            },
        ),
        ("default", {"archive.dir": DEFAULT_ARCHIVE_DIR, "tenants": DEFAULT_TENANTS}),
    )
    raw, origin = _first(layers, "archive.dir")
    try:
        directory = read_path(raw)
    except ValueError as exc:
        raise SettingsError([SettingProblem("archive.dir", str(exc), origin)]) from None
    return LightSettings(directory, _tenants(*_first(layers, "tenants")))


def _first(layers: tuple[tuple[str, Mapping[str, Any]], ...], key: str) -> tuple[Any, str]:
    return next((values[key], origin) for origin, values in layers if values.get(key) is not None)


def _tenants(raw: Any, origin: str) -> tuple[str, ...]:
    names = split_list(raw)
    try:
        if not isinstance(names, list | tuple) or not names:
            raise UsageError("must be a list of tenants")
        return tuple(check_tenant(name) for name in names)
    except UsageError as exc:
        raise SettingsError([SettingProblem("tenants", str(exc), origin)]) from None
