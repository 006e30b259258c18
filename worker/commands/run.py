"""`run`: the worker, until told to stop or until there is nothing left to do."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from worker.console import output
from worker.console.classes import AresCommand
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from worker.settings.load import Settings
    from worker.wiring.worker import BuiltWorker


@click.command("run", cls=AresCommand)
@click.option("--once", is_flag=True, help="Work off what is there, then exit 0.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="Port of /metrics, /livez and /readyz; 0 takes a free one.  [default: 9095]",
)
@pass_invocation
def run(invocation: Invocation, once: bool, metrics_port: int | None) -> int:
    """Run the worker: sequence the inbox, archive finished rounds, compact old events.

    The first SIGTERM or Ctrl-C finishes current work and exits 0; a second one ends it at once.
    With --once it drains inbox and feed, archives, compacts, and serves no port. With --redis
    embedded the address of its Redis is printed on stdout, for any client to XADD to.

    \b
    Examples:
      ares-worker run --redis redis://127.0.0.1:6379/0 --archive-dir /data/rounds
      ares-worker run --once --tenant acme --tenant other
      ares-worker run --redis embedded
    """
    from worker.console.sessions import reachable

    flags = {"metrics.port": metrics_port, "log.level": _log_level(invocation)}
    with _ended_by_sigterm(), reachable(invocation, **flags) as settings:
        if invocation.embedded:
            output.write(settings.redis.read_url())
            output.flush_streams()
        _work(settings, once=once)
    return ExitCode.DONE


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Before the worker answers SIGTERM itself, one ends the process with code 0.

    A container's first process would not even notice one that nobody handles.
    """

    def end(*_: object) -> None:
        raise SystemExit(ExitCode.DONE)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _log_level(invocation: Invocation) -> str | None:
    if invocation.quiet:
        return "error"
    return "debug" if invocation.verbosity else None


def _work(settings: Settings, *, once: bool) -> None:
    from ops.logs import logging_to
    from worker.running.ending import run_and_end
    from worker.wiring.worker import build_worker

    built = build_worker(settings)
    log = settings.log
    with ExitStack() as stack:
        stack.enter_context(logging_to(level=log.level, format=log.format, redactor=built.redactor))
        if not once:
            _serve(stack, built, settings)
        run_and_end(built.worker.run(once=once))


def _serve(stack: ExitStack, built: BuiltWorker, settings: Settings) -> None:
    """Open the port first: a worker nobody can watch must not run."""
    import logging

    from ops.logs import fields
    from ops.serve import operations_server

    server = operations_server(
        settings.metrics.host,
        settings.metrics.port,
        metrics=built.metrics,
        heartbeat=built.heartbeat,
        readiness=built.readiness,
        redactor=built.redactor,
    )
    stack.enter_context(server)
    where = fields(host=settings.metrics.host, port=server.port)
    logging.getLogger("ares.worker").info("serving /metrics, /livez and /readyz", extra=where)
