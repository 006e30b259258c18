"""The bytes under every digest: canonical JSON and the hash with length-prefixed parts."""

from __future__ import annotations

import hashlib
import json
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.segments import canonical
from archive.segments.digest import DigestBeside, hash_parts, projection_digest
from archive.segments.disclosure import CREDENTIAL_MARKS, is_credential_like

# How serde_json 1.0.149, the other program's library, spells each.
SPELLED = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (-1.5, "-1.5"),
    (0.1, "0.1"),
    (1e-7, "1e-7"),
    (1.5e-7, "1.5e-7"),
    (1e-6, "1e-6"),
    (1e-5, "0.00001"),
    (-1.234e-5, "-0.00001234"),
    (1.5e-5, "0.000015"),
    (1e-4, "0.0001"),
    (123456.789, "123456.789"),
    (1e15, "1000000000000000.0"),
    (9.061488e15, "9061488000000000.0"),
    (1e16, "1e+16"),
    (1.2345678901234568e17, "1.2345678901234568e+17"),
    (3.439070283483335e35, "3.439070283483335e+35"),
    (-4.932096661796888e-226, "-4.932096661796888e-226"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (5e-324, "5e-324"),
]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(("value", "text"), SPELLED)
def test_floats_are_spelled_as_the_other_program_does(value: float, text: str) -> None:
    assert canonical.spell_float(value) == text


def test_an_older_host_spells_a_positive_exponent_without_a_sign() -> None:
    assert canonical.spell_float_as_ryu(1e16) == "1e16"
    assert canonical.spell_float_as_ryu(1.5e-7) == "1.5e-7"


@given(st.binary(min_size=8, max_size=8).map(lambda data: struct.unpack("d", data)[0]))
def test_every_float_reads_back_with_the_fewest_digits(value: float) -> None:
    if value != value or value in (float("inf"), float("-inf")):
        return
    text = canonical.spell_float(value)

    assert float(text) == value
    digits = text.split("e")[0].strip("-0").replace(".", "").strip("0")
    assert len(digits) <= 17
    assert len(digits) == len(repr(value).split("e")[0].strip("-0").replace(".", "").strip("0"))


@given(json_values)
def test_canonical_json_is_the_sorted_compact_json_of_the_value(value: object) -> None:
    text = canonical.encode(value).decode()

    assert json.loads(text) == value
    plain = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert "e" in plain or "." in plain or text == plain


@given(json_values)
def test_both_encoders_agree_where_there_is_no_float(value: object) -> None:
    parsed = canonical.parse(json.dumps(value, ensure_ascii=False))

    if not parsed.floats:
        assert canonical.encode(value, floats=False) == canonical.encode(value)


def test_keys_are_sorted_by_code_point_at_every_depth() -> None:
    value = {"b": {"\U0001f600": 1, "\uffff": 2, "Z": 3, "a": 4}, "a": 1.5}

    assert canonical.encode(value).decode() == (
        '{"a":1.5,"b":{"Z":3,"a":4,"\uffff":2,"\U0001f600":1}}'
    )


@pytest.mark.parametrize("floats", [True, False])
def test_only_what_json_must_escape_is_escaped(floats: bool) -> None:
    text = "".join(map(chr, range(0x20))) + '"\\/\x7f\x80\u2028é'

    assert canonical.encode(text, floats=floats).decode() == (
        '"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f'
        "\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c"
        '\\u001d\\u001e\\u001f\\"\\\\/\x7f\x80\u2028é"'
    )


def test_the_hash_covers_each_parts_length_and_bytes() -> None:
    data = b"\0\0\0\0\0\0\0\2ab" + b"\0" * 8 + b"\0\0\0\0\0\0\0\1c"

    assert hash_parts(b"ab", b"", b"c") == hashlib.sha256(data).hexdigest()
    assert hash_parts(b"a", b"bc") != hash_parts(b"ab", b"c")


def test_the_digest_is_the_same_wherever_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    short, long = b"[1]", b"x" * 1_000_000
    expected = [projection_digest("a", 3, data) for data in (short, long)]

    assert [DigestBeside("a", 3, data).result() for data in (short, long)] == expected
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert DigestBeside("a", 3, long).result() == expected[1]


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e400", "{", "[1,]", "1.", "\ufeff1", ""])
def test_what_the_other_program_does_not_take_for_json_is_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of any kind: the caller withholds
        canonical.parse(text)


@pytest.mark.parametrize("text", [str(2**64), str(-(2**63) - 1), "9" * 5000, "-" + "9" * 30])
def test_an_integer_beyond_64_bits_is_refused_by_name(text: str) -> None:
    with pytest.raises(canonical.WideInteger):
        canonical.parse(f"[{text}]")


@given(
    st.lists(
        st.sampled_from([*CREDENTIAL_MARKS, "pass", "k", "K", "ey", "_", "-", "tok", "en", "api"])
        | st.text(max_size=3)
        | st.sampled_from(CREDENTIAL_MARKS).map(lambda mark: mark[:-1])
        | st.sampled_from(CREDENTIAL_MARKS).map(str.upper)
    ).map("".join)
)
def test_the_fast_screen_decides_as_the_list_of_marks_does(text: str) -> None:
    data = text.encode(errors="replace")

    slow = any(mark.encode() in data.lower() for mark in CREDENTIAL_MARKS)
    assert is_credential_like(data) is slow


@pytest.mark.parametrize("mark", CREDENTIAL_MARKS)
def test_a_mark_stands_in_json_as_it_stands_in_text(mark: str) -> None:
    assert canonical.encode(mark) == f'"{mark}"'.encode()
    assert canonical.encode(mark.upper()) == f'"{mark.upper()}"'.encode()
