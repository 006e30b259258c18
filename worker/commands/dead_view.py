"""How dead letters look: in a table, one by one, and as JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final

from streams.dead_letters import DeadLetter
from worker.console import output, words

_SHOWN_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Listing:
    """What `list` shows of one tenant."""

    tenant: str
    total: int
    found: list[dict[str, Any]]
    now_ms: int


def write_table(listing: Listing) -> None:
    """The letters of one tenant, one a line."""
    rows = [
        (
            facts["id"],
            words.age(facts["dead_ms"], listing.now_ms),
            facts["code"],
            facts["stream"],
            facts["type"],
            words.size(facts["bytes"]),
            facts["reason"],
        )
        for facts in listing.found
    ]
    if rows:
        for line in output.table(
            ("ID", "AGE", "CODE", "STREAM", "TYPE", "SIZE", "REASON"), rows, left=7
        ):
            output.write(line)


def letter_facts(letter: DeadLetter) -> dict[str, Any]:
    """A letter for `--json`, without the producer's fields."""
    return {
        "id": letter.id,
        "stream": letter.text("stream"),
        "type": letter.text("type"),
        "code": letter.code,
        "reason": letter.reason,
        "origin_id": letter.origin_id,
        "attempts": letter.attempts,
        "first_seen_ms": letter.first_seen_ms,
        "dead_ms": letter.dead_ms,
        "bytes": letter.size,
    }


def field_as_json(name: bytes, value: bytes) -> dict[str, str]:
    """A field for `--json`: `value` where it is UTF-8, else `base64`."""
    shown = {"name": name.decode(errors="backslashreplace")}
    try:
        return {**shown, "value": value.decode()}
    except UnicodeDecodeError:
        return {**shown, "base64": base64.b64encode(value).decode()}


def field_as_text(name: bytes, value: bytes, *, full: bool) -> str:
    """A field on one line; without `full` the first 4 KiB of it."""
    shown = value if full else value[:_SHOWN_BYTES]
    text = output.visible_line(shown.decode(errors="backslashreplace"))
    more = len(value) - len(shown)
    rest = f"… ({words.size(more)} more; --full shows all)" if more else ""
    return f"    {output.visible_line(name.decode(errors='backslashreplace'))} = {text}{rest}"
