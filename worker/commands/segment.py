"""`segment`: sealed segments of conversations, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from worker import output
from worker.cli_classes import AresGroup, json_option
from worker.exit_codes import ExitCode
from worker.invocation import Invocation, pass_invocation

if TYPE_CHECKING:
    from archive.segments import ArchiveStore

_RESULTS: Final = 32
_MESSAGES: Final = 128


@dataclass(frozen=True, slots=True)
class _Place:
    """Where segments are: the base folder, the scope and the conversation."""

    base: Path
    scope: str
    conversation: str
    redactor: str | None

    def open(self) -> ArchiveStore:
        """The store; makes its folders."""
        from archive.segments import ArchiveStore
        from worker.sealing import load_redactor

        redactor = load_redactor(self.redactor) if self.redactor else None
        return ArchiveStore(self.base, self.scope, self.conversation, redactor)


def _place(
    invocation: Invocation,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    redactor: str | None = None,
) -> _Place:
    """The place that flags and settings name; settings are read only where a flag is missing."""
    if scope is None and conversation is None:
        raise click.UsageError("say --scope KEY, or --conversation ID for the worker's own scope")
    settings = None
    if base is None or scope is None or redactor is None:
        settings = invocation.settings()
        base = base or settings.segments.base
        redactor = redactor or settings.segments.redactor
    if base is None:
        raise click.UsageError("say --base DIR, or set segments.base (ARES_SEGMENTS_BASE)")
    if scope is None and settings is not None:
        scope = f"{settings.tenants[0]}/{conversation}"
    return _Place(base, str(scope), conversation or str(scope), redactor)


def _place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--conversation",
            metavar="ID",
            help="The conversation (logical id); the worker's is the stream.",
        ),
        click.option(
            "--scope",
            metavar="KEY",
            help="The scope, whose 128 slots are shared.  [default: TENANT/CONVERSATION]",
        ),
        click.option(
            "--base",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Absolute folder of the segments.  [default: segments.base]",
        ),
    ):
        command = option(command)
    return command


@click.group("segment", cls=AresGroup)
def segment() -> None:
    """Keep and read sealed pieces of conversations: exact, screened, never summarised.

    What a seal keeps is decided by the messages' own labels; tool arguments and results are
    withheld unless a redactor screens them.

    \b
    Examples:
      ares-worker segment seal talk.json --conversation session-42 --note "before the release"
      ares-worker segment search "rate limit" --conversation session-42
      ares-worker segment fetch 0f3c… --conversation session-42
      ares-worker segment forget 0f3c… --conversation session-42
    """


@segment.command("seal")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@_place_options
@click.option("--note", default="", metavar="TEXT", help="A hidden note, at most 8 KiB.")
@click.option(
    "--redactor",
    metavar="MODULE:FUNCTION",
    help="Screens every text; without one tool content is withheld.  [default: segments.redactor]",
)
@json_option("the segment's id and counts")
@pass_invocation
def seal(
    invocation: Invocation,
    file: Path,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    note: str,
    redactor: str | None,
    as_json: bool,
) -> int:
    """Seal the messages of FILE (a JSON array, or JSON lines; - for standard input)."""
    from worker.segment_input import read_messages

    if conversation is None:
        raise click.UsageError("say --conversation ID: a segment belongs to one")
    place = _place(invocation, base, scope, conversation, redactor)
    ref = place.open().seal(read_messages(file), note)
    if as_json:
        output.write_json(
            {
                "id": ref.id,
                "message_count": ref.message_count,
                "source_message_count": ref.source_message_count,
            }
        )
        return ExitCode.DONE
    output.write(ref.id)
    output.tell(f"kept {ref.message_count} of {ref.source_message_count} messages")
    return ExitCode.DONE


@segment.command("fetch")
@click.argument("segment_id", metavar="ID")
@_place_options
@click.option(
    "--start", type=click.IntRange(min=0), default=0, metavar="N", help="Skip N messages."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_MESSAGES,
    metavar="N",
    help=f"Most messages; {_MESSAGES} at once.  [default: {_MESSAGES}]",
)
@click.option("--provenance", is_flag=True, help="Say which source message and blocks each was.")
@json_option("one array")
@pass_invocation
def fetch(
    invocation: Invocation,
    segment_id: str,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    start: int,
    limit: int,
    provenance: bool,
    as_json: bool,
) -> int:
    """Print the kept messages of segment ID, one JSON object a line."""
    store = _place(invocation, base, scope, conversation).open()
    found = store.fetch_with_provenance(segment_id, start, limit)
    rows: list[dict[str, Any]] = [
        {
            "source_index": one.source_index,
            "block_indices": one.block_indices,
            "message": one.message,
        }
        if provenance
        else one.message
        for one in found
    ]
    _write_rows(rows, as_json=as_json)
    return ExitCode.DONE


@segment.command("note")
@click.argument("segment_id", metavar="ID")
@_place_options
@json_option("an object with the note")
@pass_invocation
def note(
    invocation: Invocation,
    segment_id: str,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    as_json: bool,
) -> int:
    """Print the hidden note of segment ID: for the host, never for a model."""
    text = _place(invocation, base, scope, conversation).open().fetch_note(segment_id)
    if as_json:
        output.write_json({"id": segment_id, "note": text})
    else:
        output.write(output.visible(text))
    return ExitCode.DONE


@segment.command("search")
@click.argument("query", default="")
@_place_options
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_RESULTS,
    metavar="N",
    help=f"Most segments; {_RESULTS} at once.  [default: {_RESULTS}]",
)
@json_option("an array of segments with their snippets")
@pass_invocation
def search(
    invocation: Invocation,
    query: str,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    limit: int,
    as_json: bool,
) -> int:
    """List the segments of a scope whose messages contain QUERY; all without one."""
    found = _place(invocation, base, scope, conversation).open().search(query, limit)
    if as_json:
        output.write_json(
            [
                {
                    "id": one.id,
                    "message_count": one.message_count,
                    "source_message_count": one.source_message_count,
                    "snippet": one.snippet,
                }
                for one in found
            ]
        )
    else:
        for one in found:
            counts = f"{one.message_count}/{one.source_message_count}"
            output.write(f"{one.id}  {counts}  {output.visible_line(one.snippet)}")
    if not found:
        output.tell("no segment matches")
    return ExitCode.DONE if found else ExitCode.NO


@segment.command("forget")
@click.argument("segment_id", metavar="ID")
@_place_options
@json_option("an object with the id")
@pass_invocation
def forget(
    invocation: Invocation,
    segment_id: str,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    as_json: bool,
) -> int:
    """Replace segment ID by a tombstone, for good; again is fine.

    The same messages of the same conversation can't be sealed again. Copies in backups or
    snapshots of the volume stay.
    """
    _place(invocation, base, scope, conversation).open().forget(segment_id)
    if as_json:
        output.write_json({"id": segment_id, "forgotten": True})
    else:
        output.tell(f"forgot {segment_id}")
    return ExitCode.DONE


@segment.command("export")
@_place_options
@json_option("one array")
@pass_invocation
def export(
    invocation: Invocation,
    base: Path | None,
    scope: str | None,
    conversation: str | None,
    as_json: bool,
) -> int:
    """Print every record of a scope, notes and tombstones included; changes nothing."""
    from archive.segments import export_in

    place = _place(invocation, base, scope, conversation)
    _write_rows(export_in(place.base, place.scope), as_json=as_json)
    return ExitCode.DONE


def _write_rows(rows: list[Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(rows)
        return
    for row in rows:
        output.write(output.to_json(row))
