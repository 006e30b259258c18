"""Pure. What the doctor found: one line a check, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How grave a finding is. Only `FAIL` stops a worker from keeping its promises."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` is what is so, `todo` what to do about it, empty where there is nothing to do."""

    check: str
    status: Status
    found: str
    todo: str = ""


def ok(check: str, found: str) -> Finding:
    """Nothing to do."""
    return Finding(check, Status.OK, found)


def warn(check: str, found: str, todo: str) -> Finding:
    """It works, and will hurt one day."""
    return Finding(check, Status.WARN, found, todo)


def fail(check: str, found: str, todo: str) -> Finding:
    """A worker here would not run, or would lose or endanger data."""
    return Finding(check, Status.FAIL, found, todo)


def skip(check: str, found: str, todo: str = "") -> Finding:
    """It could not be looked at."""
    return Finding(check, Status.SKIP, found, todo)


def gib(size: int) -> str:
    """`size` bytes for a person: GiB, below a quarter of one MiB."""
    return f"{size / (1 << 30):.2f} GiB" if size >= 1 << 28 else f"{size / (1 << 20):.1f} MiB"
