"""Pure. What `verify` looks at, and what a look showed."""

from __future__ import annotations

from dataclasses import dataclass

from archive.places import StreamFolder
from archive.verifying.checks import Finding

from .stored import KeysLook


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at: streams, events in logs, round files."""

    streams: int = 0
    events: int = 0
    rounds: int = 0

    def __add__(self, other: Checked) -> Checked:
        return Checked(
            self.streams + other.streams, self.events + other.events, self.rounds + other.rounds
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at together: a stream and the folders in which its rounds may be.

    Without a stream's name it is a folder alone, whose streams Redis doesn't know.
    """

    stream: str
    folders: tuple[StreamFolder, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a subject showed, and how much that was. `keys` are its stream's."""

    keys: KeysLook | None
    found: tuple[Finding, ...]
    counts: Checked
