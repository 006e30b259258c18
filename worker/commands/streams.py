"""`streams`: which streams there are, how far each is archived, and what is in one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from worker.commands.streams_repair import repair
from worker.commands.verify import verify
from worker.console import output, words
from worker.console.classes import AresGroup, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.console.params import Moment

if TYPE_CHECKING:
    from streams.event import Event
    from streams.overview import StreamLook
    from streams.redis_store import RedisEventStore
    from worker.settings.load import Settings

_PAGE: Final = 500
_SHOWN: Final = 100
_NARROWEST_TEXT: Final = 20


@click.group("streams", cls=AresGroup)
def streams() -> None:
    """List streams and show their events.

    \b
    Examples:
      ares-worker streams list
      ares-worker streams show session-42 --limit 20 --backward
      ares-worker streams verify session-42
      ares-worker streams repair session-42
    """


streams.add_command(verify)
streams.add_command(repair)


@streams.command("list")
@json_option("an array of streams")
@pass_invocation
def list_streams(invocation: Invocation, as_json: bool) -> int:
    """List the streams of each tenant, the one written last first.

    HEAD is the newest version, LOG the events still in Redis and SIZE their memory; OPEN events
    are in no round file yet. A quarantined stream is named with the reason.
    """
    from streams.overview import Overview
    from worker.console.sessions import with_each_store

    if as_json:
        with output.json_array() as array:

            async def add(store: RedisEventStore, _: Settings) -> None:
                async for facts in Overview(store.wires, store.keys).streams():
                    array.add({"tenant": store.tenant, **words.stream_facts(facts)})

            with_each_store(invocation, add)
        return ExitCode.DONE

    async def show(store: RedisEventStore, settings: Settings) -> None:
        overview = Overview(store.wires, store.keys)
        found = [facts async for facts in overview.streams()]
        tenant = await overview.tenant()
        if len(settings.tenants) > 1:
            output.write(output.paint(f"tenant {store.tenant}", bold=True))
        _write_table(found, store.clock())
        waiting = f"inbox {tenant.inbox:,} · feed {tenant.feed:,} · dead letters {tenant.dead:,}"
        output.tell(f"{words.count(len(found), 'stream')} · {waiting}")

    with_each_store(invocation, show)
    return ExitCode.DONE


@streams.command("show")
@click.argument("stream")
@click.option(
    "--from", "first", type=click.IntRange(min=1), default=1, metavar="N", help="First version."
)
@click.option("--to", "last", type=click.IntRange(min=1), metavar="N", help="Last version.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_SHOWN,
    metavar="N",
    help=f"Most events; 0 for all.  [default: {_SHOWN}]",
)
@click.option("--backward", is_flag=True, help="Newest first.")
@click.option("--since", type=Moment(), metavar="TIME", help="Committed at or after: 10m, a date.")
@click.option("--full", is_flag=True, help="Whole payloads instead of one line an event.")
@json_option("the stream with an array of its events")
@pass_invocation
def show_stream(
    invocation: Invocation,
    stream: str,
    first: int,
    last: int | None,
    limit: int,
    backward: bool,
    since: datetime | None,
    full: bool,
    as_json: bool,
) -> int:
    """Show what is known of STREAM and its events, summaries of compacted ones included.

    \b
    Examples:
      ares-worker streams show session-42
      ares-worker streams show session-42 --from 100 --to 120 --full
      ares-worker streams show session-42 --since 2h --json | jq '.events[].type'
    """
    from streams.overview import Overview
    from worker.console.sessions import with_store

    reading = _Reading(stream, first, last, limit, backward, since)

    async def show(store: RedisEventStore, _: Settings) -> None:
        facts = await Overview(store.wires, store.keys).stream(stream)
        events = _events(store, reading)
        if as_json:
            await _write_json(facts, events)
        else:
            await _write_text(facts, events, reading, full=full)

    with_store(invocation, show)
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class _Reading:
    """Which events of a stream to show; a limit of 0 is none."""

    stream: str
    first: int
    last: int | None
    limit: int
    backward: bool
    since: datetime | None


async def _events(store: RedisEventStore, reading: _Reading) -> AsyncIterator[Event]:
    """The events page by page, so that a long stream never is in memory as a whole."""
    from streams.store import Direction

    direction = Direction.BACKWARD if reading.backward else Direction.FORWARD
    first, last, left = reading.first, reading.last, reading.limit
    while last is None or first <= last:
        count = min(_PAGE, left) if reading.limit else _PAGE
        page = await store.read(reading.stream, first, last, count, direction, reading.since)
        for event in page:
            yield event
        left -= len(page)
        if len(page) < count or (reading.limit and left == 0):
            return
        if reading.backward:
            last = page[-1].version - 1
        else:
            first = page[-1].version + 1


async def _write_json(facts: StreamLook, events: AsyncIterator[Event]) -> None:
    before = f'{{"stream": {output.to_json(words.stream_facts(facts))}, "events": '
    with output.json_array(before, "}") as array:
        async for event in events:
            array.add(words.event_facts(event))


async def _write_text(
    facts: StreamLook, events: AsyncIterator[Event], reading: _Reading, *, full: bool
) -> None:
    state = facts.state
    output.write(output.paint(output.visible_line(facts.stream), bold=True))
    output.write(
        f"  head {facts.head:,} · {words.count(facts.retained, 'event')} in the log "
        f"({words.size(facts.log_bytes)}) · archived up to {state.archived_version:,} "
        f"in {words.count(state.rounds, 'round')} · compacted up to {state.compacted_version:,}"
    )
    if facts.quarantined:
        output.write(_quarantine(facts))
    written, last = 0, 0
    async for event in events:
        _write_event(event, full=full)
        written, last = written + 1, event.version
    if written and written == reading.limit and last != (1 if reading.backward else facts.head):
        output.tell(f"Stopped after {words.count(written, 'event')}; --limit 0 shows all.")


def _write_event(event: Event, *, full: bool) -> None:
    start = f"{event.version:>7}  {words.moment(event.timestamp)}  "
    kind = output.visible_line(event.type)
    if full:
        output.write(f"{start}{output.paint(kind, fg='cyan')}  id={output.visible_line(event.id)}")
        for name, document in (("payload", event.payload), ("metadata", event.metadata)):
            if document:
                output.write(f"         {name} {output.to_json(dict(document))}")
        return
    room = output.terminal_width() - len(start) - max(len(kind), 20) - 2
    text = output.clip(output.visible_line(words.telling(event)), max(room, _NARROWEST_TEXT))
    output.write(f"{start}{output.paint(f'{kind:<20}', fg='cyan')}  {text}".rstrip())


def _write_table(found: list[StreamLook], now_ms: int) -> None:
    headers = ("HEAD", "LOG", "SIZE", "ARCHIVED", "OPEN", "ROUNDS", "COMPACTED", "AGE", "STREAM")
    rows = [
        (
            str(facts.head),
            str(facts.retained),
            words.size(facts.log_bytes),
            str(facts.state.archived_version),
            str(facts.unarchived),
            str(facts.state.rounds),
            str(facts.state.compacted_version),
            words.age(facts.last_commit_ms, now_ms),
            facts.stream,
        )
        for facts in found
    ]
    header, *lines = output.table(headers, rows, left=0, text_last=True)
    output.write(header)
    for line, facts in zip(lines, found, strict=True):
        output.write(line)
        if facts.quarantined:
            output.write(_quarantine(facts))


def _quarantine(facts: StreamLook) -> str:
    return output.paint(output.visible_line(f"  ! quarantined: {facts.quarantined}"), fg="red")
