"""`ares-worker`: finds the command, runs it, and turns every error into words and an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from ops.redact import redact

from . import output
from .cli_classes import LazyCommand, LazyGroup, Section
from .exit_codes import MEANINGS, ExitCode, exit_code_of, hint_for
from .invocation import Invocation

PROGRAM: Final = "ares-worker"
COMPLETION_VARIABLE: Final = "_ARES_WORKER_COMPLETE"

_SECTIONS: Final = (
    Section(
        "Start here",
        {
            "demo": LazyCommand(
                "worker.commands.demo:demo", "Show everything once, on a Redis of its own."
            ),
            "run": LazyCommand(
                "worker.commands.run:run", "Run the worker: sequence, archive, compact."
            ),
        },
    ),
    Section(
        "Events",
        {
            "emit": LazyCommand("worker.commands.emit:emit", "Send one event."),
            "import": LazyCommand(
                "worker.commands.importing:import_files", "Send the events of JSON lines files."
            ),
            "streams": LazyCommand(
                "worker.commands.streams:streams",
                "List streams, show one's events, mend a quarantined one.",
            ),
            "tail": LazyCommand(
                "worker.commands.tail:tail", "Follow events as they happen, one line each."
            ),
            "dead": LazyCommand(
                "worker.commands.dead:dead", "List, show, requeue or purge rejected events."
            ),
        },
    ),
    Section(
        "Archive",
        {
            "recall": LazyCommand(
                "worker.commands.recall:recall", "What was decided, changed and verified before."
            ),
            "record": LazyCommand(
                "worker.commands.record:record",
                "Build round records from files, without Redis.",
            ),
            "segment": LazyCommand(
                "worker.commands.segment:segment", "Seal, search and forget conversations by hand."
            ),
        },
    ),
    Section(
        "Operations",
        {
            "top": LazyCommand(
                "worker.commands.top:top", "Watch streams, lags, workers, leases and rates."
            ),
            "verify": LazyCommand(
                "worker.commands.verify:verify", "Check logs, state and archive together."
            ),
            "compact": LazyCommand(
                "worker.commands.compact:compact", "Fold a stream's old events into a summary."
            ),
            "erase": LazyCommand(
                "worker.commands.erase:erase", "Erase a round, a stream or a tenant for good."
            ),
            "subscribers": LazyCommand(
                "worker.commands.subscribers:subscribers",
                "Who follows the events, how far behind, what was dropped.",
            ),
            "config": LazyCommand(
                "worker.commands.config:config", "Show the settings and their origins; check them."
            ),
            "doctor": LazyCommand(
                "worker.commands.doctor:doctor", "Check Redis, volume and settings: what to do."
            ),
            "completion": LazyCommand(
                "worker.commands.completion:completion", "Print the completion script of a shell."
            ),
        },
    ),
)

_EXIT_CODES: Final = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        output.write(f"{PROGRAM} {version(PROGRAM)}")
        ctx.exit()


@click.group(
    PROGRAM,
    cls=LazyGroup,
    sections=_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"\b\nExit codes:\n{_EXIT_CODES}",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Archive AI agents' events from Redis Streams as JSON round files.

    Producers XADD events to an inbox; the worker orders them into versioned logs, writes one
    file for every finished round of work, and keeps Redis small.

    \b
    Examples:
      ares-worker demo
      ares-worker run --redis redis://127.0.0.1:6379/0 --archive-dir /data/rounds
      ares-worker emit session-42 task.completed --payload '{"result": "done"}'
      ares-worker recall query "rate limit"

    Data goes to stdout, everything else to stderr. With --json the answer is always one JSON
    document, an error too: {"error": {"kind", "message", "hint", "exit_code"}}.
    """
    ctx.ensure_object(Invocation)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line of this process and exit with its code."""
    sys.exit(run(sys.argv[1:] if args is None else args))


def run(args: Sequence[str]) -> int:
    """Run one command line; return its exit code. Never raises an `Exception`."""
    output.prepare_streams()
    invocation = Invocation()
    try:
        try:
            instruction = os.environ.get(COMPLETION_VARIABLE)
            code = _complete(instruction) if instruction else invoke(args, invocation)
            output.flush_streams()
        except (Exception, KeyboardInterrupt) as error:
            code = _report(error, invocation, as_json=_json_asked(args))
            output.flush_streams()
    except OSError as error:  # of the streams themselves
        output.abandon_streams()
        return exit_code_of(error)
    return code


def invoke(args: Sequence[str], invocation: Invocation | None = None) -> int:
    """Run one command line inside this one; return its exit code. Errors are the caller's."""
    try:
        with cli.make_context(PROGRAM, list(args), obj=invocation or Invocation()) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    except UnicodeEncodeError as error:
        for arg in args:
            # Bytes that are no UTF-8 come as halves of surrogate pairs. Paths may hold them.
            if arg.encode(errors="ignore").decode() != arg:
                shown = arg.encode(errors="backslashreplace").decode()
                raise click.UsageError(f"{shown} is no UTF-8 text") from error
        raise
    return result if isinstance(result, int) else ExitCode.DONE


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, instruction)


def _json_asked(args: Sequence[str]) -> bool:
    return "--json" in args[: args.index("--") if "--" in args else len(args)]


def _report(error: BaseException, invocation: Invocation, *, as_json: bool) -> int:
    """Say on stderr, and as JSON on stdout where that was asked for, what went wrong."""
    if isinstance(error, click.exceptions.Abort):
        error = KeyboardInterrupt()
    code = error.exit_code if isinstance(error, click.ClickException) else exit_code_of(error)
    if code == ExitCode.CLOSED_PIPE:
        output.abandon_streams()
        return code
    try:
        output.flush_streams()
    except OSError:
        # What can't be written stays in the buffer and would fail each line of the report, too.
        output.abandon_streams()
    if code == ExitCode.INTERRUPTED:
        output.complain("")
        return code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        output.complain(error.format_message())
        return code
    message, hint = _words(error, code, invocation)
    if as_json and not invocation.answered:
        facts = {"kind": type(error).__name__, "message": message, "hint": hint or None}
        output.write_json({"error": {**facts, "exit_code": int(code)}})
    shown = _usage(error) if isinstance(error, click.UsageError) else ""
    for line in (*shown.splitlines(), f"{PROGRAM}: {message}", *([f"  {hint}"] if hint else [])):
        output.complain(output.visible(line))
    return code


def _words(error: BaseException, code: int, invocation: Invocation) -> tuple[str, str]:
    if isinstance(error, click.ClickException):
        return redact(error.format_message()), ""
    message = redact(_said_by(error)) or type(error).__name__
    if code != ExitCode.BUG:
        return message, hint_for(error)
    if invocation.verbosity:
        import traceback

        output.complain(redact("".join(traceback.format_exception(error))))
    hint = "This is a bug of ares-worker. Please report it with what -v shows."
    return f"{type(error).__name__}: {message}", hint


def _said_by(error: BaseException) -> str:
    """What an error says; the system's own without its number."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _usage(error: click.UsageError) -> str:
    """The usage line of the command that was called wrongly, and how to get its help."""
    if error.ctx is None:
        return ""
    said = io.StringIO()
    error.show(file=said)
    lines = said.getvalue().splitlines()
    return "\n".join(line for line in lines if not line.startswith("Error:"))


if __name__ == "__main__":
    main()
