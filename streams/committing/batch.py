"""Pure. Appends on their way into logs: what is still to be committed, and how each one ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from streams.errors import AresError, StreamCorrupted
from streams.keys import Keys
from streams.plan import Append, Head, StreamPlan, StreamWrite, write_commands
from streams.wire import Reply

Outcome = int | AresError
"""Version of an append's last event, or why it was not appended."""


class TornCommit(StreamCorrupted):
    """EXEC ran, and this stream's part of it failed: a foreign entry stands above its head.

    What was committed beside the events (removal from the inbox, marks of their ids) has happened;
    the events have not, but for those with an id among `stored`. Whoever holds them must put them
    where nothing is lost.
    """

    def __init__(self, stream: str, reason: str, stored: frozenset[str] = frozenset()) -> None:
        super().__init__(stream, reason)
        self.stored = stored


@dataclass(slots=True)
class Batch:
    """Appends on their way, by stream, with what earlier attempts left to find out.

    `unknown` are writes whose EXEC got no answer: each may have run, or may still.
    """

    appends: dict[str, list[tuple[int, Append]]]
    attempts: int = 0
    failures: int = 0
    heads: dict[str, Head] = field(default_factory=dict)
    unknown: dict[str, StreamWrite] = field(default_factory=dict)

    def part(self, streams: Iterable[str]) -> Batch:
        """The same batch for some of its streams."""
        chosen = {stream: self.appends[stream] for stream in streams}
        unknown = {name: write for name, write in self.unknown.items() if name in chosen}
        return Batch(chosen, self.attempts, self.failures, unknown=unknown)


class Outcomes:
    """One outcome per append of a `commit`, filled in as they become known."""

    def __init__(self, count: int) -> None:
        self._outcomes: list[Outcome] = [0] * count

    def settle(self, indexed: Iterable[tuple[int, Append]], outcome: Outcome) -> None:
        """All of `indexed` end so."""
        for index, _ in indexed:
            self._outcomes[index] = outcome

    def settle_plan(self, indexed: Sequence[tuple[int, Append]], plan: StreamPlan) -> None:
        """Each of `indexed` ends as planned, if the plan's write is committed."""
        for (index, _), outcome in zip(indexed, plan.outcomes, strict=True):
            self._outcomes[index] = outcome

    def all(self) -> list[Outcome]:
        """The outcomes, in the order of the appends."""
        return self._outcomes


def torn_streams(
    writes: Sequence[StreamWrite], replies: Sequence[Reply], keys: Keys
) -> dict[str, StreamCorrupted]:
    """Streams whose events were not all added to their log.

    What failed beside them, such as their announcement in a feed of another type, leaves them
    recorded; whoever reads that key meets the damage.
    """
    torn: dict[str, StreamCorrupted] = {}
    if not any(isinstance(reply, Exception) for reply in replies):
        return torn
    position = 0
    for write in writes:
        count = len(write_commands(write, keys, sequenced=True))
        added = replies[position : position + len(write.events)]
        errors = [reply for reply in added if isinstance(reply, Exception)]
        if errors:
            stored = frozenset(
                event.id
                for event, reply in zip(write.events, added, strict=True)
                if not isinstance(reply, Exception)
            )
            reason = f"EXEC failed in part: {errors[0]}"
            torn[write.stream] = TornCommit(write.stream, reason, stored)
        position += count
    return torn
