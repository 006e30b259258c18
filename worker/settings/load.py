"""The settings: defaults < TOML file < `ARES_*` environment < flags.

`ARES_ARCHIVE_MAX_ROUNDS` is `archive.max_rounds`; an empty variable counts as absent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from ops.redact import secrets_in_url, shown

from .errors import SettingProblem, SettingsError, did_you_mean
from .files import CONFIG_VARIABLE, config_path, read_tables
from .model import DEFAULT_ORIGIN, PREFIX, Settings, is_secret, setting_fields, variable
from .rules import contradictions

__all__ = ["Settings", "SettingsError", "load_settings"]

FLAG_ORIGIN: Final = "flag"

ALTERNATIVES: Final = (
    ("redis.url", "redis.url_file"),
    ("redis.password", "redis.password_file"),
    ("redis.sentinel_password", "redis.sentinel_password_file"),
)
"""Two ways to say one thing: the later layer's replaces both, and one layer may say one only."""

APART: Final = ("redis.username", "redis.password", "redis.password_file")
"""Credentials apart from the URL win over it, but not over a later layer's URL with its own."""


def load_settings(
    config_file: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Layer file, environment and flags over the defaults.

    `overrides` are the flags, by dotted key; `None` means not given. The file is `config_file`,
    else `ARES_CONFIG`. Raises `SettingsError` with every problem at once, each with its origin.
    """
    environ = os.environ if environ is None else environ
    layers = _Layers()
    if path := config_path(config_file, environ):
        _add_file(layers, path)
    _add_environment(layers, environ)
    flags = {key: value for key, value in (overrides or {}).items() if value is not None}
    layers.add(flags, dict.fromkeys(flags, FLAG_ORIGIN))
    return layers.settle()


class _Layers:
    """Values and origins so far, and what was wrong with them."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.problems: list[SettingProblem] = []

    def problem(self, key: str, reason: str, origin: str) -> None:
        self.problems.append(SettingProblem(key, reason, origin))

    def add(self, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
        known = setting_fields()
        for key in [key for key in values if key not in known]:
            self.problem(key, "unknown setting" + did_you_mean(key, known), origins[key])
        for pair in ALTERNATIVES:
            given = [key for key in pair if key in values]
            if len(given) == 2:
                self.problem(pair[0], f"set this or {pair[1]}, not both", origins[pair[0]])
            self._forget(pair if given else ())
        if secrets_in_url(str(values.get("redis.url", ""))):
            self._forget(APART)
        for key in known.keys() & values.keys():
            self.values[key], self.origins[key] = values[key], origins[key]

    def _forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.values.pop(key, None)
            self.origins.pop(key, None)

    def settle(self) -> Settings:
        try:
            settings = Settings(**_nested(self.values))
        except ValidationError as exc:
            self._invalid(exc)
        else:
            for key, reason in contradictions(settings):
                self.problem(key, reason, self._origin(key))
        if self.problems:
            raise SettingsError(self.problems)
        settings._origins.update(self.origins)
        return settings

    def _origin(self, key: str) -> str:
        return self.origins.get(key, DEFAULT_ORIGIN)

    def _invalid(self, exc: ValidationError) -> None:
        told: set[str] = set()
        for error in exc.errors(include_url=False, include_input=False):
            path = [part for part in error["loc"] if isinstance(part, str)]
            key, of_an_item = ".".join(path[:2]), len(path) < len(error["loc"])
            if key in told and not of_an_item:
                continue  # a list lacks the items that are wrong
            told.add(key)
            self.problem(key, self._reason(key, error, of_an_item), self._origin(key))

    def _reason(self, key: str, error: Mapping[str, Any], of_an_item: bool) -> str:
        if error["type"] == "too_short":
            return "must name at least one"
        reason: str = error["msg"].removeprefix("Value error, ").split(", unable to")[0]
        reason = reason.replace("Input should be", "must be")
        value = self.values.get(key)
        if value is None or of_an_item or is_secret(key):
            return reason
        return f"{reason}, not {shown(value)}"


def _add_file(layers: _Layers, path: Path) -> None:
    try:
        values = _dotted(read_tables(path))
    except SettingsError as exc:
        layers.problems.extend(exc.problems)
    else:
        layers.add(values, dict.fromkeys(values, f"file {path}"))


def _add_environment(layers: _Layers, environ: Mapping[str, str]) -> None:
    given = {
        name: value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name != CONFIG_VARIABLE and value != ""
        if not _is_service_link(name, value)
    }
    keys = {variable(key): key for key in setting_fields()}
    for name in sorted(given.keys() - keys.keys()):
        layers.problem(name, "unknown variable" + did_you_mean(name, keys), "environment")
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): given[name] for name in given.keys() & keys.keys()}
    values = _dotted(source())
    layers.add(values, {key: f"environment {variable(key)}" for key in values})


def _is_service_link(name: str, value: str) -> bool:
    """Kubernetes puts such variables into every pod beside a Service named `ares-…`."""
    if name.endswith("_PORT"):
        return re.match(r"(tcp|udp|sctp)://", value) is not None
    return re.search(r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)", name) is not None


def _dotted(tables: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{inner}": deep for inner, deep in value.items()})
        else:
            flat[name] = value
    return flat


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        section, _, name = key.rpartition(".")
        target = nested.setdefault(section, {}) if section else nested
        target[name] = value
    return nested
