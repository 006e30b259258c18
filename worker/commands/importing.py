"""`import`: JSON lines into the inbox."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from worker.console import output, words
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.console.params import lines_files

if TYPE_CHECKING:
    from streams.redis_store import RedisEventStore
    from worker.importing.files import ImportFile, ImportReport
    from worker.importing.lines import BadLine
    from worker.settings.load import Settings


@click.command("import", cls=AresCommand)
@lines_files
@click.option("--strict", is_flag=True, help="Send nothing at all when a line is bad.")
@json_option("one object")
@pass_invocation
def import_files(
    invocation: Invocation, files: tuple[str, ...], strict: bool, as_json: bool
) -> int:
    """Send the events in each FILE of JSON lines to the inbox; - reads standard input.

    A line is {"stream", "type", "payload", "id"?, "module"?, "metadata"?, "timestamp"?}. Without
    an id the event gets one from the line's number and content, so importing a file again within
    the retry window (an hour by default) records nothing twice. Without a timestamp it gets that
    of the line before of its stream, else the file's modification time. Bad lines are reported
    by number and skipped.

    \b
    Examples:
      ares-worker import sessions/*.jsonl
      zcat old.jsonl.gz | ares-worker import --strict -
    """
    from worker.console.sessions import with_store
    from worker.importing.files import ImportFile, check_files, send_files

    with ExitStack() as stack:
        opened = [stack.enter_context(ImportFile(name)) for name in files]
        passes = 2 if strict else 1
        on_progress = stack.enter_context(_progress(opened, passes, quiet=invocation.quiet))

        async def send(store: RedisEventStore, _: Settings) -> ImportReport:
            if strict:
                limits = store.options.limits
                check_files(opened, limits, on_bad=_complain, on_progress=on_progress)
            return await send_files(store, opened, on_bad=_complain, on_progress=on_progress)

        report = with_store(invocation, send)
    if as_json:
        output.write_json(_as_json(report))
    else:
        output.write(_in_words(report))
    return ExitCode.DONE


@contextmanager
def _progress(
    files: list[ImportFile], passes: int, *, quiet: bool
) -> Iterator[Callable[[int], None]]:
    """A bar on stderr when that is a terminal and the sizes are known; nothing elsewhere."""
    total = passes * sum(file.size for file in files)
    if quiet or not total or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=total, label="Importing", file=sys.stderr) as bar:
        yield bar.update


def _complain(file: str, bad: BadLine) -> None:
    # A bar may stand on this line of the terminal.
    start = "\r\x1b[2K" if sys.stderr is not None and sys.stderr.isatty() else ""
    output.complain(start + output.visible_line(f"{file}:{bad.line}: {bad.reason}"))


def _as_json(report: ImportReport) -> dict[str, int]:
    return {
        "files": report.files,
        "sent": report.sent,
        "skipped": report.skipped,
        "streams": len(report.streams),
    }


def _in_words(report: ImportReport) -> str:
    skipped = f", skipped {words.count(report.skipped, 'bad line')}" if report.skipped else ""
    streams = words.count(len(report.streams), "stream")
    files = words.count(report.files, "file")
    return f"Sent {words.count(report.sent, 'event')} of {streams} from {files}{skipped}."
