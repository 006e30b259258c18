"""`compact`: fold a stream's old events into a summary, now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from worker.console import output, words
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from streams.redis_store import RedisEventStore
    from worker.compacting.compactor import Compactor
    from worker.settings.load import Settings


@click.command("compact", cls=AresCommand)
@click.argument("stream")
@click.option("--force", is_flag=True, help="Also below the threshold of events.")
@click.option("--dry-run", is_flag=True, help="Only say what would be folded.")
@json_option("one object")
@pass_invocation
def compact(invocation: Invocation, stream: str, force: bool, dry_run: bool, as_json: bool) -> int:
    """Fold archived events of STREAM into summaries and take them out of Redis.

    The newest events (compaction.keep_recent) and all that is not archived yet stay. Without
    --force nothing happens below compaction.threshold. Exit 1 when there is nothing to fold.

    \b
    Examples:
      ares-worker compact session-42 --dry-run
      ares-worker compact session-42 --force
    """
    from worker.console.sessions import with_store

    async def fold(store: RedisEventStore, settings: Settings) -> _Folded:
        from streams.overview import Overview
        from worker.wiring.tenant import build_compactor

        await Overview(store.wires, store.keys).stream(stream)
        compactor = build_compactor(store, settings)
        try:
            if dry_run:
                return await _planned(compactor, stream, force=force)
            return await _fold_all(compactor, stream, force=force)
        finally:
            await compactor.close()

    folded = with_store(invocation, fold)
    if as_json:
        output.write_json(
            {
                "stream": stream,
                "dry_run": dry_run,
                "first_version": folded.first,
                "last_version": folded.last,
                "events": folded.events,
            }
        )
    else:
        output.write(_in_words(stream, folded, dry_run=dry_run))
    return ExitCode.DONE if folded.events else ExitCode.NO


@dataclass(frozen=True, slots=True)
class _Folded:
    """Versions first..last were or would be folded; None when there is nothing to fold."""

    first: int | None = None
    last: int | None = None

    @property
    def events(self) -> int:
        """How many events that is."""
        return 0 if self.first is None or self.last is None else self.last - self.first + 1


async def _planned(compactor: Compactor, stream: str, *, force: bool) -> _Folded:
    window = await compactor.plan(stream, force=force)
    return _Folded() if window is None else _Folded(window.first, window.last)


async def _fold_all(compactor: Compactor, stream: str, *, force: bool) -> _Folded:
    """Window by window until nothing is due; another worker may fold some of them."""
    folded = _Folded()
    while True:
        facts = await compactor.compact(stream, force=force)
        if facts.window is not None and facts.events:
            first = facts.window.first if folded.first is None else folded.first
            folded = _Folded(first, facts.window.last)
        if not facts.more:
            return folded


def _in_words(stream: str, folded: _Folded, *, dry_run: bool) -> str:
    name = output.visible_line(stream)
    if not folded.events:
        return f"{name}: nothing to fold."
    verb = "would fold" if dry_run else "folded"
    span = f"versions {folded.first:,} to {folded.last:,}"
    return f"{name}: {verb} {words.count(folded.events, 'event')}, {span}."
