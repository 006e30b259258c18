"""Pure. What an erasure took away, what it could not, and how that is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from archive.erase import Erasure
from streams.errors import ConflictError, CorruptionError, StoreUnavailable, TransientError
from worker.console import words

_NOUNS: Final = (
    ("streams", "stream"),
    ("rounds", "round"),
    ("events", "event"),
    ("summaries", "summary"),
    ("segments", "segment"),
    ("feed_entries", "feed entry"),
    ("inbox_entries", "inbox entry"),
    ("dead_letters", "dead letter"),
    ("leftovers", "temporary file"),
)


@dataclass(frozen=True, slots=True)
class Pending:
    """What could not be erased now, and why; the same command again tries it."""

    where: str
    reason: str


@dataclass(slots=True)
class Erased:
    """Counts of what was erased, or would be; `rounds_before` were tombstones already.

    `streams` are those of a whole tenant, None where one was named.
    `summaries` were dropped, or lost what they said of a round; `leftovers` are temporary files
    of the archive. `remarks` are for a person.
    """

    streams: int | None = None
    rounds: int = 0
    rounds_before: int = 0
    events: int = 0
    summaries: int = 0
    segments: int = 0
    feed_entries: int = 0
    inbox_entries: int = 0
    dead_letters: int = 0
    leftovers: int = 0
    pending: list[Pending] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many things of any kind, but for what was erased before."""
        return sum(getattr(self, name) for name, _ in _NOUNS if name != "streams")

    @property
    def found(self) -> bool:
        """Whether there is or was anything of it."""
        return bool(self.total or self.rounds_before or self.streams)

    def take(self, done: Erasure) -> None:
        """Count what was done in the archive."""
        self.rounds += done.erased
        self.rounds_before += done.already_erased
        self.leftovers += done.leftovers_removed
        self.pending += [
            Pending(item.path, f"{item.reason}: {item.detail}") for item in done.pending
        ]

    def settle(self, where: str) -> None:
        """What was pending there has been tried again."""
        self.pending = [item for item in self.pending if item.where != where]

    @contextmanager
    def going_on(self, where: str) -> Iterator[None]:
        """Note as pending what fails inside, and go on; without Redis nothing can."""
        try:
            yield
        except StoreUnavailable:
            raise
        except (TransientError, ConflictError, CorruptionError) as exc:
            hint = getattr(exc, "hint", "")
            self.pending.append(Pending(where, f"{exc}. {hint}" if hint else str(exc)))

    def in_words(self) -> str:
        """The counts that aren't zero, as a list; "nothing" where all are."""
        counts = [(getattr(self, name), noun) for name, noun in _NOUNS]
        return ", ".join(_count(number, noun) for number, noun in counts if number) or "nothing"

    def as_json(self) -> dict[str, Any]:
        """The counts, and what is pending."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name != "remarks"
        }


def _count(number: int, noun: str) -> str:
    if number != 1 and noun.endswith("y"):
        return f"{number:,} {noun.removesuffix('y')}ies"
    return words.count(number, noun)
