"""Says what went wrong: in words on stderr, as JSON on stdout, and by the exit code."""

from __future__ import annotations

import io

import click

from ops.redact import redact

from . import output
from .exit_codes import ExitCode, exit_code_of, hint_for
from .invocation import Invocation


def report(error: BaseException, invocation: Invocation, *, as_json: bool) -> int:
    """Say what went wrong, as JSON too where that was asked for; return the exit code.

    Raises the `OSError` of a stream that can't be written.
    """
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
    for line in (*shown.splitlines(), f"ares-worker: {message}", *([f"  {hint}"] if hint else [])):
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
