"""One call of `ares-worker`: what its global options said, and the settings they lead to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from worker.settings.light import LightSettings
    from worker.settings.load import Settings


@dataclass(slots=True)
class Invocation:
    """The global options of one call; settings are loaded when a command asks for them.

    `answered` is set by the first JSON on stdout, after which an error must not add another;
    `embedded` while the Redis it uses is one that it started or shares.
    """

    redis_url: str | None = None
    archive_dir: str | None = None
    tenants: tuple[str, ...] = ()
    config_file: Path | None = None
    verbosity: int = 0
    quiet: bool = False
    answered: bool = False
    embedded: bool = False

    def settings(self, **more: Any) -> Settings:
        """All settings: defaults, file, environment, then flags. Raises `SettingsError`.

        `more` are settings that a command's own flags give.
        """
        from worker.settings.load import load_settings

        return load_settings(self.config_file, {**self.overrides(), **more}, os.environ)

    def light_settings(self) -> LightSettings:
        """The settings of the archive alone, without the libraries that check the others."""
        from worker.settings.light import load_light_settings

        return load_light_settings(self.config_file, self.overrides(), os.environ)

    def overrides(self) -> dict[str, Any]:
        """The settings given by global flags, by dotted name."""
        given = {
            "redis.url": self.redis_url,
            "archive.dir": self.archive_dir,
            "tenants": self.tenants or None,
        }
        return {name: value for name, value in given.items() if value is not None}


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)


def current_invocation() -> Invocation | None:
    """The invocation of the command being run, if one is."""
    context = click.get_current_context(silent=True)
    return context.find_object(Invocation) if context is not None else None
