"""`doctor`: looks at everything a worker depends on and says what to do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from ops.redact import redact
from worker.console import output
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from worker.doctor.findings import Finding

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red", "skip": "cyan"}


@click.command("doctor", cls=AresCommand)
@json_option("an object with the findings")
@pass_invocation
def doctor(invocation: Invocation, as_json: bool) -> int:
    """Check settings, Redis, tenants and the archive's volume; one line each, with what to do.

    Exit 1 when a worker would not run here, or would lose data. Nothing is changed; a few files
    are written into the archive's folder and removed.

    \b
    Examples:
      ares-worker doctor
      ares-worker doctor --json | jq '.findings[] | select(.status != "ok")'
    """
    from worker.doctor.doctor import examine
    from worker.doctor.findings import Status

    findings = asyncio.run(examine(invocation.settings, _nothing if as_json else _show))
    failed = any(finding.status is Status.FAIL for finding in findings)
    if as_json:
        lines = [
            {"check": item.check, "status": item.status, "found": item.found, "todo": item.todo}
            for item in findings
        ]
        output.write_json({"ok": not failed, "findings": lines})
    return ExitCode.NO if failed else ExitCode.DONE


def _nothing(_: Finding) -> None:
    return


def _show(finding: Finding) -> None:
    status = output.paint(f"{finding.status:<4}", fg=_COLORS[finding.status])
    todo = f" -> {finding.todo}" if finding.todo else ""
    line = output.visible_line(redact(f"{finding.check:<24} {finding.found}{todo}"))
    output.write(f"{status}  {line}")
