"""The one place that reads the wall clock; everything else is given a `Clock`."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Returns milliseconds since the epoch."""


def system_clock() -> int:
    """Milliseconds since the epoch by this machine's clock."""
    return time.time_ns() // 1_000_000


def utc_now() -> datetime:
    """The current time, aware, UTC."""
    return datetime.now(UTC)
