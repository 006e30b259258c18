"""`demo`: the whole pipeline once, with nothing installed beside it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from worker.console import output
from worker.console.classes import AresCommand
from worker.console.exit_codes import ExitCode


@click.command("demo", cls=AresCommand)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the round files and Redis' data in DIR; else they are removed.",
)
def demo(keep: Path | None) -> int:
    """Show everything once: an embedded Redis, an agent's session, the worker, recall.

    Needs nothing but this program, and touches nothing outside its folder.

    \b
    Examples:
      ares-worker demo
      ares-worker demo --keep ./demo && ares-worker recall list --archive-dir ./demo/rounds
    """
    from worker.cli import invoke
    from worker.demo.steps import Demo

    if keep is not None:
        Demo(keep, invoke).run()
        output.write(f"Look around: ares-worker recall list --archive-dir {keep / 'rounds'}")
        return ExitCode.DONE
    with tempfile.TemporaryDirectory(prefix="ares-demo-") as folder:
        Demo(Path(folder), invoke).run()
    output.write("The folder is gone; --keep DIR keeps it. Next: ares-worker run --redis embedded")
    return ExitCode.DONE
