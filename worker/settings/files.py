"""What both loaders of settings share: the file, and how paths and lists are written.

Standard library only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .errors import SettingProblem, SettingsError

CONFIG_VARIABLE: Final = "ARES_CONFIG"
DEFAULT_ARCHIVE_DIR: Final = Path(".context/rounds")
DEFAULT_TENANTS: Final = ("default",)


def config_path(config_file: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The settings file: the one named by flag, else by `ARES_CONFIG`, else none."""
    if config_file is not None:
        return config_file
    named = environ.get(CONFIG_VARIABLE)
    return Path(named) if named else None


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises `SettingsError`, which never quotes the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        reason = f"can't be read: {exc.strerror}"
    except UnicodeDecodeError:
        reason = "is not UTF-8"
    except tomllib.TOMLDecodeError as exc:
        # The place alone: the message may quote a character of a secret.
        place = str(exc).rpartition("(")[2].rstrip(")")
        reason = f"is not TOML: look {place}" if place.startswith("at ") else "is not TOML"
    raise SettingsError([SettingProblem("settings file", reason, str(path))])


def read_path(raw: Any) -> Path:
    """A path, with `~` for the home folder; raise `ValueError` for none at all."""
    if not isinstance(raw, str | Path) or not str(raw) or "\0" in str(raw):
        raise ValueError("must be a path")
    try:
        return Path(raw).expanduser()
    except RuntimeError:
        raise ValueError("starts with ~ but there is no home folder") from None


def split_list(raw: Any) -> Any:
    """Split `a, b` as the environment and flags have it; lists pass."""
    if isinstance(raw, str):
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    return raw
