"""Any line is an entry the inbox accepts, or a bad line with a reason; nothing else happens."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from streams.codec import Limits
from streams.inbox import parse_entry
from worker.console import output
from worker.importing.lines import BadLine, ImportEntry, LineParser

_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
_VALUES = st.recursive(
    _SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(st.text(max_size=8), _VALUES, max_size=5)
_NAMES = st.from_regex(r"[A-Za-z0-9._:é日-]{1,40}", fullmatch=True)
_LINES = st.fixed_dictionaries(
    {"stream": _NAMES, "type": _NAMES},
    optional={
        "payload": _DOCUMENTS,
        "metadata": _DOCUMENTS,
        "id": _NAMES,
        "module": _NAMES,
        "timestamp": st.integers(0, 253_402_300_799_999),
    },
)


def parse(raw: bytes, number: int = 1) -> ImportEntry | BadLine | None:
    return LineParser(1_700_000_000_000, Limits()).parse(number, raw)


@given(_LINES, st.booleans(), st.integers(1, 10**9))
def test_a_good_line_becomes_an_entry_the_inbox_accepts_value_for_value(
    line: dict[str, object], ascii_only: bool, number: int
) -> None:
    raw = json.dumps(line, ensure_ascii=ascii_only).encode()
    parsed = parse(raw, number)
    assert isinstance(parsed, ImportEntry), parsed
    flat = [part if isinstance(part, bytes) else part.encode() for part in parsed.fields]
    accepted = parse_entry(b"1-1", flat, Limits())
    assert (accepted.stream, accepted.event.type) == (line["stream"], line["type"])
    assert json.loads(accepted.event.payload or b"{}") == line.get("payload", {})
    assert json.loads(accepted.event.metadata or b"{}") == line.get("metadata", {})
    assert accepted.deduplicate, "without an id a second import would record it again"


@given(_LINES, st.integers(1, 10**6))
def test_the_same_line_at_the_same_place_is_always_the_same_event(
    line: dict[str, object], number: int
) -> None:
    raw = json.dumps(line).encode()
    assert parse(raw, number) == parse(raw + b"\r\n", number)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_line_breaks_the_parser_and_every_reason_fits_on_a_line(raw: bytes) -> None:
    parsed = parse(raw)
    if isinstance(parsed, BadLine):
        assert parsed.reason
        assert "\n" not in output.visible_line(parsed.reason)


@given(st.text(alphabet=st.characters(), max_size=60))
def test_text_shown_is_free_of_controls_and_json_is_exact(text: str) -> None:
    shown = output.visible_line(text)
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert json.loads(output.to_json(text)) == text
