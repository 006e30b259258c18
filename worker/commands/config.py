"""`config`: what the settings are and where each came from, and whether they are right."""

from __future__ import annotations

import click

from worker.console import output
from worker.console.classes import AresGroup, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation


@click.group("config", cls=AresGroup)
def config() -> None:
    """Show the settings and their origins, or check them.

    \b
    Examples:
      ares-worker config show
      ares-worker config show --json | jq '."archive.dir".value'
      ares-worker config check --config worker.toml
    """


@config.command("show")
@json_option("an object of settings")
@pass_invocation
def show(invocation: Invocation, as_json: bool) -> int:
    """Print every setting: its value, secrets masked, and where it came from."""
    from worker.settings.shown import shown_settings

    settings = shown_settings(invocation.settings())
    if as_json:
        output.write_json(
            {item.key: {"value": item.value, "origin": item.origin} for item in settings}
        )
        return ExitCode.DONE
    rows = [(item.key, item.text, item.origin) for item in settings]
    for line in output.table(("setting", "value", "origin"), rows, left=3):
        output.write(line)
    return ExitCode.DONE


@config.command("check")
@json_option("an object with the problems")
@pass_invocation
def check(invocation: Invocation, as_json: bool) -> int:
    """Say what is wrong with the settings, one line a problem; exit 1 when something is.

    Secret files are read and plug-ins imported; Redis and the archive aren't touched: that is
    `ares-worker doctor`.
    """
    from worker.settings.check import setting_problems

    problems = setting_problems(invocation.settings)
    if as_json:
        lines = [
            {"setting": problem.key, "reason": problem.reason, "origin": problem.origin}
            for problem in problems
        ]
        output.write_json({"ok": not problems, "problems": lines})
    else:
        for line in [str(problem) for problem in problems] or ["The settings are right."]:
            output.write(output.visible_line(line))
    return ExitCode.NO if problems else ExitCode.DONE
