"""`verify`: logs, state, summaries and archive checked against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from worker.console import output, words
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from archive.verifying.checks import Finding
    from streams.redis_store import RedisEventStore
    from worker.settings.load import Settings
    from worker.verifying.looks import Checked
    from worker.verifying.verifier import Verifier


@click.command("verify", cls=AresCommand)
@click.argument("stream", required=False)
@json_option("one object with the findings")
@pass_invocation
def verify(invocation: Invocation, stream: str | None, as_json: bool) -> int:
    """Check that log, state, summaries and round files agree, of STREAM or of all.

    Reads everything, changes nothing, and may run beside workers. Prints one line a finding and
    exits 1 when there is one; notes (a fork, a round just published) are none. The result of
    checking all is kept in Redis for the workers' metrics.

    \b
    Examples:
      ares-worker verify
      ares-worker verify session-42 --json | jq '.findings[].detail'
    """
    from worker.console.sessions import with_each_store

    result = _Result(as_json=as_json)

    async def check(store: RedisEventStore, settings: Settings) -> None:
        await _check(store, settings, stream, result)

    with_each_store(invocation, check)
    if as_json:
        output.write_json(result.document())
    else:
        output.write(result.in_words())
    return ExitCode.NO if result.findings else ExitCode.DONE


@dataclass(slots=True)
class _Result:
    """What was found and looked at, of all tenants."""

    as_json: bool
    findings: list[dict[str, str]] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)
    streams: int = 0
    events: int = 0
    rounds: int = 0

    def add(self, tenant: str, finding: Finding) -> None:
        """Keep a finding, and show it at once where a person waits."""
        told = {
            "tenant": tenant,
            "stream": finding.stream,
            "kind": finding.kind,
            "path": finding.path,
            "detail": finding.detail,
        }
        (self.notes if finding.is_note else self.findings).append(told)
        if not self.as_json:
            mark = "note" if finding.is_note else "FOUND"
            color = "yellow" if finding.is_note else "red"
            where = f"{tenant}/{finding.stream}" if finding.stream else tenant
            file = f"{finding.path}: " if finding.path not in finding.detail else ""
            text = output.visible_line(f"{where}: {finding.kind}: {file}{finding.detail}")
            output.write(f"{output.paint(f'{mark:<5}', fg=color)}  {text}")

    def count(self, checked: Checked) -> None:
        """Add what was looked at in one tenant."""
        self.streams += checked.streams
        self.events += checked.events
        self.rounds += checked.rounds

    def document(self) -> dict[str, object]:
        """The answer for `--json`."""
        return {
            "ok": not self.findings,
            "checked": {"streams": self.streams, "events": self.events, "rounds": self.rounds},
            "findings": _in_order(self.findings),
            "notes": _in_order(self.notes),
        }

    def in_words(self) -> str:
        """The last line for a person."""
        looked_at = (
            f"{words.count(self.streams, 'stream')}, {words.count(self.events, 'event')} in logs "
            f"and {words.count(self.rounds, 'round')} in the archive"
        )
        result = words.count(len(self.findings), "finding") if self.findings else "all agree"
        return f"Checked {looked_at}: {result}."


async def _check(
    store: RedisEventStore, settings: Settings, stream: str | None, result: _Result
) -> None:
    from archive.storage.volume import Volume
    from archive.survey import Survey
    from worker.verifying.verifier import Verifier

    archive = settings.archive
    survey = Survey(Volume(archive.dir), [store.tenant])
    verifier = Verifier(store, survey, sentinel=archive.sentinel_file or "")
    before = len(result.findings)
    if stream is not None:
        for finding in await verifier.verify_stream(stream):
            result.add(store.tenant, finding)
    else:
        async for finding in verifier.verify():
            result.add(store.tenant, finding)
        await _note(verifier, len(result.findings) - before, store.clock())
    result.count(verifier.checked)


async def _note(verifier: Verifier, findings: int, now_ms: int) -> None:
    """Keep the result for the metrics; a Redis that takes no writes changes nothing about it."""
    from streams.errors import StoreUnavailable

    try:
        await verifier.note_result(findings, now_ms)
    except StoreUnavailable as exc:
        output.tell(output.visible_line(f"The result isn't kept for the metrics: {exc}"))


def _in_order(findings: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(findings, key=lambda finding: tuple(finding.values()))
