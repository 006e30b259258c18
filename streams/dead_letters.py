"""Dead letters: inbox entries that were rejected, kept whole, to look at, send again or drop.

An entry of the dead stream has the producer's fields byte for byte, each name prefixed with
`f:`, and beside them `reason`, `code`, `origin_id`, `attempts`, `first_seen_ms` and `dead_ms`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from redis.exceptions import WatchError

from .codec import MAX_TIMESTAMP_MS
from .errors import NotFoundError, TooMuchContention, UsageError
from .keys import Keys
from .wire import Reply, Wire, Wires, checked

ORIGINAL: Final = b"f:"
"""Prefix of the names of the producer's own fields."""

_ENTRY_ID: Final = re.compile(r"\d{1,20}-\d{1,20}", re.ASCII)
_PAGE: Final = 16  # an entry may be as large as Redis allows
_BATCH: Final = 500
_ATTEMPTS: Final = 100


class DeadLetterNotFound(NotFoundError):
    """No dead letter has this id; it may have been requeued or purged meanwhile."""

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"there is no dead letter {entry_id}")
        self.entry_id = entry_id


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One rejected entry. `fields` are the producer's, in order, byte for byte.

    `code` is schema, encoding, too_large, limits or poison, or foreign for what a repair took out
    of a log; `reason` says it in words. Times are milliseconds since the epoch.
    """

    id: str
    fields: tuple[tuple[bytes, bytes], ...]
    reason: str
    code: str
    origin_id: str
    attempts: int
    first_seen_ms: int
    dead_ms: int

    @property
    def size(self) -> int:
        """Bytes of the producer's fields."""
        return sum(len(name) + len(value) for name, value in self.fields)

    def text(self, name: str) -> str:
        """The producer's field `name` for showing; empty when it sent none."""
        wanted = name.encode()
        found = next((value for field, value in self.fields if field == wanted), b"")
        return found.decode(errors="backslashreplace")


class DeadLetters:
    """The dead stream of one tenant (or shard)."""

    def __init__(self, wires: Wires, keys: Keys) -> None:
        self._wires, self._keys = wires, keys

    async def count(self) -> int:
        """How many there are."""
        (length,) = await self._wires.exchange([("XLEN", self._keys.dead)])
        return int(length)

    async def list(self, *, newest_first: bool = False) -> AsyncIterator[DeadLetter]:
        """All of them in order of death, a page at a time; new ones may join at the end."""
        position = "+" if newest_first else "-"
        while True:
            command = (
                ("XREVRANGE", self._keys.dead, position, "-", "COUNT", _PAGE)
                if newest_first
                else ("XRANGE", self._keys.dead, position, "+", "COUNT", _PAGE)
            )
            (page,) = await self._wires.exchange([command])
            for entry in page:
                yield parse_dead_letter(entry)
            if len(page) < _PAGE:
                return
            position = f"({page[-1][0].decode()}"

    async def get(self, entry_id: str) -> DeadLetter:
        """The dead letter `entry_id`; raises `DeadLetterNotFound`."""
        (found,) = await self._wires.exchange([self._one(entry_id)])
        return _only(found, entry_id)

    async def requeue(self, entry_id: str) -> str:
        """Move a dead letter back to the inbox; return its new inbox id.

        One transaction: it is in the inbox or among the dead, never both, whoever else tries
        the same. The producer's fields return byte for byte, so an event that carries an id
        keeps it. One without a `timestamp` gets the time it was first sent, which its old place
        in the inbox said. Raises `DeadLetterNotFound`.
        """
        async with self._wires.borrow() as wire:
            for _ in range(_ATTEMPTS):
                moved = await self._try_requeue(wire, entry_id)
                if moved is not None:
                    return moved
        raise TooMuchContention(self._keys.dead.decode(), _ATTEMPTS)

    async def _try_requeue(self, wire: Wire, entry_id: str) -> str | None:
        """One attempt; None when the dead stream changed meanwhile."""
        watched, found = await wire.exchange([("WATCH", self._keys.dead), self._one(entry_id)])
        checked(watched)
        try:
            letter = _only(checked(found), entry_id)
        except BaseException:
            await wire.exchange([("UNWATCH",)])
            raise
        arguments = [part for field in requeued_fields(letter) for part in field]
        replies = await wire.exchange(
            [
                ("MULTI",),
                ("XADD", self._keys.inbox, "*", *arguments),
                ("XDEL", self._keys.dead, entry_id),
                ("EXEC",),
            ]
        )
        results = replies[-1]
        if results is None or isinstance(results, WatchError):
            return None
        for reply in (*replies[:-1], *([results] if isinstance(results, Exception) else results)):
            checked(reply)
        return str(results[0].decode())

    async def purge(self, entry_ids: Sequence[str]) -> int:
        """Delete dead letters for good; return how many there were."""
        for entry_id in entry_ids:
            _check_id(entry_id)
        deleted = 0
        for start in range(0, len(entry_ids), _BATCH):
            batch = entry_ids[start : start + _BATCH]
            (count,) = await self._wires.exchange([("XDEL", self._keys.dead, *batch)])
            deleted += int(count)
        return deleted

    def _one(self, entry_id: str) -> tuple[str | bytes, ...]:
        _check_id(entry_id)
        return ("XRANGE", self._keys.dead, entry_id, entry_id)


def parse_dead_letter(entry: Reply) -> DeadLetter:
    """The dead letter of an entry as Redis returns it; what a foreign hand left out is empty."""
    entry_id, flat = entry
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    ours = {
        name.decode(errors="replace"): value.decode(errors="replace")
        for name, value in pairs
        if not name.startswith(ORIGINAL)
    }
    return DeadLetter(
        id=entry_id.decode(),
        fields=tuple(
            (name.removeprefix(ORIGINAL), value)
            for name, value in pairs
            if name.startswith(ORIGINAL)
        ),
        reason=ours.get("reason", ""),
        code=ours.get("code", ""),
        origin_id=ours.get("origin_id", ""),
        attempts=_number(ours.get("attempts", "")),
        first_seen_ms=_number(ours.get("first_seen_ms", "")),
        dead_ms=_number(ours.get("dead_ms", "")) or _ms_of(entry_id.decode()),
    )


def requeued_fields(letter: DeadLetter) -> tuple[tuple[bytes, bytes], ...]:
    """The fields to send again: the producer's, and when it sent them if it didn't say."""
    sent_ms = _ms_of(letter.origin_id)
    if any(name == b"timestamp" for name, _ in letter.fields) or sent_ms == 0:
        return letter.fields
    return (*letter.fields, (b"timestamp", str(min(sent_ms, MAX_TIMESTAMP_MS)).encode()))


def _only(found: Reply, entry_id: str) -> DeadLetter:
    if not found:
        raise DeadLetterNotFound(entry_id)
    return parse_dead_letter(found[0])


def _check_id(entry_id: str) -> None:
    if not _ENTRY_ID.fullmatch(entry_id):
        raise UsageError(f"{entry_id!r} is no id of a dead letter; `dead list` shows them")


def _ms_of(entry_id: str) -> int:
    return _number(entry_id.partition("-")[0])


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
