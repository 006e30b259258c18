"""`emit`: one event, through the inbox or, where a version is expected, straight into the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from worker.console import output
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.console.params import Version

if TYPE_CHECKING:
    from streams.redis_store import RedisEventStore
    from streams.store import ExpectedVersion
    from worker.settings.load import Settings


@click.command("emit", cls=AresCommand)
@click.argument("stream")
@click.argument("type")
@click.option(
    "--payload", metavar="JSON|@FILE|-", help="Payload, a JSON object; - reads standard input."
)
@click.option("--metadata", metavar="JSON|@FILE|-", help="Metadata, a JSON object.")
@click.option("--id", "event_id", metavar="ID", help="Event id; sent again, it is recorded once.")
@click.option("--module", metavar="NAME", help="Part of the agent that emits.")
@click.option(
    "--timestamp", metavar="TIME", help="RFC 3339, or epoch milliseconds.  [default: now]"
)
@click.option(
    "--expected-version",
    "expected",
    type=Version(),
    metavar="N|no-stream",
    help="Append at once, only if the stream is at version N (or empty); 0 or less: at any.",
)
@json_option("one object")
@pass_invocation
def emit(
    invocation: Invocation,
    stream: str,
    type: str,
    payload: str | None,
    metadata: str | None,
    event_id: str | None,
    module: str | None,
    timestamp: str | None,
    expected: ExpectedVersion | None,
    as_json: bool,
) -> int:
    """Send one event of TYPE to STREAM.

    It goes to the inbox, where the worker takes it from. With --expected-version it is appended
    to the log at once, without a worker, and the answer has its version.

    \b
    Examples:
      ares-worker emit session-42 task.created --payload '{"task": "fix the build"}'
      ares-worker emit session-42 task.completed --payload @result.json
      ares-worker emit session-42 message.added --payload '{"role": "user"}' --expected-version 7
    """
    from worker.console.sessions import with_store
    from worker.importing.emitting import Asked, append_event, send_event

    asked = Asked(stream, type, payload, metadata, event_id, module, timestamp)

    async def send(store: RedisEventStore, _: Settings) -> dict[str, str | int]:
        if expected is None:
            return await send_event(store, asked)
        return await append_event(store, asked, expected)

    answer = with_store(invocation, send)
    if as_json:
        output.write_json(answer)
    else:
        words = "  ".join(f"{name}={value}" for name, value in answer.items())
        output.write(output.visible_line(f"{'sent' if expected is None else 'appended'}  {words}"))
    return ExitCode.DONE
