"""`recall timeline`, `stats` and `export`: the archive as a whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from streams.errors import UsageError
from worker.console import output
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.recalling.options import filter_options

_WIDEST_PLOT: Final = 120
_NO_SUCH_PLACE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})


@click.command("timeline", cls=AresCommand)
@click.argument("stream")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@json_option("an array of rounds")
@pass_invocation
def timeline(invocation: Invocation, stream: str, limit: int | None, as_json: bool) -> int:
    """Show the rounds of STREAM as a log, newest first; a mark where an epoch began.

    \b
    Examples:
      ares-worker recall timeline session-42
      ares-worker recall timeline session-42 --limit 10
    """
    from archive.recall.query import EVERYTHING
    from archive.recall.render import render_timeline
    from worker.recalling.search import Search, line_as_json, style

    search = Search(invocation, EVERYTHING, {"streams": (stream,), "limit": limit})
    if as_json:
        return search.write_json(line_as_json)
    return search.write_text(lambda rounds: render_timeline(rounds, style=style))


@click.command("stats", cls=AresCommand)
@filter_options
@json_option("one object")
@pass_invocation
def stats(invocation: Invocation, /, as_json: bool, **asked: Any) -> int:
    """Count rounds by outcome, action, failing check and day; exit 1 when there is none.

    \b
    Examples:
      ares-worker recall stats --since 30d
      ares-worker recall stats --stream session-42 --json | jq .failing_checks
    """
    from archive.recall import views as recall_views
    from archive.recall.query import EVERYTHING
    from worker.recalling.search import Search, style

    counts = recall_views.stats(Search(invocation, EVERYTHING, asked).rounds())
    if as_json:
        output.write_json(recall_views.stats_to_dict(counts))
    else:
        width = min(output.terminal_width() - 8, _WIDEST_PLOT)
        plain = not output.is_unicode()
        for line in recall_views.render_stats(counts, style=style, width=width, ascii_only=plain):
            output.write(line.removesuffix("\n"))
    return ExitCode.DONE if counts.rounds else ExitCode.NO


@click.command("export", cls=AresCommand)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown", "html"]),
    default="jsonl",
    help="What to write.  [default: jsonl]",
)
@click.option(
    "--output",
    "-o",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to FILE, which appears when it is complete.",
)
@filter_options
@pass_invocation
def export(invocation: Invocation, /, form: str, target: Path | None, **asked: Any) -> int:
    """Write rounds, newest first, as JSON lines, Markdown or one HTML page with a search; UTF-8.

    \b
    Examples:
      ares-worker recall export --format html -o rounds.html
      ares-worker recall export --stream session-42 --since 30d > rounds.jsonl
    """
    from archive.recall.export import FORMATS
    from archive.recall.query import EVERYTHING
    from worker.recalling.search import Search

    pieces = FORMATS[form](Search(invocation, EVERYTHING, asked).rounds())
    if target is None:
        output.write_bytes(piece.encode(errors="surrogatepass") for piece in pieces)
    else:
        _write_file(target, pieces)
    return ExitCode.DONE


def _write_file(target: Path, pieces: Iterable[str]) -> None:
    """All of `pieces` or no file at all; straight into what is no plain file, as /dev/stdout."""
    is_special = target.exists() and not target.is_file()
    # A link stays one, and its target gets the rounds.
    target = target if is_special else Path(os.path.realpath(target))
    draft = target if is_special else target.with_name(f".{os.getpid()}.ares-worker")
    try:
        with draft.open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.writelines(pieces)
        if draft != target:
            draft.replace(target)
    except OSError as exc:
        message = f"can't write {target}: {exc.strerror}"
        if exc.errno in _NO_SUCH_PLACE:
            raise UsageError(message) from exc
        raise OSError(exc.errno, message) from exc
    finally:
        if draft != target:
            with suppress(OSError):
                draft.unlink()
