"""Pure. Where a reader stands: a place in the feed, or in the logs on its way to one.

A position is text to its users: keep it, and hand it back as `start`.

- `1700000000000-0`: everything up to this feed entry is done.
- `1700000000000-0:7`: of this entry only versions up to 7 are done.
- `h:1700000000000-0:7:session-42`: the logs are being read up to where the feed takes over behind
  this entry, streams in order of their names: this one up to version 7, those before it whole.
- `l:1700000000000-0:1600000000000-0:7:session-42`: the same for what was missed since the second
  entry, because the feed was trimmed between the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from streams.errors import UsageError

Id = tuple[int, int]
"""A feed entry's id as two numbers, which sort as Redis sorts it."""

ORIGIN: Final[Id] = (0, 0)
"""Before every entry."""

_ID: Final = re.compile(r"(\d{1,20})-(\d{1,20})", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,20}", re.ASCII)


class Stage(Enum):
    """What a reader is reading: the feed, all of history, or what it missed."""

    FEED = ""
    HISTORY = "h"
    MISSED = "l"


@dataclass(frozen=True, slots=True)
class Position:
    """Entries before `id` are done, and of `id` the versions up to `version` (None: all).

    In the other stages `version` and `stream` say how far the logs are read, and `since` from
    which entry on they had been missed.
    """

    id: Id = ORIGIN
    version: int | None = None
    stage: Stage = Stage.FEED
    stream: str = ""
    since: Id = ORIGIN

    @classmethod
    def parse(cls, text: str) -> Position:
        """A position from its text; raises `UsageError`."""
        stage, separator, rest = text.partition(":")
        try:
            if stage == Stage.HISTORY.value and separator:
                entry, version, stream = rest.split(":", 2)
                return cls(read_id(entry), _number(version), Stage.HISTORY, stream)
            if stage == Stage.MISSED.value and separator:
                entry, since, version, stream = rest.split(":", 3)
                place = read_id(entry), _number(version)
                return cls(*place, Stage.MISSED, stream, read_id(since))
            return cls(read_id(stage), _number(rest) if separator else None)
        except ValueError:
            raise UsageError(f"{text!r} is no position of a subscription") from None

    def __str__(self) -> str:
        entry = show_id(self.id)
        if self.stage is Stage.HISTORY:
            return f"h:{entry}:{self.version or 0}:{self.stream}"
        if self.stage is Stage.MISSED:
            return f"l:{entry}:{show_id(self.since)}:{self.version or 0}:{self.stream}"
        return entry if self.version is None else f"{entry}:{self.version}"

    def has(self, at: Id, version: int) -> bool:
        """Whether `version`, announced by feed entry `at`, is done. In the feed stage only."""
        if at != self.id:
            return at < self.id
        return self.version is None or version <= self.version

    def has_passed(self, oldest: Id) -> bool:
        """Whether a reader has gone on in the feed behind all that was trimmed.

        A trim it finds out about at its next read, and then it stands at the oldest entry.
        """
        return self.stage is Stage.FEED and self.id >= oldest > ORIGIN and self.version != 0

    def first_not_had(self, at: Id, first: int, last: int) -> int | None:
        """First version not done of those that feed entry `at` announces; None when all are.

        A reader still in the logs has nothing of the entry at which the feed is to take over.
        """
        if at != self.id:
            return first if at > self.id else None
        done = 0 if self.stage is not Stage.FEED else last if self.version is None else self.version
        return max(first, done + 1) if done < last else None

    def beyond(self, other: Position) -> bool:
        """Whether more is done here than at `other`; the feed comes after the logs."""
        if self.stage is not other.stage:
            return self.stage is Stage.FEED
        if self.stage is not Stage.FEED:
            return (self.stream, self.version or 0) > (other.stream, other.version or 0)
        if self.id != other.id or other.version is None:
            return self.id > other.id
        return self.version is None or self.version > other.version

    def later(self, other: Position) -> Position:
        """The one at which more is done."""
        return other if other.beyond(self) else self


def read_id(text: str) -> Id:
    """Both numbers of an entry id; raises `ValueError`."""
    found = _ID.fullmatch(text)
    if not found:
        raise ValueError(text)
    return int(found[1]), int(found[2])


def show_id(entry: Id) -> str:
    """An entry id as Redis writes it."""
    return f"{entry[0]}-{entry[1]}"


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)
