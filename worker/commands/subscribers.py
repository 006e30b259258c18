"""`subscribers`: who follows the events, how far behind, and what was dropped for whom."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import click

from streams.errors import NotFoundError
from worker.console import output, words
from worker.console.classes import AresGroup, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from streams.durable.view import GroupView
    from streams.redis_store import RedisEventStore
    from worker.settings.load import Settings

_SHOWN_DEAD: Final = 20


@click.group("subscribers", cls=AresGroup)
def subscribers() -> None:
    """Look at subscriptions: live ones, and groups that durably follow a tenant.

    \b
    Examples:
      ares-worker subscribers list
      ares-worker subscribers show audit
    """


@dataclass(frozen=True, slots=True)
class _Row:
    """One name; times in milliseconds since the epoch."""

    tenant: str
    name: str
    group: bool
    delivered: int
    dropped: int
    lag: int
    seen_ms: int
    state: str


@subscribers.command("list")
@json_option("an array of subscribers")
@pass_invocation
def list_subscribers(invocation: Invocation, as_json: bool) -> int:
    """List subscribers seen within the last hour, and every group.

    DELIVERED and DROPPED add up over all processes of one name; LAG is how many feed entries it
    is behind. A group nobody takes part in is `idle`; once it is `dropped`, the feed is not kept
    for it any more.
    """
    from worker.console.sessions import with_each_store

    found = [row for rows in with_each_store(invocation, _rows) for row in rows]
    if as_json:
        with output.json_array() as array:
            for row in found:
                array.add(asdict(row))
        return ExitCode.DONE
    now_ms = _now_ms()
    headers = ("NAME", "KIND", "STATE", "DELIVERED", "DROPPED", "LAG", "SEEN")
    cells = [
        (
            row.name if len({r.tenant for r in found}) == 1 else f"{row.tenant}/{row.name}",
            "group" if row.group else "live",
            row.state,
            str(row.delivered),
            str(row.dropped),
            str(row.lag),
            words.age(row.seen_ms, now_ms),
        )
        for row in found
    ]
    for line in output.table(headers, cells, left=3):
        output.write(line)
    return ExitCode.DONE


@subscribers.command("show")
@click.argument("name")
@json_option("the group with its partitions and what it gave up")
@pass_invocation
def show_group(invocation: Invocation, name: str, as_json: bool) -> int:
    """Show where each partition of a durable subscription stands, and what it gave up.

    An event handed over too often without being acknowledged is given up. It stays in its
    stream: `streams show S --from V --to V` shows it.
    """
    from worker.console.sessions import with_store

    async def look(store: RedisEventStore, _: Settings) -> GroupView | None:
        from streams.durable.view import read_group

        async with store.wires.borrow() as wire:
            return await read_group(wire, store.keys, name, newest=_SHOWN_DEAD)

    group = with_store(invocation, look)
    if group is None:
        raise NotFoundError(f"there is no group {name!r}")
    if as_json:
        output.write_json(asdict(group))
    else:
        _write_group(group)
    return ExitCode.DONE


def _write_group(group: GroupView) -> None:
    state = _state(group.dropped, _now_ms() - group.seen_ms)
    output.write(output.paint(output.visible_line(group.name), bold=True) + f"  {state}")
    rows = [
        (str(part.partition), part.position, part.member[:8] or "-", str(part.attempts))
        for part in group.partitions
    ]
    for line in output.table(("PARTITION", "POSITION", "MEMBER", "ATTEMPTS"), rows, left=3):
        output.write(line)
    for letter in group.given_up:
        text = f"  ! {letter.stream} version {letter.version} ({letter.type}): {letter.reason}"
        output.write(output.paint(output.visible_line(text), fg="red"))
    if group.given_up_total:
        shown = f"{len(group.given_up):,} of {group.given_up_total:,}"
        output.tell(f"{shown} events given up; they stay in their streams")


def _now_ms() -> int:
    from streams.clock import system_clock

    return system_clock()


async def _rows(store: RedisEventStore, _: Settings) -> list[_Row]:
    from streams.durable.upkeep import read_groups
    from streams.subscription.reports import SubscriberReport, read_subscriber_facts

    async with store.wires.borrow() as wire:
        reports = await read_subscriber_facts(wire, store.keys, store.clock())
        server_ms, groups = await read_groups(wire, store.keys)
    rows: list[_Row] = []
    named = {group.name: group for group in groups}
    for name in sorted({*reports, *named}):
        group = named.get(name)
        report = reports.get(name, SubscriberReport(0, 0, 0, group.seen_ms if group else 0))
        state = "" if group is None else _state(group.dropped, server_ms - group.seen_ms)
        counts = report.delivered_events, report.dropped_events, report.lag_entries
        rows.append(_Row(store.tenant, name, group is not None, *counts, report.seen_ms, state))
    return rows


def _state(dropped: str, silent_ms: int) -> str:
    if dropped:
        return f"dropped: {dropped}"
    return "active" if silent_ms < 60_000 else "idle"
