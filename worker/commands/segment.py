"""`segment`: sealed segments of conversations, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from worker.console import output
from worker.console.classes import AresGroup, json_option
from worker.console.exit_codes import ExitCode

from .segment_place import Place, with_place

if TYPE_CHECKING:
    from archive.segments import ArchiveDescriptor, ArchiveRef

_RESULTS: Final = 32
_MESSAGES: Final = 128
_PROVENANCE: Final = ("source_index", "block_indices", "message")


@click.group("segment", cls=AresGroup)
def segment() -> None:
    """Keep and read sealed pieces of conversations: exact, screened, never summarised.

    What a seal keeps is decided by the messages' own labels; tool arguments and results are
    withheld unless a redactor screens them.

    \b
    Examples:
      ares-worker segment seal talk.json --conversation session-42 --note "before release 2"
      ares-worker segment search "rate limit" --conversation session-42
      ares-worker segment fetch 0f3c… --conversation session-42
      ares-worker segment forget 0f3c… --conversation session-42
    """


@segment.command("seal")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@with_place
@click.option("--note", default="", metavar="TEXT", help="A hidden note, at most 8 KiB.")
@click.option(
    "--redactor",
    metavar="MODULE:FUNCTION",
    help="Screens every text; tool content is withheld without one.  [default: segments.redactor]",
)
@json_option("the segment's id and counts")
def seal(place: Place, file: Path, note: str, redactor: str | None, as_json: bool) -> int:
    """Seal the messages of FILE: a JSON array, or JSON lines; standard input without one.

    The same kept messages seal once: the first id is printed again.
    """
    from .segment_input import read_messages

    ref = place.open_to_seal(redactor).seal(read_messages(file), note)
    if as_json:
        output.write_json(_counts(ref))
    else:
        output.write(ref.id)
        output.tell(f"kept {ref.message_count} of {ref.source_message_count} messages")
    return ExitCode.DONE


@segment.command("fetch")
@click.argument("segment_id", metavar="ID")
@with_place
@click.option("--start", type=click.IntRange(min=0), default=0, metavar="N", help="Skip N of them.")
@click.option(
    "--limit",
    type=click.IntRange(0, _MESSAGES),
    default=_MESSAGES,
    metavar="N",
    help=f"Most messages, up to {_MESSAGES}.  [default: {_MESSAGES}]",
)
@click.option("--provenance", is_flag=True, help="Say which source message and blocks each was.")
@json_option("one array")
def fetch(
    place: Place, segment_id: str, start: int, limit: int, provenance: bool, as_json: bool
) -> int:
    """Print the kept messages of segment ID, one JSON object a line."""
    found = place.open(segment_id).fetch_with_provenance(segment_id, start, limit)
    if provenance:
        rows = [{name: getattr(one, name) for name in _PROVENANCE} for one in found]
    else:
        rows = [one.message for one in found]
    _write_rows(rows, as_json=as_json)
    return ExitCode.DONE


@segment.command("note")
@click.argument("segment_id", metavar="ID")
@with_place
@json_option("an object with the note")
def note(place: Place, segment_id: str, as_json: bool) -> int:
    """Print the hidden note of segment ID: for the host, never for a model."""
    text = place.open(segment_id).fetch_note(segment_id)
    if as_json:
        output.write_json({"id": segment_id, "note": text})
    else:
        output.write(output.visible(text))
    return ExitCode.DONE


@segment.command("search")
@click.argument("query", default="")
@with_place
@click.option(
    "--limit",
    type=click.IntRange(0, _RESULTS),
    default=_RESULTS,
    metavar="N",
    help=f"Most segments, up to {_RESULTS}.  [default: {_RESULTS}]",
)
@json_option("an array of segments with their snippets")
def search(place: Place, query: str, limit: int, as_json: bool) -> int:
    """List the segments of a scope whose messages contain QUERY, a literal; all without one."""
    from archive.segments.search import Query

    Query(query)  # one that is none is refused wherever it is asked
    store = place.open_to_search()
    found = store.search(query, limit) if store else []
    if as_json:
        output.write_json([{**_counts(one), "snippet": one.snippet} for one in found])
    else:
        for one in found:
            counts = f"{one.message_count}/{one.source_message_count}"
            output.write(f"{one.id}  {counts}  {output.visible_line(one.snippet)}")
    if not found:
        output.tell("no segment matches")
    return ExitCode.DONE if found else ExitCode.NO


@segment.command("forget")
@click.argument("segment_id", metavar="ID")
@with_place
@json_option("an object with the id")
def forget(place: Place, segment_id: str, as_json: bool) -> int:
    """Replace segment ID by a tombstone, for good; doing it again is fine.

    The same messages of the same conversation can't be sealed again. Copies in backups or
    snapshots of the volume stay.
    """
    place.open(segment_id).forget(segment_id)
    if as_json:
        output.write_json({"id": segment_id, "forgotten": True})
    else:
        output.tell(f"forgot {segment_id}")
    return ExitCode.DONE


@segment.command("export")
@with_place
@json_option("one array")
def export(place: Place, as_json: bool) -> int:
    """Print every record of a scope, notes and tombstones included, and change nothing."""
    from archive.segments import export_in

    _write_rows(export_in(place.base, place.scope), as_json=as_json)
    return ExitCode.DONE


def _counts(one: ArchiveRef | ArchiveDescriptor) -> dict[str, Any]:
    return {
        "id": one.id,
        "message_count": one.message_count,
        "source_message_count": one.source_message_count,
    }


def _write_rows(rows: Sequence[Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(rows)
    else:
        for row in rows:
            output.write(output.to_json(row))
