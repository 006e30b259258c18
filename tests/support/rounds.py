"""Made-up rounds, the same for the same numbers, and a look at what an archive holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from archive.record import RoundRecord

_FIRST_DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_round(number: int, stream: str = "s", **changes: Any) -> RoundRecord:
    """Round `number` of ten events; each ends at noon, a day after the one before it."""
    ended = _FIRST_DAY + timedelta(days=number - 1)
    whole = RoundRecord(
        number,
        "fix",
        f"round {number} of {stream}",
        stream_id=stream,
        tenant_id="default",
        first_version=number * 10 - 9,
        last_version=number * 10,
        event_count=10,
        started_at=ended - timedelta(hours=1),
        ended_at=ended,
        events_digest=f"{number:064x}",
    )
    return replace(whole, **changes)


def files(folder: Path) -> list[str]:
    """Every file below a folder, by its path there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
