"""Pure. The archive's own errors; each belongs to one of the five families of `streams.errors`."""

from __future__ import annotations

from streams.errors import UsageError


class InvalidRound(UsageError):
    """A round number below 1, or a file name that is none: the caller has to fix it."""

    def __init__(self, value: object) -> None:
        super().__init__(f"round must be a whole number of at least 1, got {value!r}")
        self.value = value


class InvalidAction(UsageError):
    """An action outside plan, implement, fix and review."""

    def __init__(self, action: object) -> None:
        super().__init__(f"action must be plan, implement, fix or review, got {action!r}")
        self.action = action


class NoEvents(UsageError):
    """A round without events has no record."""

    def __init__(self) -> None:
        super().__init__("a round needs at least one event")


class InvalidIdentifier(UsageError):
    """A caller's reference doesn't have the form of its role, or looks cut off.

    `role` is the role as given, `value` the single value refused, `reason` what is wrong.
    """

    def __init__(self, role: str, value: str, reason: str) -> None:
        super().__init__(f"ref {role} {value!r}: {reason}")
        self.role, self.value, self.reason = role, value, reason
