"""`top`: what happens right now, on a terminal or as one report."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click

from worker.console import output
from worker.console.classes import AresCommand, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from worker.settings.load import Settings
    from worker.top.reader import TopReader


@click.command("top", cls=AresCommand)
@click.option("--once", is_flag=True, help="Report once and end; without a terminal always so.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1, max=3_600),
    default=2.0,
    metavar="SECONDS",
    help="Time between two looks, from which rates are told.  [default: 2]",
)
@click.option(
    "--streams",
    "most_streams",
    type=click.IntRange(1, 1_000),
    default=50,
    metavar="N",
    help="Streams of a tenant to look at, those written last.  [default: 50]",
)
@json_option("an object with tenants, their workers, leases and streams, once,")
@pass_invocation
def top(
    invocation: Invocation, once: bool, interval: float, most_streams: int, as_json: bool
) -> int:
    """Watch streams, lags, workers, leases and rates, like htop.

    Keys: q quits, s sorts the streams by time, rate, open events or size. A tenant's SEQ says
    whether a worker sequences its inbox; AGE and BEHIND are the ages of the oldest entry in inbox
    and feed, PENDING feed entries in a worker's hands, COMPACT events that could be compacted, EV/S
    and RND/S events and rounds a second of the streams looked at. Of a stream OPEN events are in no
    round file yet, LOG are in Redis. Nothing is changed.

    \b
    Examples:
      ares-worker top
      ares-worker top --tenant acme --tenant other --interval 0.5
      ares-worker top --once --json | jq '.tenants[] | {tenant, inbox_events, feed_lag_entries}'
    """
    from worker.console.sessions import quiet_logs, reachable

    live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    once = once or as_json or not live
    with reachable(invocation) as settings, quiet_logs(invocation, settings):
        asyncio.run(_watch(settings, most_streams, interval, once=once, as_json=as_json))
    return ExitCode.DONE


async def _watch(
    settings: Settings, most_streams: int, interval_s: float, *, once: bool, as_json: bool
) -> None:
    from worker.stores import open_store
    from worker.top.live import LiveTop
    from worker.top.reader import TopReader
    from worker.top.terminal import Terminal
    from worker.wiring.tenant import compaction_policy

    async with AsyncExitStack() as stack:
        stores = [
            await stack.enter_async_context(await open_store(settings, tenant))
            for tenant in settings.tenants
        ]
        reader = TopReader(stores, compaction_policy(settings), most_streams=most_streams)
        stack.push_async_callback(reader.close)
        if once:
            await _report(reader, interval_s, as_json=as_json)
            return
        color = output.is_colored()
        await LiveTop(reader.read, Terminal(), interval_s=interval_s, color=color).run()


async def _report(reader: TopReader, interval_s: float, *, as_json: bool) -> None:
    """Two looks, so that rates are known, and what they show."""
    from worker.top.report import report
    from worker.top.screen import Frame, render

    before = await reader.read()
    await asyncio.sleep(interval_s)
    now = await reader.read()
    if as_json:
        output.write_json(report(now, before))
        return
    frame = Frame(output.terminal_width(), color=output.is_colored())
    for line in render(now, before, frame):
        output.write(line)
