"""Pure. The overview: is it working, and if not, which stage isn't?"""

from __future__ import annotations

from typing import Any

from .board import build
from .rows_archive import ARCHIVE, COMPACTION, SEGMENTS, SUBSCRIBERS
from .rows_events import APPENDS, FEED, INBOX
from .rows_glance import GLANCE
from .rows_process import PROCESS, REDIS


def overview() -> dict[str, Any]:
    """The dashboard."""
    return build(
        "ares-worker-overview",
        "ares-worker / Overview",
        (
            GLANCE,
            APPENDS,
            INBOX,
            FEED,
            ARCHIVE,
            COMPACTION,
            SUBSCRIBERS,
            SEGMENTS,
            REDIS,
            PROCESS,
        ),
        about="From inbox to round file, stage by stage. Every panel says what is normal.",
        since="now-3h",
    )
