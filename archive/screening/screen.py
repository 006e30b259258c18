"""Pure. Takes credentials out of text before it is kept: each becomes `[withheld: <kind>]`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from archive.record import RoundRecord

from .find import could_hold, find_credentials

MARKER: Final = "[withheld: {kind}]"


@dataclass(frozen=True, slots=True)
class Screened:
    """Text fit to be kept, and how many credentials of each kind it lost."""

    text: str
    withheld: Mapping[str, int]


def screen_text(text: str) -> Screened:
    """`text` with every credential replaced by its marker."""
    found = find_credentials(text)
    if not found:
        return Screened(text, {})
    parts: list[str] = []
    kinds: Counter[str] = Counter()
    at = 0
    for credential in found:
        parts.append(text[at : credential.start])
        parts.append(MARKER.format(kind=credential.kind))
        kinds[credential.kind] += 1
        at = credential.end
    parts.append(text[at:])
    return Screened("".join(parts), dict(sorted(kinds.items())))


def screen_record(record: RoundRecord) -> tuple[RoundRecord, Mapping[str, int]]:
    """The record with every string of its content screened, and the counts by kind."""
    texts = list(_texts(record))
    if not could_hold("\x00".join(texts)):
        return record, {}
    found = {text: screen_text(text) for text in dict.fromkeys(texts)}
    kinds: Counter[str] = Counter()
    for text in texts:
        kinds.update(found[text].withheld)
    if not kinds:
        return record, {}
    return _replaced(record, lambda text: found[text].text), dict(sorted(kinds.items()))


def _replaced(record: RoundRecord, clean: Callable[[str], str]) -> RoundRecord:
    checks = tuple(replace(c, tool=clean(c.tool)) for c in record.verdict.checks)
    files = tuple(replace(f, path=clean(f.path), summary=clean(f.summary)) for f in record.files)
    return replace(
        record,
        summary=clean(record.summary),
        files=files,
        verdict=replace(record.verdict, checks=checks),
        todos=tuple(clean(t) for t in record.todos),
        decisions=tuple(clean(d) for d in record.decisions),
        refs={role: clean(value) for role, value in record.refs.items()},
        error=clean(record.error),
    )


def _texts(record: RoundRecord) -> Iterator[str]:
    yield record.summary
    yield record.error
    yield from record.todos
    yield from record.decisions
    yield from record.refs.values()
    for change in record.files:
        yield change.path
        yield change.summary
    for check in record.verdict.checks:
        yield check.tool
