"""Where a live subscription stands, whoever reads for it.

There is one place in the feed all along, so nothing falls between catching up and following, and
nothing comes twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from streams.subscription.items import Row
from streams.subscription.position import ORIGIN, Id, Position
from streams.subscription.seen import Covered, Versions

_MOST_VERSIONS: Final = 1_000


class Standing:
    """`place` is up to where the feed has been read; `covered` is what was had ahead of it."""

    def __init__(self) -> None:
        self.place = Position()
        self.covered = Covered()
        self._versions = Versions(_MOST_VERSIONS)
        self._versions_of_hub: Versions | None = None
        self._ahead: Mapping[str, int] = {}
        self._ahead_until: Id = ORIGIN

    def saw(self, rows: Iterable[Row]) -> None:
        """These rows are on their way to the consumer."""
        for row in rows:
            self._versions.saw(row.stream, row.version)

    def followed(self, versions: Versions) -> None:
        """A hub put rows into the subscription's buffer; its `versions` are those it had."""
        self._versions_of_hub = versions

    def newest(self, stream: str) -> int | None:
        """Up to which version of `stream` everything was had; None where that isn't known."""
        known = [self._versions.get(stream), self.covered.upto.get(stream)]
        if self._versions_of_hub is not None:
            known.append(self._versions_of_hub.get(stream))
        return max((version for version in known if version is not None), default=None)

    def had_history(self, heads: Mapping[str, int], until: Id) -> None:
        """History up to these heads was had, which the feed repeats up to its entry `until`."""
        self._ahead, self._ahead_until = heads, until
        self.covered.upto.update(heads)

    def forget_history(self) -> None:
        """Let go of what is known of history once the feed is past it."""
        if self._ahead and self.place.id >= self._ahead_until:
            self.covered.forget(self._ahead)
            self._ahead = {}
