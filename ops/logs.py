"""Logs on standard error: JSON lines for machines, one readable line for people.

Every part logs to `logging.getLogger("ares.<part>")` with a short fixed message, and what
differs as fields: `log.info("round archived", extra=fields(tenant=t, stream=s, round=3))`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from .redact import Redactor, escape_controls, shortened

ROOT: Final = "ares"

_LONGEST_FIELD: Final = 512
_LONGEST_MESSAGE: Final = 2_000
_LONGEST_TRACE: Final = 8_000
_MOST_FIELDS: Final = 32
_WITHHELD: Final = frozenset({"payload", "metadata", "content", "event", "record", "password"})
_COLORS: Final = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31;1m"}

_Scalar = str | int | float | bool | None


def fields(**values: object) -> dict[str, Any]:
    """The `extra=` of a log call; any name may be used, `name` and `module` too."""
    return {"fields": values}


@contextmanager
def logging_to(
    stream: TextIO | None = None,
    *,
    level: str = "info",
    format: str = "auto",
    redactor: Redactor | None = None,
) -> Iterator[None]:
    """Send logs to `stream` (standard error) while the block runs, then restore what was.

    `format` is auto, json or text. Other libraries' warnings come the same way; what is below
    a warning in them stays unwritten, for it may quote commands and their arguments.
    """
    stream = stream if stream is not None else sys.stderr
    tty = stream.isatty()
    formatter: logging.Formatter
    if format == "json" or (format == "auto" and not tty):
        formatter = JsonFormatter(redactor or Redactor())
    else:
        formatter = TextFormatter(redactor or Redactor(), color=tty and _colors_wanted())
    handler = _QuietHandler(stream)
    handler.setFormatter(formatter)
    root, ours = logging.getLogger(), logging.getLogger(ROOT)
    before = root.handlers[:], root.level, ours.level
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    ours.setLevel(level.upper())
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        ours.setLevel(before[2])


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, then the fields; error and trace last."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redact = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The line of `record`; ASCII, so neither a newline nor a control can break out."""
        line: dict[str, _Scalar] = {
            "ts": _time_of(record, "T") + "Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _message(record, self._redact),
        }
        for name, value in _fields_of(record, self._redact).items():
            line[name if name not in line else f"{name}_"] = value
        if record.exc_info and record.exc_info[1]:
            line["error"] = _error_text(record.exc_info[1], self._redact)
            trace = self._redact(self.formatException(record.exc_info))
            line["trace"] = trace[-_LONGEST_TRACE:]
        return json.dumps(line, allow_nan=False, separators=(",", ":"))


class TextFormatter(logging.Formatter):
    """`time level logger: message  field=value …` on one line, a trace indented below it."""

    def __init__(self, redactor: Redactor, *, color: bool) -> None:
        super().__init__()
        self._redact = redactor
        self._color = color

    def format(self, record: logging.LogRecord) -> str:
        """The text of `record`, with controls escaped."""
        level = f"{record.levelname:<7}"
        if self._color and record.levelname in _COLORS:
            level = f"{_COLORS[record.levelname]}{level}\x1b[0m"
        parts = [
            _time_of(record, " "),
            level,
            f"{escape_controls(record.name)}:",
            escape_controls(_message(record, self._redact)),
        ]
        found = _fields_of(record, self._redact)
        if record.exc_info and record.exc_info[1]:
            found["error"] = _error_text(record.exc_info[1], self._redact)
        parts.extend(f"{escape_controls(name)}={_as_text(value)}" for name, value in found.items())
        text = " ".join(parts)
        if record.exc_info and record.exc_info[1]:
            trace = self._redact(self.formatException(record.exc_info))[-_LONGEST_TRACE:]
            text += "".join(f"\n    {escape_controls(line)}" for line in trace.splitlines())
        return text


class _QuietHandler(logging.StreamHandler[TextIO]):
    """A handler whose failures stay silent: the standard one would print the arguments."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - overrides
        return


def _time_of(record: logging.LogRecord, separator: str) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return moment.isoformat(separator, timespec="milliseconds")


def _message(record: logging.LogRecord, redact: Redactor) -> str:
    return shortened(redact(record.getMessage()), _LONGEST_MESSAGE)


def _error_text(error: BaseException, redact: Redactor) -> str:
    return shortened(redact(f"{type(error).__name__}: {error}"), _LONGEST_FIELD)


def _fields_of(record: logging.LogRecord, redact: Redactor) -> dict[str, _Scalar]:
    given = getattr(record, "fields", None)
    if not isinstance(given, Mapping):
        return {}
    chosen = list(given.items())[:_MOST_FIELDS]
    return {name: _scalar(name, value, redact) for name, value in chosen}


def _scalar(name: str, value: object, redact: Redactor) -> _Scalar:
    if name.lower() in _WITHHELD:
        return "[withheld]"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        # JSON has no NaN and no infinity.
        return value if value - value == 0 else str(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return shortened(redact(str(value)), _LONGEST_FIELD)


def _as_text(value: _Scalar) -> str:
    text = escape_controls(str(value))
    plain = text and not any(char in text for char in ' "=')
    return text if plain else json.dumps(text, ensure_ascii=False)


def _colors_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
