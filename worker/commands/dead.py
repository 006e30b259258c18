"""`dead`: rejected inbox entries, to look at, send again or drop."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from worker.console import output, words
from worker.console.classes import AresGroup, json_option
from worker.console.exit_codes import ExitCode
from worker.console.invocation import Invocation, pass_invocation
from worker.console.params import Moment

if TYPE_CHECKING:
    from streams.dead_letters import DeadLetter, DeadLetters
    from streams.redis_store import RedisEventStore
    from worker.settings.load import Settings

_SHOWN: Final = 50

_code_option = click.option("--code", metavar="CODE", help="Only those rejected for this reason.")


@click.group("dead", cls=AresGroup)
def dead() -> None:
    """Work with dead letters: inbox entries the worker rejected, kept whole, with the reason.

    \b
    Examples:
      ares-worker dead list
      ares-worker dead show 1700000000000-0
      ares-worker dead requeue --all --code too_large
      ares-worker dead purge --all --before 30d --yes
    """


@dead.command("list")
@_code_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_SHOWN,
    metavar="N",
    help=f"Most letters; 0 for all.  [default: {_SHOWN}]",
)
@json_option("an array of dead letters, without their payloads")
@pass_invocation
def list_dead(invocation: Invocation, code: str | None, limit: int, as_json: bool) -> int:
    """List dead letters, newest first."""
    from worker.console.sessions import with_each_store

    from .dead_view import Listing, letter_facts, write_table

    async def collect(store: RedisEventStore, _: Settings) -> Listing:
        letters = _letters_of(store)
        found: list[dict[str, Any]] = []
        async for letter in letters.list(newest_first=True):
            if code is None or letter.code == code:
                found.append({"tenant": store.tenant, **letter_facts(letter)})
            if limit and len(found) == limit:
                break
        return Listing(store.tenant, await letters.count(), found, store.clock())

    listings = with_each_store(invocation, collect)
    if as_json:
        with output.json_array() as array:
            for facts in (facts for listing in listings for facts in listing.found):
                array.add(facts)
        return ExitCode.DONE
    for listing in listings:
        if len(listings) > 1:
            output.write(output.paint(f"tenant {listing.tenant}", bold=True))
        write_table(listing)
        output.tell(f"{len(listing.found):,} of {words.count(listing.total, 'dead letter')}")
    return ExitCode.DONE


@dead.command("show")
@click.argument("letter_id", metavar="ID")
@click.option("--full", is_flag=True, help="Whole fields, however large.")
@json_option("one object with every field")
@pass_invocation
def show_dead(invocation: Invocation, letter_id: str, full: bool, as_json: bool) -> int:
    """Show the dead letter ID with its reason and the fields as the producer sent them.

    In JSON a field that is no UTF-8 has `base64` instead of `value`.
    """
    from worker.console.sessions import with_store

    from .dead_view import field_as_json, field_as_text, letter_facts

    async def get(store: RedisEventStore, _: Settings) -> DeadLetter:
        return await _letters_of(store).get(letter_id)

    letter = with_store(invocation, get)
    if as_json:
        fields = [field_as_json(name, value) for name, value in letter.fields]
        output.write_json({**letter_facts(letter), "fields": fields})
        return ExitCode.DONE
    output.write(output.paint(f"dead letter {letter.id}", bold=True))
    for name, text in (
        ("reason", f"{letter.reason} ({letter.code})"),
        ("inbox id", letter.origin_id),
        ("sent", words.moment_of_ms(letter.first_seen_ms)),
        ("rejected", f"{words.moment_of_ms(letter.dead_ms)}, attempt {letter.attempts}"),
    ):
        output.write(f"  {name:<10}{output.visible_line(text)}")
    output.write("  fields")
    for field in letter.fields:
        output.write(field_as_text(*field, full=full))
    return ExitCode.DONE


@dead.command("requeue")
@click.argument("letter_ids", metavar="[ID...]", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All that are there now.")
@_code_option
@json_option("an object with the new inbox ids")
@pass_invocation
def requeue(
    invocation: Invocation,
    letter_ids: tuple[str, ...],
    every: bool,
    code: str | None,
    as_json: bool,
) -> int:
    """Send dead letters again: each moves back to the inbox as the producer sent it.

    The event keeps its id, so it is recorded once, and the time it was first sent. What is still
    wrong with it brings it back here: mend the cause first, a limit for instance.

    \b
    Examples:
      ares-worker dead requeue 1700000000000-0
      ares-worker dead requeue --all --code too_large
    """
    from worker.console.sessions import with_store

    choice = _Choice(letter_ids, every=every, code=code)

    async def send(store: RedisEventStore, _: Settings) -> dict[str, str]:
        letters = _letters_of(store)
        return {chosen: await letters.requeue(chosen) for chosen in await choice.ids(letters)}

    moved = with_store(invocation, send)
    if as_json:
        output.write_json({"requeued": moved})
    else:
        output.write(f"Requeued {words.count(len(moved), 'dead letter')}.")
    return ExitCode.DONE


@dead.command("purge")
@click.argument("letter_ids", metavar="[ID...]", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All that are there now.")
@_code_option
@click.option(
    "--before", type=Moment(), metavar="TIME", help="Only those rejected before: 30d, a date."
)
@click.option("--yes", is_flag=True, help="Don't ask.")
@json_option("an object with the number deleted")
@pass_invocation
def purge(
    invocation: Invocation,
    letter_ids: tuple[str, ...],
    every: bool,
    code: str | None,
    before: datetime | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete dead letters for good.

    \b
    Examples:
      ares-worker dead purge 1700000000000-0
      ares-worker dead purge --all --before 30d --yes
    """
    from worker.console.sessions import with_store

    choice = _Choice(letter_ids, every=every, code=code, before=before)

    async def delete(store: RedisEventStore, _: Settings) -> int:
        letters = _letters_of(store)
        chosen = await choice.ids(letters)
        if every and chosen and not yes:
            _confirm(len(chosen))
        return await letters.purge(chosen)

    deleted = with_store(invocation, delete)
    if as_json:
        output.write_json({"purged": deleted})
    else:
        output.write(f"Purged {words.count(deleted, 'dead letter')}.")
    return ExitCode.DONE if deleted or every else ExitCode.NO


