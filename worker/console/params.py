"""Values of the command line: moments, versions, documents and lines from a file or pipe."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click

from streams.clock import utc_now
from streams.errors import UsageError
from streams.store import NO_STREAM, ExpectedVersion

_AGO: Final = re.compile(r"(\d{1,9})\s*(s|m|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


lines_files = click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
)
"""Files of JSON lines; `-` is standard input."""


class Moment(click.ParamType[datetime]):
    """A time: RFC 3339, a date, or how long ago (`10m`, `2h`, `7d`). Without a zone it is UTC."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The aware UTC time `value` means."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if ago := _AGO.fullmatch(text):
                return utc_now() - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
            moment = datetime.fromisoformat(text)
            zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            return zoned.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(
                f"{text!r} is no time; write 2026-01-31, 2026-01-31T12:00:00Z, or 10m, 2h, 7d ago",
                param,
                ctx,
            )


class Version(click.ParamType[ExpectedVersion]):
    """The version a stream must have: a number, or `no-stream` for one without events."""

    name = "version"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> ExpectedVersion:
        """A whole number or `NO_STREAM`."""
        if value in (NO_STREAM, "no-stream"):
            return NO_STREAM
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor no-stream", param, ctx)


def read_document(source: str, *, max_bytes: int) -> bytes:
    """The bytes that `source` names: `@file`, `-` for standard input, else itself.

    Reads at most one byte more than `max_bytes`, enough for the check of the limit to fail.
    """
    if source == "-":
        return sys.stdin.buffer.read(max_bytes + 1)
    if not source.startswith("@"):
        return source.encode(errors="surrogateescape")
    try:
        with Path(source[1:]).open("rb") as file:
            return file.read(max_bytes + 1)
    except OSError as exc:
        raise UsageError(f"can't read {source[1:]}: {exc.strerror}") from exc
