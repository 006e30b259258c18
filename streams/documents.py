"""Pure. Payload and metadata documents: a JSON object or a msgpack map, checked and decoded.

A document is told apart by its first byte and carried through unchanged, so values survive
exactly. What JSON parsers read differently is refused, with the path of the culprit: NaN and
infinities, integers beyond 64 bits, lone surrogates, duplicate keys, keys that are no text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import msgpack
import msgspec

from .errors import InvalidEvent

_BOM: Final = b"\xef\xbb\xbf"
_KEY_END: Final = b'":'
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 64) - 1
_encode_msgpack: Final = msgspec.msgpack.Encoder().encode
_decode_json: Final = msgspec.json.Decoder().decode


def _plain(value: object) -> object:
    """msgspec knows exact types only: a subclass, such as numpy's floats, by its plain value."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(type(value).__name__)


_encode_json: Final = msgspec.json.Encoder(enc_hook=_plain).encode


def decode_document(raw: bytes) -> dict[str, Any]:
    """Decode a document that was checked before it was stored; empty bytes are `{}`."""
    if not raw:
        return {}
    if _is_msgpack(raw):
        return msgpack.unpackb(raw)  # type: ignore[no-any-return]
    return _decode_json(raw)  # type: ignore[no-any-return]


def encode_document(document: Mapping[str, Any], path: str, *, max_depth: int) -> bytes:
    """JSON bytes of a mapping; raises `InvalidEvent` naming the value that has no JSON form."""
    if not document and isinstance(document, Mapping):
        return b""
    if not isinstance(document, Mapping):
        _refuse(path, f"must be an object, not {type(document).__name__}")
    _Walk(max_depth).check(document, path)
    try:
        return _encode_json(document if type(document) is dict else dict(document))
    except UnicodeEncodeError:
        _refuse_surrogate(document, path)


def check_document(raw: bytes, path: str, *, max_depth: int) -> bytes:
    """Return the bytes to store for a producer's document; raise `InvalidEvent` if it is bad."""
    if raw.startswith(_BOM):
        raw = raw[len(_BOM) :]
    if _is_msgpack(raw):
        _check_msgpack(raw, path, max_depth)
    else:
        _check_json(raw, path, max_depth)
    return raw


def _is_msgpack(raw: bytes) -> bool:
    first = raw[0] if raw else 0
    return 0x80 <= first <= 0x8F or first in (0xDE, 0xDF)


def _check_json(raw: bytes, path: str, max_depth: int) -> None:
    try:
        document = _decode_json(raw)
    except RecursionError:
        _refuse(path, f"is nested deeper than {max_depth}", code="limits")
    except (msgspec.DecodeError, msgspec.ValidationError) as exc:
        _explain_json(raw, path, exc)
    if type(document) is not dict:
        _refuse(path, f"must be an object, not {_json_name(document)}")
    if raw.count(b"{") + raw.count(b"[") > max_depth or _has_long_number(document):
        _Walk(max_depth).check(document, path)
    if not _is_plainly_unique(raw, _encode_json(document)):
        _refuse_duplicates(raw, path)


def _has_long_number(document: dict[str, Any]) -> bool:
    try:
        _encode_msgpack(document)  # which has no integers beyond 64 bits either
    except OverflowError:
        return True
    return False


def _is_plainly_unique(raw: bytes, rewritten: bytes) -> bool:
    """Whether no key stands twice in `raw`, seen without a look at each key.

    A key ends with a quote and a colon. The document, written again, has as many of these, those
    inside strings included, unless a key stood twice; or a string wrote them as escapes.
    """
    compact = msgspec.json.format(raw, indent=-1)
    if compact == rewritten:
        return True
    escaped = b"\\u0022" in compact or b"\\u003" in compact
    return not escaped and compact.count(_KEY_END) == rewritten.count(_KEY_END)