class _Choice:
    """Which letters a command is for: those named, or all there are that fit."""

    def __init__(
        self,
        named: tuple[str, ...],
        *,
        every: bool,
        code: str | None,
        before: datetime | None = None,
    ) -> None:
        if bool(named) == every:
            raise click.UsageError("Name dead letters by id, or say --all.")
        if named and (code is not None or before is not None):
            raise click.UsageError("--code and --before choose among --all.")
        self._named = list(dict.fromkeys(named))
        self._code = code
        self._before_ms = None if before is None else int(before.timestamp() * 1000)

    async def ids(self, letters: DeadLetters) -> list[str]:
        """Ids in the order they died; what dies from now on is not among them."""
        if self._named:
            return self._named
        left = await letters.count()
        found: list[str] = []
        async for letter in letters.list():
            if left == 0:
                break
            left -= 1
            if self._fits(letter):
                found.append(letter.id)
        return found

    def _fits(self, letter: DeadLetter) -> bool:
        early = self._before_ms is None or letter.dead_ms < self._before_ms
        return early and (self._code is None or letter.code == self._code)


def _letters_of(store: RedisEventStore) -> DeadLetters:
    from streams.dead_letters import DeadLetters

    return DeadLetters(store.wires, store.keys)


def _confirm(number: int) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("Say --yes to purge all of them without being asked.")
    if not click.confirm(f"Delete {words.count(number, 'dead letter')} for good?", err=True):
        raise click.exceptions.Exit(ExitCode.NO)
