"""Whether settings can be used here: secret files can be read, plug-ins imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

from ops.redact import redact

from .errors import SettingProblem, SettingsError
from .model import Settings

_PLUGINS = ("compaction.summarizer", "segments.redactor")
_FILES = ("redis.tls_ca", "redis.tls_cert", "redis.tls_key")


def setting_problems(load: Callable[[], Settings]) -> tuple[SettingProblem, ...]:
    """Every problem of the settings that `load` returns, or fails to return."""
    try:
        settings = load()
    except SettingsError as exc:
        return exc.problems
    return tuple(_problems(settings))


def _problems(settings: Settings) -> Iterator[SettingProblem]:
    redis = settings.redis
    for read in (redis.read_url, redis.read_password, redis.read_sentinel_password):
        try:
            read()
        except SettingsError as exc:
            yield from exc.problems
    for key in _FILES:
        path = settings.value(key)
        if path is not None and (reason := _unreadable(path)):
            yield SettingProblem(key, f"can't read {path}: {reason}", settings.origin(key))
    for key in _PLUGINS:
        name = settings.value(key)
        if name is not None and (reason := _unusable(name)):
            yield SettingProblem(key, f"{name} can't be used: {reason}", settings.origin(key))


def _unreadable(path: Path) -> str:
    try:
        with path.open("rb"):
            return ""
    except OSError as exc:
        return exc.strerror or type(exc).__name__


def _unusable(name: str) -> str:
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as exc:  # whatever foreign code raises while it is imported
        return redact(f"{type(exc).__name__}: {exc}")
    return "" if callable(found) else "it is no function"
