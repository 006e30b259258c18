"""`record`: round records from JSON lines, without Redis."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from worker.console import output
from worker.console.classes import AresCommand
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.console.params import lines_files

if TYPE_CHECKING:
    from worker.importing.lines import BadLine


@click.command("record", cls=AresCommand)
@lines_files
@click.option(
    "--output",
    "-o",
    "directory",
    type=click.Path(file_okay=False),
    help="Write round files into this archive directory instead of printing.",
)
@click.option("--no-screen", is_flag=True, help="Keep credentials as they stand.")
@pass_invocation
def record(
    invocation: Invocation, files: tuple[str, ...], directory: str | None, no_screen: bool
) -> int:
    """Build the round records of each FILE of JSON lines; - reads standard input.

    The lines are those of `ares-worker import`. Each stream is cut into rounds at task.completed
    and task.failed; events after the last one make an unfinished round. Nothing is sent and no
    Redis is needed: this shows what the worker would archive. Prints one JSON object a round.

    \b
    Examples:
      ares-worker record session.jsonl
      ares-worker record sessions/*.jsonl -o /tmp/archive
    """
    from archive.record_json import record_to_dict
    from worker.importing.files import ImportFile
    from worker.importing.recording import build_records, write_records

    with ExitStack() as stack:
        opened = [stack.enter_context(ImportFile(name)) for name in files]
        tenant = invocation.tenants[0] if invocation.tenants else "default"
        report = build_records(opened, tenant=tenant, screen=not no_screen, on_bad=_complain)
        if directory is None:
            for built in report.records:
                output.write_json(record_to_dict(built))
        else:
            written = write_records(report.records, directory, tenant)
            output.tell(f"{written} rounds of {report.streams} streams in {directory}")
    if report.bad:
        output.tell(f"{report.bad} bad lines were left out")
    return ExitCode.DONE if report.records else ExitCode.NO


def _complain(name: str, line: BadLine) -> None:
    output.complain(output.visible(f"{name}:{line.line}: {line.reason}"))
