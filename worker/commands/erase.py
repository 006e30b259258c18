"""`erase`: a round, a stream or a tenant, everywhere, on request."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from archive.places import is_text
from worker.console import output, words
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from streams.redis_store import RedisEventStore
    from worker.erasing.facts import Erased
    from worker.erasing.reach import Reach
    from worker.settings.load import Settings


@click.command("erase", cls=AresCommand)
@click.option("--stream", metavar="S", help="Erase this stream.")
@click.option(
    "--round", "number", type=click.IntRange(min=1), metavar="N", help="Of it only this round."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be erased.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@json_option("one object with the counts and what is pending")
@pass_invocation
def erase(
    invocation: Invocation,
    stream: str | None,
    number: int | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Erase a stream, one of its rounds, or a whole tenant for good: events, summaries, rounds.

    Round files become tombstones, which say which round it was and nothing of what was in it.
    Inbox entries, dead letters, feed entries and sealed segments of the stream go too. It may
    run beside workers. What arrives meanwhile may stay: stop who sends it first. On a terminal
    it asks; a whole tenant, which has to be named by --tenant, wants --yes elsewhere. Exit 75
    when something could not be erased now: the same command again goes on with it.

    \b
    Examples:
      ares-worker erase --stream session-42 --dry-run
      ares-worker erase --stream session-42 --round 7
      ares-worker erase --tenant acme --yes
    """
    from worker.console.sessions import with_store

    what = _What(invocation, stream, number)
    if not (dry_run or yes):
        what.check_consent()

    async def work(store: RedisEventStore, settings: Settings) -> Erased | None:
        from worker.erasing.reach import reach_by_settings

        async with reach_by_settings(store, settings) as reach:
            what.tenant = store.tenant
            if dry_run:
                return await what.preview(reach)
            if not (yes or await what.is_confirmed(reach)):
                return None
            return await what.erase(reach)

    erased = with_store(invocation, work)
    if erased is None:
        return ExitCode.NO
    if as_json:
        facts = {"tenant": what.tenant, "stream": stream, "round": number, "dry_run": dry_run}
        output.write_json({**facts, "complete": not erased.pending, **erased.as_json()})
    else:
        output.write(what.in_words(erased, dry_run=dry_run))
    _tell(erased)
    if erased.pending:
        return ExitCode.BUSY
    return ExitCode.DONE if erased.found else ExitCode.NO


class _What:
    """What is to be erased, as the command line says it."""

    def __init__(self, invocation: Invocation, stream: str | None, number: int | None) -> None:
        if stream is None and number is not None:
            raise click.UsageError("Say which stream's round with --stream.")
        if stream is None and not invocation.tenants:
            # A setting or default is no request to erase a tenant.
            raise click.UsageError("Say what to erase: --stream S, or --tenant T for all of it.")
        if stream is not None and not is_text(stream):
            raise click.UsageError("The stream's name is no UTF-8 text.")
        self.tenant = ""
        self._stream, self._number = stream, number

    def check_consent(self) -> None:
        """Raise `UsageError` where nobody can be asked and nobody said yes to a whole tenant."""
        if self._stream is None and not _is_terminal():
            raise click.UsageError("Say --yes to erase a whole tenant without being asked.")

    async def is_confirmed(self, reach: Reach) -> bool:
        """Whether a person wants it, having seen how much it is; a script has said so already."""
        if not _is_terminal():
            return True
        would = await self.preview(reach)
        output.tell(self.in_words(would, dry_run=True))
        return click.confirm(f"Erase {self._name()} for good?", err=True)

    async def preview(self, reach: Reach) -> Erased:
        """What would go."""
        from worker.erasing.round import preview_round
        from worker.erasing.view import preview_stream, preview_tenant

        if self._stream is None:
            return await preview_tenant(reach)
        if self._number is None:
            return await preview_stream(reach, self._stream)
        return await preview_round(reach, self._stream, self._number)

    async def erase(self, reach: Reach) -> Erased:
        """Do it."""
        from worker.erasing.erasure import erase_stream, erase_tenant
        from worker.erasing.round import erase_round

        if self._stream is None:
            return await erase_tenant(reach, _progress)
        if self._number is None:
            return await erase_stream(reach, self._stream)
        return await erase_round(reach, self._stream, self._number)

    def in_words(self, erased: Erased, *, dry_run: bool) -> str:
        """One line on what was or would be done."""
        earlier = words.count(erased.rounds_before, "round")
        before = f" ({earlier} erased before)" if erased.rounds_before else ""
        if not (erased.total or erased.pending):
            return f"{self._name()}: nothing left to erase{before}."
        done = "would erase" if dry_run else "erased in part:" if erased.pending else "erased"
        return f"{self._name()}: {done} {erased.in_words()}{before}."

    def _name(self) -> str:
        if self._stream is None:
            return f"tenant {self.tenant}"
        name = output.visible_line(f"{self.tenant}/{self._stream}")
        return name if self._number is None else f"{name} round {self._number}"


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _progress(done: int, streams: int) -> None:
    if done:
        output.tell(f"{done:,} of {streams:,} streams…")


def _tell(erased: Erased) -> None:
    """What a person should know beside the counts."""
    for remark in erased.remarks:
        output.tell(output.visible_line(remark))
    for item in erased.pending:
        output.complain(output.visible_line(f"pending: {item.where}: {item.reason}"))
