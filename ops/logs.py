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
_LOOKED_AT: Final = 32_000
"""Characters searched for secrets: far more than are shown, so a cut never bares half of one."""

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


class _SafeFormatter(logging.Formatter):
    """What both formats share: secrets masked, everything of a bounded length."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self.redact = redactor

    def message_of(self, record: logging.LogRecord) -> str:
        return shortened(self.redact(record.getMessage()[:_LOOKED_AT]), _LONGEST_MESSAGE)

    def fields_of(self, record: logging.LogRecord) -> dict[str, _Scalar]:
        given = getattr(record, "fields", None)
        if not isinstance(given, Mapping):
            return {}
        chosen = list(given.items())[:_MOST_FIELDS]
        return {name: self._scalar(name, value) for name, value in chosen}

    def error_of(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {error}"[:_LOOKED_AT]
        return shortened(self.redact(text), _LONGEST_FIELD)

    def trace_of(self, record: logging.LogRecord) -> str:
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return self.redact(trace[-_LOOKED_AT:])[-_LONGEST_TRACE:]

    def _scalar(self, name: str, value: object) -> _Scalar:
        if name.lower() in _WITHHELD:
            return "[withheld]"
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            # JSON has no NaN and no infinity.
            return value if value - value == 0 else str(value)
        if isinstance(value, bytes):
            value = value[:_LOOKED_AT].decode("utf-8", "backslashreplace")
        return shortened(self.redact(str(value)[:_LOOKED_AT]), _LONGEST_FIELD)


class JsonFormatter(_SafeFormatter):
    """One JSON object a line: ts, level, logger, msg, then the fields; error and trace last."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of `record`; ASCII, so neither a newline nor a control can break out."""
        line: dict[str, _Scalar] = {
            "ts": _time_of(record, "T") + "Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": self.message_of(record),
        }
        for name, value in self.fields_of(record).items():
            line[name if name not in line else f"{name}_"] = value
        if record.exc_info and record.exc_info[1]:
            line["error"] = self.error_of(record.exc_info[1])
            line["trace"] = self.trace_of(record)
        return json.dumps(line, allow_nan=False, separators=(",", ":"))


class TextFormatter(_SafeFormatter):
    """`time level logger: message  field=value …` on one line, a trace indented below it."""

    def __init__(self, redactor: Redactor, *, color: bool) -> None:
        super().__init__(redactor)
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
            escape_controls(self.message_of(record)),
        ]
        found = self.fields_of(record)
        if record.exc_info and record.exc_info[1]:
            found["error"] = self.error_of(record.exc_info[1])
        parts.extend(f"{escape_controls(name)}={_as_text(value)}" for name, value in found.items())
        text = " ".join(parts)
        if record.exc_info and record.exc_info[1]:
            lines = self.trace_of(record).splitlines()
            text += "".join(f"\n    {escape_controls(line)}" for line in lines)
        return text


class _QuietHandler(logging.StreamHandler[TextIO]):
    """A handler whose failures stay silent: the standard one would print the arguments."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - overrides
        return


def _time_of(record: logging.LogRecord, separator: str) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return moment.isoformat(separator, timespec="milliseconds")


def _as_text(value: _Scalar) -> str:
    text = escape_controls(str(value))
    plain = text and not any(char in text for char in ' "=')
    return text if plain else json.dumps(text, ensure_ascii=False)


def _colors_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
