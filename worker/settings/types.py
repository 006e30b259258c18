"""Pure. How a setting may be written: durations, sizes, file modes, names of functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from .files import read_path

_UNITS_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_SIZES: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}
_LONGEST_MS: Final = 100 * 365 * _UNITS_MS["d"]


def parse_duration(raw: Any) -> timedelta:
    """Read `7d`, `1.5h`, `500ms` or a bare number of seconds; raise `ValueError` otherwise."""
    if isinstance(raw, timedelta):
        return raw
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?)\s*(ms|[smhdw])?", _text_of(raw).lower())
    if not match:
        raise ValueError("write a duration like 500ms, 30s, 5m, 12h or 7d")
    milliseconds = float(match[1]) * _UNITS_MS[match[2] or "s"]
    if milliseconds > _LONGEST_MS:
        raise ValueError("a duration is at most 100 years")
    return timedelta(milliseconds=milliseconds)


def format_duration(value: timedelta) -> str:
    """The shortest text that `parse_duration` reads back: `7d`, `90s`, `0s`."""
    milliseconds = round(value / timedelta(milliseconds=1))
    for unit in ("d", "h", "m", "s"):
        if milliseconds % _UNITS_MS[unit] == 0 and (milliseconds or unit == "s"):
            return f"{milliseconds // _UNITS_MS[unit]}{unit}"
    return f"{milliseconds}ms"


def parse_size(raw: Any) -> int:
    """Read bytes: `4194304`, `4MiB` or `4 MB`; raise `ValueError` otherwise."""
    match = re.fullmatch(r"(\d{1,15})\s*([kmg]?i?b)?", _text_of(raw).lower())
    if not match or (match[2] or "") not in _SIZES:
        raise ValueError("write a size in bytes, or like 512KiB, 8MiB or 1GiB")
    return int(match[1]) * _SIZES[match[2] or ""]


def format_size(value: int) -> str:
    """The shortest text that `parse_size` reads back: `8MiB`, `1000`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def parse_mode(raw: Any) -> int:
    """Read a file mode written in octal, as text: `"0640"`. A number would be ambiguous."""
    if not isinstance(raw, str) or not re.fullmatch(r"0?o?[0-7]{3}", raw):
        raise ValueError('write a mode as quoted octal digits, like "0640"')
    return int(raw[-3:], 8)


def format_mode(value: int) -> str:
    """Four octal digits."""
    return f"{value:04o}"


def check_function_name(raw: str) -> str:
    """Return `raw` if it names a function as `package.module:function`."""
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", raw):
        raise ValueError("write a function as package.module:function")
    return raw


def _text_of(raw: Any) -> str:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ValueError("must be a number or a text")
    return str(raw).strip()


def _refuse_bool(raw: Any) -> Any:
    if isinstance(raw, bool):
        raise ValueError("must be a whole number")
    return raw


@dataclass(frozen=True, slots=True)
class Written:
    """How a setting is described (`kind`) and shown."""

    kind: str
    show: Callable[[Any], str]


Count = Annotated[int, BeforeValidator(_refuse_bool), Written("number", str)]
Duration = Annotated[
    timedelta, BeforeValidator(parse_duration), Written("duration", format_duration)
]
Size = Annotated[int, BeforeValidator(parse_size), Written("bytes", format_size)]
FileMode = Annotated[int, BeforeValidator(parse_mode), Written("octal mode", format_mode)]
Location = Annotated[Path, BeforeValidator(read_path)]
FunctionName = Annotated[str, AfterValidator(check_function_name)]


class Section(BaseModel):
    """A table of the settings file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
