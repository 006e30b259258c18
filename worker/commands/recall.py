"""`recall`: the archive's rounds, searched and shown. Needs no Redis."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from worker import output, words
from worker.cli_classes import AresCommand, AresGroup, json_option
from worker.exit_codes import ExitCode
from worker.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from archive.reader import FileArchiveReader
    from archive.recall import Recall
    from archive.recall_query import Filters, Query
    from archive.survey import ArchivedRound, Problem

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

    sought = parse_pattern(" ".join(text)) if regex else parse_query(" ".join(text))
    search = _Search(invocation, sought, asked)
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

    search = _Search(invocation, EVERYTHING, asked)
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
    found = _one_round(_reader(invocation), number, stream)
    output.write_json(dict(found.raw), indent=None if as_json else 2)
    return ExitCode.DONE


def _one_round(reader: FileArchiveReader, number: int, stream: str | None) -> ArchivedRound:
    from streams.errors import NotFoundError
    from worker.recall_blocks import place_in_words

    if stream is not None:
        return reader.show(stream, number)
    holders = reader.holders(number, _complain)
    if not holders:
        raise NotFoundError(f"no stream has a round {number}")
    if len(holders) > 1:
        names = sorted(place_in_words(found) for found in holders)
        named = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        raise click.UsageError(
            f"{words.count(len(names), 'stream')} have a round {number}; say --stream: {named}"
        )
    return holders[0]


@dataclass(slots=True)
class _Search:
    """One search and how its answer is written."""

    invocation: Invocation
    query: Query
    asked: dict[str, Any]

    def write_json(self, shape: Callable[[ArchivedRound], dict[str, Any]]) -> int:
        """Every round as one item of an array."""
        with output.json_array() as array:
            for found in self._rounds():
                array.add(shape(found))
        return ExitCode.DONE if array.started else ExitCode.NO

    def write_text(self, shape: Callable[[ArchivedRound], str]) -> int:
        """Every round as text."""
        count = 0
        for found in self._rounds():
            count += 1
            output.write(shape(found))
        if not count:
            output.tell("No round fits.")
        return ExitCode.DONE if count else ExitCode.NO

    def _rounds(self) -> Iterator[ArchivedRound]:
        recall = self._recall()
        with _progress() as progress:
            yield from recall.query(
                self.query,
                self._filters(),
                limit=self.asked["limit"],
                report=_complain,
                progress=progress,
            )

    def _recall(self) -> Recall:
        from archive.recall import Recall

        settings = self.invocation.light_settings()
        cache = None if self.asked["no_index"] else _cache_folder()
        tenants = _tenants(self.invocation, settings.tenants)
        return Recall(settings.archive_dir, tenants=tenants, cache=cache)

    def _filters(self) -> Filters:
        from archive.recall_query import Filters, parse_when
        from streams.clock import utc_now

        now = utc_now()
        since, until = self.asked["since"], self.asked["until"]
        return Filters(
            streams=self.asked["streams"],
            action=self.asked["action"] or "",
            outcome=self.asked["outcome"] or "",
            file=self.asked["file"] or "",
            ref=self.asked["ref"] or "",
            since=None if since is None else parse_when(since, now=now),
            until=None if until is None else parse_when(until, now=now, end=True),
            failed=self.asked["failed"],
        )


def _reader(invocation: Invocation) -> FileArchiveReader:
    from archive.reader import FileArchiveReader

    settings = invocation.light_settings()
    tenants = _tenants(invocation, settings.tenants)
    return FileArchiveReader(settings.archive_dir, tenants=tenants)


def _tenants(invocation: Invocation, configured: tuple[str, ...]) -> tuple[str, ...]:
    """The tenants asked for by flag, environment or file; all in the archive otherwise."""
    from worker.settings_files import DEFAULT_TENANTS

    return configured if invocation.tenants or configured != DEFAULT_TENANTS else ()


def _cache_folder() -> Path | None:
    """Where this user's caches are; None where there is no such place."""
    import os

    named = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(named) if named else Path.home() / ".cache") / "ares-worker"
    except RuntimeError:  # no home directory
        return None


def _complain(trouble: Problem) -> None:
    output.complain(output.visible_line(f"left out: {trouble.path}: {trouble.detail}"))


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """How far a first index is, on one line of a terminal, which is cleared at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return

    def tell(rounds: int) -> None:
        sys.stderr.write(f"\r\x1b[2KReading the archive: {words.count(rounds, 'round')}…\r")
        sys.stderr.flush()

    yield tell


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
