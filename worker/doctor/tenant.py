"""Pure. Judges one tenant: is it worked on, what waits, what needs a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ops.redact import escape_controls, shortened
from worker.console import words

from .findings import Finding, fail, ok, warn

_NAMED: Final = 3


def judge_tenant(
    tenant: str,
    *,
    inbox: int,
    sequenced: bool,
    feed: int,
    group: Mapping[bytes, Any] | None,
    dead: int,
    quarantined: Sequence[tuple[str, str]],
) -> list[Finding]:
    """Findings on one tenant. `sequenced`: somebody holds the lease; `group` from XINFO GROUPS."""
    return [
        _inbox(f"tenant.{tenant}.inbox", inbox, sequenced),
        _feed(f"tenant.{tenant}.feed", feed, group),
        _dead(f"tenant.{tenant}.dead", dead),
        _streams(f"tenant.{tenant}.streams", quarantined),
    ]


def _inbox(check: str, inbox: int, sequenced: bool) -> Finding:
    if inbox and not sequenced:
        found = f"{_entries(inbox)} and no worker holds the sequencer's lease"
        return warn(check, found, "start ares-worker run for this tenant")
    worker = "a worker sequences it" if sequenced else "no worker runs"
    return ok(check, f"{_entries(inbox)}, {worker}")


def _entries(inbox: int) -> str:
    return "1 entry waits" if inbox == 1 else f"{inbox:,} entries wait"


def _feed(check: str, feed: int, group: Mapping[bytes, Any] | None) -> Finding:
    if group is None:
        if feed:
            found = f"{feed:,} in the feed and no group of archivers"
            return warn(check, found, "start ares-worker run: it makes the group again at 0")
        return ok(check, "empty, no group yet: the first worker makes it")
    consumers, pending = int(group[b"consumers"]), int(group[b"pending"])
    lag = group.get(b"lag")
    behind = f"{lag:,} unread" if isinstance(lag, int) else "unread entries not told"
    found = f"{words.count(consumers, 'consumer')}, {pending:,} pending, {behind}"
    if not consumers and feed:
        return warn(check, found, "start ares-worker run: nobody archives")
    return ok(check, found)


def _dead(check: str, dead: int) -> Finding:
    if dead:
        found = words.count(dead, "dead letter")
        return warn(check, found, "ares-worker dead list, then requeue or purge")
    return ok(check, "no dead letters")


def _streams(check: str, quarantined: Sequence[tuple[str, str]]) -> Finding:
    if not quarantined:
        return ok(check, "no stream is quarantined")
    named = "; ".join(
        f"{shortened(escape_controls(stream), 60)} ({reason})"
        for stream, reason in quarantined[:_NAMED]
    )
    more = f" and {len(quarantined) - _NAMED} more" if len(quarantined) > _NAMED else ""
    found = f"{len(quarantined)} quarantined: {named}{more}"
    todo = "look who wrote there, then ares-worker streams repair STREAM"
    return fail(check, found, todo)
