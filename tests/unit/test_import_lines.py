"""What a line of an imported file becomes, and why a bad one is refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from streams.codec import Limits
from worker.importing.lines import BadLine, ImportEntry, LineParser, longest_line

MODIFIED_MS = 1_700_000_000_000


@pytest.fixture
def parser() -> LineParser:
    return LineParser(MODIFIED_MS, Limits())


def fields(parsed: ImportEntry | BadLine | None) -> dict[str, Any]:
    assert isinstance(parsed, ImportEntry), parsed
    return dict(zip(parsed.fields[::2], parsed.fields[1::2], strict=True))


def reason(parsed: ImportEntry | BadLine | None) -> str:
    assert isinstance(parsed, BadLine), parsed
    return parsed.reason


def test_payload_and_metadata_are_sent_byte_for_byte(parser: LineParser) -> None:
    line = (
        b'{"stream":"s","type":"t","payload": {"n": 18446744073709551615, "f": 1.50,"u":"\\u00e9"},'
        b'"metadata":{ "z":1,"a":2 }}'
    )
    sent = fields(parser.parse(1, line))
    assert sent["payload"] == b'{"n": 18446744073709551615, "f": 1.50,"u":"\\u00e9"}'
    assert sent["metadata"] == b'{ "z":1,"a":2 }'


def test_everything_a_line_says_is_sent_under_the_inboxs_names(parser: LineParser) -> None:
    line = {
        "stream": "s", "type": "t", "id": "e1", "module": "m",
        "timestamp": "2026-01-02T03:04:05Z", "payload": {"a": 1},
    }  # fmt: skip
    assert fields(parser.parse(1, json.dumps(line).encode())) == {
        "stream": "s", "type": "t", "payload": b'{"a": 1}', "id": "e1", "module": "m",
        "timestamp": "2026-01-02T03:04:05Z",
    }  # fmt: skip


def test_a_missing_id_is_derived_from_line_number_and_content(parser: LineParser) -> None:
    line = b'{"stream":"s","type":"t"}'
    expected = hashlib.sha256(b"3\n" + line).hexdigest()[:32]
    assert fields(parser.parse(3, line))["id"] == expected


def test_the_same_line_at_another_number_is_another_event(parser: LineParser) -> None:
    line = b'{"stream":"s","type":"t"}'
    assert fields(parser.parse(1, line))["id"] != fields(parser.parse(2, line))["id"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_line_ends_and_a_byte_order_mark_make_no_other_event(
    parser: LineParser, end: bytes
) -> None:
    line = b'{"stream":"s","type":"t"}'
    plain = fields(parser.parse(1, line))
    assert fields(parser.parse(1, b"\xef\xbb\xbf" + line + end)) == plain


def test_a_missing_timestamp_is_the_last_one_of_its_stream_in_the_file(
    parser: LineParser,
) -> None:
    def stamp(number: int, line: str) -> Any:
        return fields(parser.parse(number, line.encode()))["timestamp"]

    assert stamp(1, '{"stream":"a","type":"t","timestamp":"2026-01-01T00:00:00Z"}')
    assert stamp(2, '{"stream":"b","type":"t","timestamp":1700000000001}') == "1700000000001"
    assert stamp(3, '{"stream":"a","type":"t"}') == "2026-01-01T00:00:00Z"
    assert stamp(4, '{"stream":"b","type":"t"}') == "1700000000001"


def test_a_timestamp_without_a_time_zone_is_utc(parser: LineParser) -> None:
    line = b'{"stream":"s","type":"t","timestamp":"2026-01-02T03:04:05.123456"}'
    assert fields(parser.parse(1, line))["timestamp"] == "2026-01-02T03:04:05.123456Z"


def test_without_any_timestamp_the_files_modification_time_counts(parser: LineParser) -> None:
    line = b'{"stream":"s","type":"t"}'
    assert fields(parser.parse(1, line))["timestamp"] == str(MODIFIED_MS)


def test_a_bad_lines_timestamp_is_not_remembered(parser: LineParser) -> None:
    reason(parser.parse(1, b'{"stream":"s","type":"t","timestamp":5,"payload":[]}'))
    assert fields(parser.parse(2, b'{"stream":"s","type":"t"}'))["timestamp"] == str(MODIFIED_MS)


@pytest.mark.parametrize("blank", [b"", b"\n", b"  \t\r\n", b"\xef\xbb\xbf\n"])
def test_blank_lines_are_nothing(parser: LineParser, blank: bytes) -> None:
    assert parser.parse(1, blank) is None


def test_null_means_absent(parser: LineParser) -> None:
    line = b'{"stream":"s","type":"t","payload":null,"metadata":null,"id":null,"module":null}'
    assert set(fields(parser.parse(1, line))) == {"stream", "type", "id", "timestamp"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"stream":"s"}', "lacks the field `type`"),
        (b'{"type":"t"}', "lacks the field `stream`"),
        (b'{"stream":7,"type":"t"}', "must be `str`, got `int` in `stream`"),
        (b'{"stream":"s","type":"t","text":"x"}', "has the unknown field `text`"),
        (b"[1,2]", "must be an object, got `array`"),
        (b"no json", "is not JSON: Expecting value at character 0"),
        (b'{"stream":"s","type":"t"', "is not JSON"),
        (b'\xff{"stream":"s"}', "is not UTF-8 at byte 0"),
        (b'{"stream":"s","type":"t","payload":[1]}', "payload: must be an object"),
        (b'{"stream":"s","type":"t","payload":"{}"}', "payload: must be an object, not a string"),
        (b'{"stream":"s","type":"t","payload":{"a":NaN}}', "line.payload.a: is nan"),
        (b'{"stream":"s","type":"t","payload":{"a":"\\ud83d"}}', "half a surrogate pair"),
        (b'{"stream":"\\ud83d","type":"t"}', "half a surrogate pair"),
        (b'{"stream":"s","type":"t","payload":{"a":18446744073709551616}}', "beyond 64 bits"),
        (b'{"stream":"s","type":"t","payload":{"a":1,"a":2}}', "payload: has the key 'a' twice"),
        (b'{"stream":"s","type":"t","payload":{"b":{"a":1,"a":2}}}', "payload.b: has the key"),
        (b'{"stream":"s","type":"t","stream":"u"}', "stream: stands twice in the line"),
        (b'{"stream":"s","str\\u0065am":"u","type":"t"}', "stream: stands twice in the line"),
        (b'{"stream":"s","type":"t","payload":{"a":1},"payload":{}}', "payload: stands twice"),
        (b'{"stream":"s","type":"t","timestamp":"yesterday"}', "timestamp: is neither RFC 3339"),
        (b'{"stream":"s","type":"t","timestamp":1.5}', "in `timestamp`"),
        (b'{"stream":"s","type":"t","timestamp":true}', "in `timestamp`"),
        (b'{"stream":"","type":"t"}', "stream: must not be empty"),
        (b'{"stream":"a\\nb","type":"t"}', "stream: contains a control character"),
        (b'{"stream":"s","type":"t","id":""}', "id: must not be empty"),
    ],
)
def test_a_bad_line_is_refused_with_a_reason_a_person_understands(
    parser: LineParser, line: bytes, why: str
) -> None:
    assert why in reason(parser.parse(1, line))


def test_a_payload_that_looks_like_the_envelope_confuses_nothing(parser: LineParser) -> None:
    payload = b'{"stream":"x","type":"y","payload":{"stream":"z"},"id":"q"}'
    line = b'{"stream":"s","type":"t","payload":' + payload + b',"metadata":' + payload + b"}"
    sent = fields(parser.parse(1, line))
    assert (sent["stream"], sent["payload"], sent["metadata"]) == ("s", payload, payload)


def test_limits_are_the_settings_limits() -> None:
    tight = LineParser(MODIFIED_MS, Limits(max_payload_bytes=20, max_depth=3, max_stream_bytes=3))

    def why(line: bytes) -> str:
        return reason(tight.parse(1, line))

    assert "more than 20" in why(b'{"stream":"s","type":"t","payload":{"a":"0123456789abcdef"}}')
    assert "deeper than 3" in why(b'{"stream":"s","type":"t","payload":{"a":[[[1]]]}}')
    assert "stream: is 4 bytes, more than 3" in why(b'{"stream":"abcd","type":"t"}')


def test_a_line_beyond_any_good_one_is_refused_unparsed(parser: LineParser) -> None:
    limit = longest_line(Limits())
    assert reason(parser.parse(1, b"[" * (limit + 1))) == f"is longer than {limit} bytes"


def test_hostile_nesting_is_an_ordinary_bad_line(parser: LineParser) -> None:
    deep = b'{"stream":"s","type":"t","payload":{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}}"
    assert reason(parser.parse(1, deep))
