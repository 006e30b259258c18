"""Watches the heads of streams, and knows by its length a log that others wrote to.

A log has as many entries as its head says, less those compacted: another count means that
somebody added, deleted or trimmed what only we may.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from streams.errors import CorruptionError, LeaseLost, MalformedKey
from streams.failures import error_code
from streams.forced import snapshot
from streams.keys import Keys
from streams.lease import Guard
from streams.plan import COMPACTED, Head
from streams.wire import Command, Reply, Wire, checked

NO_HEAD: Final = Head(-1)
"""A head that no log fits."""

_KNOWN: Final = (COMPACTED, "archived_version")
_REMEMBERED: Final = 10_000


class Watched(NamedTuple):
    """A stream under WATCH: its head, and the length of its log or Redis' error in its place."""

    head: Head
    length: Reply


class HeadWatch:
    """Heads of one tenant's streams, watched on the wire whose EXEC is to follow."""

    def __init__(self, wire: Wire, keys: Keys) -> None:
        self._wire, self._keys = wire, keys
        # Only a hint: a log whose length doesn't fit is looked at again before it counts.
        self._compacted: dict[str, int] = {}

    async def watch(self, streams: list[str], guard: Guard | None) -> dict[str, Watched]:
        """Watch `streams`; their heads and log lengths, in one packet.

        Raises `LeaseLost`, watching nothing, when the lease of `guard` has another owner.
        """
        keys = self._keys
        heads = [keys.head(stream) for stream in streams]
        logs = [keys.log(stream) for stream in streams]
        lease = [guard.key] if guard else []
        new = [stream for stream in streams if stream not in self._compacted]
        packet: list[Command] = [
            ("WATCH", *lease, *heads, *logs),
            ("MGET", *lease, *heads),
            *(("XLEN", log) for log in logs),
            *(("HMGET", keys.state(stream), *_KNOWN) for stream in new),
        ]
        watched, values, *rest = await self._wire.exchange(packet)
        states = dict(zip(new, rest[len(streams) :], strict=True))
        checked(watched)
        values = checked(values)
        if guard:
            owner, *values = values
            try:
                guard.check(owner)
            except LeaseLost:
                await self._wire.exchange([("UNWATCH",)])
                raise
        return {
            stream: Watched(self._plausible(stream, head_of(raw), states.get(stream)), length)
            for stream, raw, length in zip(streams, values, rest, strict=False)
        }

    def expected_length(self, stream: str, head: Head) -> int:
        """Entries in the log of `stream` when `head` is its head."""
        return head.version - self._compacted.get(stream, 0)

    async def why_foreign(self, stream: str) -> str | None:
        """Why the log of `stream` is not as its head says, by one snapshot; None when it is."""
        keys = self._keys
        looks: list[Command] = [
            ("GET", keys.head(stream)),
            ("HMGET", keys.state(stream), *_KNOWN),
            ("XLEN", keys.log(stream)),
        ]
        executed = await snapshot(self._wire, looks)
        if executed is None:
            return None  # what was watched has moved meanwhile: that alone explains it
        raw, state, length = executed
        for name, reply in (("head", raw), ("state", state), ("log", length)):
            if error_code(reply) == "WRONGTYPE":
                return f"its {name} key holds another type"
        try:
            head = Head.parse(checked(raw))
            compacted, archived = (int(value or 0) for value in checked(state))
        except ValueError:
            return "its head or state is none that we wrote"
        if head.version < archived:
            return f"its head is {head.version}, though version {archived} is archived"
        if head.version > 0:
            self._remember(stream, compacted)
        expected = head.version - compacted
        if checked(length) == expected:
            return None
        return f"its log has {length} entries where its head says {expected}"

    def _plausible(self, stream: str, head: Head, state: Reply) -> Head:
        """The head, or `NO_HEAD` where it contradicts the stream's state.

        The state is looked at for a stream new to this watch. One that is known had a head:
        without it, it is looked at like a new one.
        """
        if state is None:
            if head.version == 0:
                self._compacted.pop(stream, None)
                return NO_HEAD
            return head
        try:
            compacted, archived = (int(value or 0) for value in checked(state))
        except (CorruptionError, ValueError):
            return NO_HEAD
        if head.version > 0:
            self._remember(stream, compacted)
        return head if head.version >= archived else NO_HEAD

    def _remember(self, stream: str, compacted_version: int) -> None:
        """Keep a bounded number of compacted versions, dropping the oldest."""
        self._compacted[stream] = compacted_version
        while len(self._compacted) > _REMEMBERED:
            self._compacted.pop(next(iter(self._compacted)))


def head_of(raw: bytes | None) -> Head:
    """The head; `NO_HEAD` where the key holds no entry id."""
    try:
        return Head.parse(raw)
    except MalformedKey:
        return NO_HEAD
