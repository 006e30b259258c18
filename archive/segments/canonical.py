"""Pure. The canonical JSON under every digest.

Canonical: UTF-8, no spaces, non-ASCII unescaped, keys sorted by code point at every depth,
integers up to 64 bits. Floats have the fewest digits that read back and are spelled as the
other program's JSON library (Rust's serde_json) spells them: `1.0`, `1e-7`, `0.00001`, `1e+16`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from json.encoder import encode_basestring
from typing import Any, Final

from .errors import SegmentInvalid

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**64 - 1

FloatSpelling = Callable[[float], str]

_CONSTANTS: Final = {None: "null", True: "true", False: "false"}


class WideInteger(SegmentInvalid):
    """A number doesn't fit 64 bits."""

    def __init__(self) -> None:
        super().__init__("an integer doesn't fit 64 bits")


def array(elements: Iterable[tuple[int, Iterable[int], bytes]]) -> bytes:
    """The JSON array of kept messages, as the digest and the file hold it.

    Each is its source index, its block indices and its message, canonical already.
    """
    pieces = [b"["]
    for index, blocks, message in elements:
        comma = b"," if len(pieces) > 1 else b""
        indices = b",".join([b"%d" % block for block in blocks])
        head = b'%b{"source_index":%d,"block_indices":[%b],"message":' % (comma, index, indices)
        pieces += (head, message, b"}")
    pieces.append(b"]")
    return b"".join(pieces)


def encode(value: Any, *, floats: bool = True) -> bytes:
    """Canonical JSON of a JSON value.

    Several times faster where the caller knows that there is no float, and no subclass of str or
    int, in it. Raises `UnicodeEncodeError` for text with half a surrogate pair.
    """
    return encode_exact(value, spell_float) if floats else _encoder()(value)


def encode_exact(value: Any, spelling: FloatSpelling) -> bytes:
    """Canonical JSON with floats spelled by `spelling`."""
    out: list[str] = []
    _write(value, spelling, out)
    return "".join(out).encode()


def spell_float(value: float) -> str:
    """`value` as serde_json writes it since it uses the crate zmij."""
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    power = int(exponent)
    if power != -5:
        return f"{mantissa}e{power:+d}"
    # Python turns to exponents one power of ten before serde_json does.
    sign = "-" if mantissa.startswith("-") else ""
    return f"{sign}0.0000{mantissa.lstrip('-').replace('.', '')}"


def spell_float_as_ryu(value: float) -> str:
    """`value` as older releases of serde_json wrote it: a positive exponent without its sign."""
    return spell_float(value).replace("e+", "e")


class ParsedJson:
    """A JSON value and whether a float is in it."""

    __slots__ = ("floats", "value")

    def __init__(self, text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None):
        self.floats = False
        self.value: Any = json.loads(
            text,
            parse_float=self._float,
            parse_int=self._int,
            parse_constant=_refuse_constant,
            object_pairs_hook=pairs,
        )

    def _float(self, digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            raise ValueError("number out of range")
        self.floats = True
        return value

    def _int(self, digits: str) -> int | float:
        if digits == "-0":
            return self._float("-0.0")
        if len(digits) > 20 or not INT_MIN <= int(digits) <= INT_MAX:
            raise WideInteger
        return int(digits)


def parse(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> ParsedJson:
    """Parse JSON as serde_json would: no NaN, no numbers out of range, `-0` is a float.

    `pairs` makes each object. Raises `WideInteger`, or another `ValueError` or `RecursionError`
    for what is no JSON.
    """
    return ParsedJson(text, pairs)


def nesting(value: Any, limit: int) -> int:
    """Levels of arrays and objects in `value`; counting stops one past `limit`."""
    if not isinstance(value, list | dict):
        return 0
    if limit <= 0:
        return 1
    children = value.values() if isinstance(value, dict) else value
    return 1 + max((nesting(child, limit - 1) for child in children), default=0)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _write(value: Any, spelling: FloatSpelling, out: list[str]) -> None:
    if isinstance(value, str):
        out.append(encode_basestring(value))
    elif value is None or value is True or value is False:
        out.append(_CONSTANTS[value])
    elif isinstance(value, float):
        out.append(spelling(float(value)))
    elif isinstance(value, int):
        out.append(int.__repr__(value))
    elif isinstance(value, dict):
        mark = "{"
        for key in sorted(value):
            out += (mark, encode_basestring(key), ":")
            _write(value[key], spelling, out)
            mark = ","
        out.append("}" if value else "{}")
    else:
        mark = "["
        for item in value:
            out.append(mark)
            _write(item, spelling, out)
            mark = ","
        out.append("]" if value else "[]")


@cache
def _encoder() -> Callable[[Any], bytes]:
    import msgspec

    return msgspec.json.Encoder(order="sorted").encode
