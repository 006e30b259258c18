"""`ares-worker`: finds the command, runs it, and turns every error into words and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from .console import output
from .console.classes import LazyGroup
from .console.errors import report
from .console.exit_codes import MEANINGS, ExitCode, exit_code_of
from .console.invocation import Invocation
from .console.sections import SECTIONS

PROGRAM: Final = "ares-worker"
COMPLETION_VARIABLE: Final = "_ARES_WORKER_COMPLETE"

_EXIT_CODES: Final = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        output.write(f"{PROGRAM} {version(PROGRAM)}")
        ctx.exit()


@click.group(
    PROGRAM,
    cls=LazyGroup,
    sections=SECTIONS,
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
            code = complete(instruction) if instruction else invoke(args, invocation)
            output.flush_streams()
        except (Exception, KeyboardInterrupt) as error:
            code = report(error, invocation, as_json=_json_asked(args))
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


def complete(instruction: str) -> int:
    """Answer a shell that completes a command line, as `instruction` says."""
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, instruction)


def _json_asked(args: Sequence[str]) -> bool:
    return "--json" in args[: args.index("--") if "--" in args else len(args)]


if __name__ == "__main__":
    main()
