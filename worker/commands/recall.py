"""`recall`: the archive's rounds, searched and shown. Needs no Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from worker.commands import recall_reports
from worker.console import output, words
from worker.console.classes import AresCommand, AresGroup, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.recalling.options import filter_options

if TYPE_CHECKING:
    from archive.places import ArchivedRound
    from archive.reader import FileArchiveReader

_NAMED: Final = 12


@click.group("recall", cls=AresGroup)
def recall() -> None:
    """Answer what was decided, changed and verified in earlier rounds, from the archive alone.

    \b
    Examples:
      ares-worker recall query "rate limit"
      ares-worker recall query login --file app/ --since 7d --failed
      ares-worker recall round 3 --stream session-42
      ares-worker recall list --limit 20
      ares-worker recall timeline session-42
    """


for command in (recall_reports.timeline, recall_reports.stats, recall_reports.export):
    recall.add_command(command)


class _QueryCommand(AresCommand):
    """Takes text that may look like an option; says how."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as exc:
            said = f"{exc.format_message()} Write -- before text that begins with a dash."
            raise click.UsageError(said, ctx) from exc


@recall.command("query", cls=_QueryCommand)
@click.argument("text", nargs=-1, required=True)
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@filter_options
@click.option("--full", is_flag=True, help="Long lists as a whole, and where the round stands.")
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
    from archive.recall.query import parse_pattern, parse_query
    from archive.recall.render import render_block
    from worker.recalling.search import Search, record_as_json, style

    sought = parse_pattern(" ".join(text)) if regex else parse_query(" ".join(text))
    search = Search(invocation, sought, asked)
    if as_json:
        return search.write_json(record_as_json)
    return search.write_text(
        lambda rounds: (
            render_block(found, query=sought, style=style, full=full) + "\n" for found in rounds
        )
    )


@recall.command("list")
@filter_options
@json_option("an array of rounds")
@pass_invocation
def list_rounds(invocation: Invocation, /, as_json: bool, **asked: Any) -> int:
    """List rounds, one line each, newest first; exit 1 when there is none.

    \b
    Examples:
      ares-worker recall list --limit 20
      ares-worker recall list --stream session-42 --outcome failed
    """
    from archive.recall.query import EVERYTHING
    from worker.recalling.search import Search, line_as_json, summary_line

    search = Search(invocation, EVERYTHING, asked)
    if as_json:
        return search.write_json(line_as_json)
    return search.write_text(lambda rounds: map(summary_line, rounds))


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
    from worker.recalling.search import reader_of

    found = _one_round(reader_of(invocation), number, stream)
    output.write_json(dict(found.raw), indent=None if as_json else 2)
    return ExitCode.DONE


def _one_round(reader: FileArchiveReader, number: int, stream: str | None) -> ArchivedRound:
    from streams.errors import NotFoundError
    from worker.recalling.search import complain_of, place_in_words

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