def _explain_json(raw: bytes, path: str, cause: Exception) -> NoReturn:
    """Say in words why a strict parser refused `raw`; a lax one helps to find the place."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as exc:
        _refuse(path, f"is not UTF-8 at byte {exc.start}", code="encoding")
    try:
        document = json.loads(text)
    except json.JSONDecodeError as exc:
        _refuse(path, f"is not JSON: {exc.msg} at character {exc.pos}", code="encoding")
    except (RecursionError, ValueError):
        _refuse(path, f"is not JSON this worker can read: {cause}", code="encoding")
    _Walk(1 << 30).check(document, path)
    _refuse_surrogate(document, path)


def _refuse_surrogate(document: object, path: str) -> NoReturn:
    where = _find_surrogate(document, path) or path
    _refuse(where, "contains half a surrogate pair, which is no character", code="encoding")


def _find_surrogate(value: object, path: str) -> str | None:
    if isinstance(value, str):
        return path if any(0xD800 <= ord(char) <= 0xDFFF for char in value) else None
    if isinstance(value, Mapping):
        for key, child in value.items():
            found = _find_surrogate(key, path) or _find_surrogate(child, f"{path}.{key}")
            if found:
                return found
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            if found := _find_surrogate(child, f"{path}[{index}]"):
                return found
    return None


class _Duplicate:
    """Stands in a parsed document where an object has the same key twice."""

    def __init__(self, key: str) -> None:
        self.key = key


def _pairs(pairs: list[tuple[Any, Any]]) -> Any:
    document = dict(pairs)
    if len(document) == len(pairs):
        return document
    seen: set[Any] = set()
    return _Duplicate(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]


def _refuse_duplicates(raw: bytes, path: str) -> None:
    document = json.loads(raw, object_pairs_hook=_pairs)
    _Walk(1 << 30).check(document, path)


def _check_msgpack(raw: bytes, path: str, max_depth: int) -> None:
    try:
        # A map's declared length is bounded by the buffer's, so a forged header allocates nothing.
        document = msgpack.unpackb(raw, object_pairs_hook=_pairs, strict_map_key=False)
    except UnicodeDecodeError as exc:
        _refuse(path, f"has text that is not UTF-8: {exc.reason}", code="encoding")
    except (ValueError, TypeError, msgpack.UnpackException) as exc:
        reason = str(exc) or type(exc).__name__
        _refuse(path, f"is not msgpack: {reason}", code="encoding")
    _Walk(max_depth).check(document, path)


class _Walk:
    """Checks every value of a decoded document."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth

    def check(self, value: Any, path: str, depth: int = 1) -> None:
        """Raise `InvalidEvent` at the first value that can't be stored exactly."""
        kind = type(value)
        if kind is str or kind is bool or value is None:
            return
        if kind is dict or (depth == 1 and isinstance(value, Mapping)):
            self._mapping(value, path, depth)
        elif kind is list or kind is tuple:
            self._deeper(path, depth)
            for index, child in enumerate(value):
                self.check(child, f"{path}[{index}]", depth + 1)
        elif isinstance(value, int):
            if not _INT_MIN <= value <= _INT_MAX:
                _refuse(path, "is an integer beyond 64 bits")
        elif isinstance(value, float):
            if not math.isfinite(value):
                _refuse(path, f"is {value}, which JSON has no form for", code="encoding")
        elif isinstance(value, _Duplicate):
            _refuse(path, f"has the key {value.key!r} twice")
        elif not isinstance(value, str):
            _refuse(path, _unsupported(value))

    def _mapping(self, value: Mapping[Any, Any], path: str, depth: int) -> None:
        self._deeper(path, depth)
        for key, child in value.items():
            if not isinstance(key, str):
                _refuse(path, f"has the key {key!r}, which is not text")
            kind = type(child)
            if kind is not str:
                self.check(child, f"{path}.{key}", depth + 1)

    def _deeper(self, path: str, depth: int) -> None:
        if depth > self._max_depth:
            shown = path if len(path) < 80 else path[:80] + "…"
            _refuse(shown, f"is nested deeper than {self._max_depth}", code="limits")


def _unsupported(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return "is binary, which JSON can't hold; send text such as base64"
    return f"has no JSON form ({type(value).__name__})"


def _json_name(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _refuse(path: str, reason: str, *, code: str = "schema") -> NoReturn:
    raise InvalidEvent(path, reason, code=code)
