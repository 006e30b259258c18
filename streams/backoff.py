"""Pure but for chance. Growing, fully jittered delays between attempts."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays drawn from 0 to `base_s` × 2^attempt, capped: callers that fail together part."""

    base_s: float
    cap_s: float

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after failed attempt number `attempt`, counted from 0."""
        ceiling = min(self.cap_s, self.base_s * 2.0 ** min(attempt, 32))
        return random.uniform(0, ceiling)  # noqa: S311 - spreads load, guards nothing
