"""`tail`: events of the agents as they happen, one line each."""

from __future__ import annotations

import sys
import zlib
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from streams.event import SUMMARY_TYPE
from worker.console import output, words
from worker.console.classes import AresCommand
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.console.params import Moment

if TYPE_CHECKING:
    from streams.filter import EventFilter
    from streams.redis_store import RedisEventStore
    from streams.subscription.items import Item
    from worker.settings.load import Settings

_PAGE: Final = 256
_WIDEST_STREAM: Final = 32
_NARROWEST_TEXT: Final = 20
_STREAM_COLORS: Final = ("green", "yellow", "blue", "magenta", "cyan", "bright_blue")
_TYPE_COLORS: Final = {"task.completed": "green", "task.failed": "red", "step.failed": "red"}


@click.command("tail", cls=AresCommand)
@click.option("--stream", "streams", multiple=True, metavar="S", help="Only this stream, or `a*`.")
@click.option("--type", "types", multiple=True, metavar="T", help="Only this type, or `task.*`.")
@click.option("--since", type=Moment(), metavar="TIME", help="Begin with those since: 10m, a date.")
@click.option("--from-beginning", is_flag=True, help="Begin with all there are.")
@click.option(
    "--follow/--no-follow", default=True, help="Go on with what comes, or stop.  [default: follow]"
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@pass_invocation
def tail(
    invocation: Invocation,
    streams: tuple[str, ...],
    types: tuple[str, ...],
    since: datetime | None,
    from_beginning: bool,
    follow: bool,
    as_json: bool,
) -> int:
    """Follow the events of a tenant, as `kubectl logs -f` follows a pod.

    Without --since or --from-beginning it begins with what happens now; with --no-follow it
    shows what there is. Events folded away come as their summary. It goes on after a restart of
    Redis, and ends with Ctrl-C.

    \b
    Examples:
      ares-worker tail
      ares-worker tail --stream session-42 --since 10m
      ares-worker tail --stream 'agent-7/*' --type 'task.*'
      ares-worker tail --from-beginning --no-follow --json | jq -r .type | sort | uniq -c
    """
    from streams.filter import EventFilter
    from worker.console.sessions import with_store

    if since is not None and from_beginning:
        raise click.UsageError("Choose one of --since and --from-beginning.")
    wanted = EventFilter(streams, types, since)
    printer = _Printer(as_json)

    async def show(store: RedisEventStore, _: Settings) -> None:
        if not follow:
            await _show_history(store, wanted, printer)
            return
        start = "beginning" if since is not None or from_beginning else "now"
        subscription = store.subscribe(wanted, on_overflow="block", start=start, buffer=_PAGE)
        async with subscription:
            async for item in subscription:
                printer.show(item)
                sys.stdout.flush()

    with_store(invocation, show)
    return ExitCode.DONE


async def _show_history(store: RedisEventStore, wanted: EventFilter, printer: _Printer) -> None:
    """What there is now, in the order of commits."""
    from streams.live.history import History
    from streams.reading import StreamReader
    from streams.subscription.redis_source import RedisSource
    from streams.subscription.wanted import Wanted

    reader = StreamReader(store.wires, store.keys)
    history = History(RedisSource(store.wires, store.keys, reader), Wanted(wanted))
    while rows := await history.rows(_PAGE):
        for row in rows:
            printer.show(row.item)


class _Printer:
    """Writes items as lines; the column of streams grows with the names it has met."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._width = 0

    def show(self, item: Item) -> None:
        """Write one line for an item."""
        from streams.subscription.items import Gap, Reset

        if self._as_json:
            output.write_json(_facts(item))
        elif isinstance(item, Gap):
            where = f"versions {item.from_version}-{item.to_version} of {item.stream}"
            text = f"{words.count(item.count, 'event')} can't be shown: {where}"
            output.tell(output.paint(output.visible_line(text), fg="yellow"))
        elif isinstance(item, Reset):
            text = "The feed was trimmed or reset; some events may be shown twice."
            output.tell(output.paint(text, fg="yellow"))
        else:
            output.write(self._line(item))

    def _line(self, event: Any) -> str:
        stream, kind = output.visible_line(event.stream_id), output.visible_line(event.type)
        self._width = max(self._width, min(output.width_of(stream), _WIDEST_STREAM))
        start = words.moment(event.timestamp)
        first = event.payload.get("first_version") if event.type == SUMMARY_TYPE else None
        place = f"{event.version if first is None else f'{first}-{event.version}':>5}"
        taken = len(start) + self._width + len(place) + max(len(kind), 20) + 8
        room = max(output.terminal_width() - taken, _NARROWEST_TEXT)
        text = output.clip(output.visible_line(words.telling(event)), room)
        color = _STREAM_COLORS[zlib.crc32(event.stream_id.encode()) % len(_STREAM_COLORS)]
        name = output.clip(stream, _WIDEST_STREAM)
        padding = " " * max(self._width - output.width_of(name), 0)
        shown = (
            output.paint(start, dim=True),
            output.paint(name, fg=color) + padding,
            place,
            output.paint(f"{kind:<20}", fg=_TYPE_COLORS.get(event.type, "cyan")),
            text,
        )
        return "  ".join(shown).rstrip()


def _facts(item: Item) -> dict[str, Any]:
    """An item for `--json`: an event, or an object with `gap` or `reset` alone."""
    from streams.subscription.items import Gap, Reset

    if isinstance(item, Gap):
        return {
            "gap": {
                "stream": item.stream,
                "from_version": item.from_version,
                "to_version": item.to_version,
                "count": item.count,
            }
        }
    if isinstance(item, Reset):
        return {"reset": item.reason}
    return words.event_facts(item)
