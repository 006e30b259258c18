"""The command classes of `ares-worker`, and the global options they all take.

The global options are understood before and after the command's name, so both
`ares-worker --redis URL run` and `ares-worker run --redis URL` work.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click

from .invocation import Invocation
from .output import wants_color


def _store(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep a global option's value; the place nearest to the command wins."""
    if value is None or value is False or value in (0, ()):
        return
    invocation = ctx.find_root().ensure_object(Invocation)
    setattr(invocation, str(param.name), value)


def _color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None or ctx.parent is None:
        ctx.color = ctx.find_root().color = wants_color(value or "auto")


def _global(*names: str, **options: Any) -> click.Option:
    return click.Option(names, expose_value=False, **{"callback": _store, **options})


GLOBAL_OPTIONS: Final = (
    _global(
        "--redis",
        "redis_url",
        metavar="URL",
        help="Redis to use: redis://, rediss://, unix://, redis+cluster://, redis+sentinel:// or "
        "embedded.  [default: redis://127.0.0.1:6379/0]",
    ),
    _global(
        "--archive-dir",
        metavar="DIR",
        help="Where round files are.  [default: .context/rounds]",
    ),
    _global(
        "--tenant",
        "tenants",
        metavar="T",
        multiple=True,
        help="Tenant to work for; may be given several times.  [default: default]",
    ),
    _global(
        "--config",
        "config_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="TOML file of settings; ARES_* variables and flags win over it.",
    ),
    _global("-v", "--verbose", "verbosity", count=True, help="Say more; -vv for debugging."),
    _global("-q", "--quiet", is_flag=True, help="Say nothing but data and errors."),
    _global(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        callback=_color,
        is_eager=True,
        help="Colour the output; auto means on a terminal, without NO_COLOR.",
    ),
)


class AresCommand(click.Command):
    """A command that takes the global options too; its help names them in one line."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *GLOBAL_OPTIONS]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [
            param
            for param in click.Command.get_params(self, ctx)
            if isinstance(param, click.Option)
        ]
        records = [param.get_help_record(ctx) for param in own]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
            formatter.write_text(
                "and the global options of `ares-worker --help`: --redis, --tenant, --config…"
            )


class AresGroup(click.Group):
    """A group of `AresCommand`s; an unknown command is answered with the nearest known one."""

    command_class = AresCommand
    group_class = type

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *GLOBAL_OPTIONS]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        # Whole sentences, wrapped: click would cut them off after some words.
        rows = [(name, known.get_short_help_str(10_000)) for name, known in commands if known]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if unknown and not ctx.resilient_parsing:
            near = get_close_matches(name, self.list_commands(ctx), n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{meant}")
        return super().resolve_command(ctx, args)


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command known by name and one line of help until it is called."""

    target: str
    help: str

    def load(self) -> click.Command:
        """Import the module named before the colon and return what is named after it."""
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the root help and its commands."""

    title: str
    commands: Mapping[str, LazyCommand]


class LazyGroup(AresGroup):
    """The root: imports only the command that is called."""

    def __init__(self, *args: Any, sections: tuple[Section, ...] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.sections = sections
        self.known = {name: lazy for part in sections for name, lazy in part.commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self.known.get(cmd_name)
        return lazy.load() if lazy else None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for part in self.sections:
            with formatter.section(part.title):
                formatter.write_dl([(name, lazy.help) for name, lazy in part.commands.items()])
        records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
        with formatter.section("Global options, before or after the command"):
            formatter.write_dl([record for record in records if record is not None])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        names = [name for name in self.known if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=self.known[name].help) for name in names), *options]


def json_option(shape: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The `--json` flag of a command whose JSON is `shape`, passed on as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Write {shape} instead of text.")
