"""`recall`: the archive's rounds, searched and shown. Needs no Redis."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from worker import output, words
from worker.cli_classes import AresCommand, AresGroup, json_option
from worker.exit_codes import ExitCode
from worker.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from archive.reader import FileArchiveReader
    from archive.survey import ArchivedRound

_ACTIONS: Final = ("plan", "implement", "fix", "review")
_NAMED: Final = 12
_OUTCOMES: Final = ("completed", "failed", "unfinished")


@click.group("recall", cls=AresGroup)
def recall() -> None:
    """Answer what was decided, changed and verified in earlier rounds, from the archive alone.

    \b
    Examples:
      ares-worker recall query "rate limit"
      ares-worker recall query login --file app/ --since 7d --failed
      ares-worker recall round 3 --stream session-42
      ares-worker recall list --limit 20
    """


class _QueryCommand(AresCommand):
    """Takes text that may look like an option; says how."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as exc:
            said = f"{exc.format_message()} Write -- before text that begins with a dash."
            raise click.UsageError(said, ctx) from exc


def _filters(command: Callable[..., int]) -> Callable[..., int]:
    """The options that narrow down which rounds come into question."""
    for option in reversed(
        (
            click.option(
                "--stream", "streams", metavar="S", multiple=True, help="Only this stream."
            ),
            click.option("--action", type=click.Choice(_ACTIONS), help="What the round was for."),
            click.option("--outcome", type=click.Choice(_OUTCOMES), help="How it ended."),
            click.option("--failed", is_flag=True, help="Failed rounds, or with a failed check."),
            click.option("--file", metavar="PATH", help="Changed this file: a part, or * and ?."),
            click.option("--ref", metavar="REF", help="Names this commit, issue, URL…"),
            click.option("--since", metavar="TIME", help="Ended at or after: 7d, 2026-01-31."),
            click.option("--until", metavar="TIME", help="Ended at or before."),
            click.option(
                "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N."
            ),
            click.option("--no-index", is_flag=True, help="Read every file; same answer, slower."),
        )
    ):
        command = option(command)
    return command


@recall.command("query", cls=_QueryCommand)
@click.argument("text", nargs=-1, required=True)
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@_filters
@click.option("--full", is_flag=True, help="Long fields as a whole.")
@json_option("an array of records")
@pass_invocation
def query(
    invocation: Invocation,
    /,
    text: tuple[str, ...],
    regex: bool,
    full: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Find rounds that contain TEXT, newest first; exit 1 when there is none.

    Every word must occur, a "phrase" as a whole; upper and lower case are alike, and every
    character means itself unless --regex is given. Write -- before text that begins with a dash.

    \b
    Examples:
      ares-worker recall query rate limit
      ares-worker recall query '"token bucket"' --since 30d --json | jq -r '.[].decisions[]'
      ares-worker recall query --regex 'time-?out' --failed
      ares-worker recall query -- --force
    """
    from archive.recall_query import parse_pattern, parse_query
    from worker.recall_search import Search

    sought = parse_pattern(" ".join(text)) if regex else parse_query(" ".join(text))
    search = Search(invocation, sought, asked)
    if as_json:
        return search.write_json(_record_as_json)
    from worker.recall_blocks import Blocks

    blocks = Blocks(sought, full=full, width=output.terminal_width())
    return search.write_text(lambda found: "\n".join(blocks.lines(found)))


@recall.command("list")
@_filters
@json_option("an array of rounds")
@pass_invocation
def list_rounds(invocation: Invocation, /, as_json: bool, **asked: Any) -> int:
    """List rounds, one line each, newest first; exit 1 when there is none.

    \b
    Examples:
      ares-worker recall list --limit 20
      ares-worker recall list --stream session-42 --outcome failed
    """
    from archive.recall_query import EVERYTHING
    from worker.recall_blocks import summary_line
    from worker.recall_search import Search

    search = Search(invocation, EVERYTHING, asked)
    if as_json:
        return search.write_json(_line_as_json)
    width = output.terminal_width() if sys.stdout is not None and sys.stdout.isatty() else None
    return search.write_text(lambda found: summary_line(found, width=width))


@recall.command("round")
@click.argument("number", type=click.IntRange(min=1), metavar="N")
@click.option("--stream", metavar="S", help="The stream it belongs to, where several have one.")
@json_option("the record on one line")
@pass_invocation
def show_round(invocation: Invocation, number: int, stream: str | None, as_json: bool) -> int:
    """Show the whole record of round N.

    \b
    Examples:
      ares-worker recall round 3 --stream session-42
      ares-worker recall round 3 --json | jq .verdict
    """
    from worker.recall_search import reader_of

    found = _one_round(reader_of(invocation), number, stream)
    output.write_json(dict(found.raw), indent=None if as_json else 2)
    return ExitCode.DONE


def _one_round(reader: FileArchiveReader, number: int, stream: str | None) -> ArchivedRound:
    from streams.errors import NotFoundError
    from worker.recall_blocks import place_in_words
    from worker.recall_search import complain_of

    if stream is not None:
        return reader.show(stream, number)
    holders = reader.holders(number, complain_of)
    if not holders:
        raise NotFoundError(f"no stream has a round {number}")
    if len(holders) > 1:
        names = sorted(place_in_words(found) for found in holders)
        named = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        raise click.UsageError(
            f"{words.count(len(names), 'stream')} have a round {number}; say --stream: {named}"
        )
    return holders[0]


def _record_as_json(found: ArchivedRound) -> dict[str, Any]:
    """The whole record; what a file of ARES doesn't name, its place does."""
    named = {"stream_id": found.stream, "tenant_id": found.place.folder.tenant}
    return {**found.raw, **named}


def _line_as_json(found: ArchivedRound) -> dict[str, Any]:
    record = found.record
    return {
        "tenant_id": found.place.folder.tenant,
        "stream_id": found.stream,
        "round": found.place.round,
        "action": record.action,
        "outcome": record.outcome,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "summary": record.summary,
    }
