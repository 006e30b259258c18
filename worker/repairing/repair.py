"""Mends a quarantined stream beside running workers, after a person has looked at it.

What is decided on what was read is done only if it still reads the same, in one script: a worker
or a hand that was faster makes it begin anew. What leaves the stream becomes a dead letter in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from archive.survey import Survey
from streams.dead_letters import ORIGINAL
from streams.errors import StreamNotFound, TooMuchContention, UsageError
from streams.forced import force
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from streams.state import FIELDS
from streams.summary import pack
from streams.wire import Command, checked
from worker.console.words import count as count_of

from .log import Foreign, shown
from .look import Look, look_at
from .plan import Repair, plan_repair

FOREIGN: Final = "foreign"
"""Code of the dead letters that a repair writes."""

_ATTEMPTS: Final = 20


class LossNotAccepted(UsageError):
    """The repair gives up events that are nowhere any more; a backup may still have them."""

    hint = "Bring the log back from a backup of Redis, or say --accept-loss."

    def __init__(self, stream: str, lost: Sequence[int]) -> None:
        super().__init__(f"of stream {stream!r} no log and no file has {shown(lost)}")
        self.stream, self.lost = stream, lost


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong with a stream, in `found`; what mending it does, in `actions`."""

    repair: Repair
    found: Sequence[str]
    actions: Sequence[str]


class Repairer:
    """Mends streams of one tenant on a connection of its own.

    One that `deaths` workers died of is taken up again, too.
    """

    def __init__(self, store: RedisEventStore, survey: Survey, *, deaths: int = 5) -> None:
        self._store, self._survey, self._deaths = store, survey, deaths
        self._wire = store.wires.dedicated()

    async def diagnose(self, stream: str, *, head: int | None = None) -> Diagnosis:
        """What is wrong and what would be done; changes nothing.

        Raises `StreamNotFound`, `StoreUnavailable`, and `UsageError` as `plan_repair` does.
        """
        look = await look_at(self._store, self._survey, self._wire, stream)
        if look.absent:
            raise StreamNotFound(stream)
        repair = plan_repair(look.evidence, self._store.clock(), head=head)
        return _diagnosis(look, repair, self._deaths)

    async def mend(
        self, stream: str, *, head: int | None = None, accept_loss: bool = False
    ) -> Diagnosis:
        """Mend it; what was wrong and what was done.

        Raises what `diagnose` does, and `LossNotAccepted`.
        """
        for _ in range(_ATTEMPTS):
            look = await look_at(self._store, self._survey, self._wire, stream)
            if look.absent:
                raise StreamNotFound(stream)
            repair = plan_repair(look.evidence, self._store.clock(), head=head)
            diagnosis = _diagnosis(look, repair, self._deaths)
            if not diagnosis.found:
                return diagnosis
            if repair.lost and not accept_loss:
                raise LossNotAccepted(stream, repair.lost)
            if await self._rewrite(look, repair):
                return diagnosis
        raise TooMuchContention(stream, _ATTEMPTS)

    async def close(self) -> None:
        """Close the connection."""
        await self._wire.close()

    async def _rewrite(self, look: Look, repair: Repair) -> bool:
        """Put the stream right, unless it has changed since it was looked at."""
        keys = self._store.keys
        letters, reads = _letters(keys, repair, self._store.clock()), list(look.reads)
        if letters:
            length: Command = ("XLEN", keys.dead)
            (reply,) = await self._wire.exchange([length])
            # Another type takes no letter: nothing may leave the stream then.
            reads.append((length, checked(reply)))
        replies = await force(self._wire, reads, [*letters, *_commands(keys, look, repair)])
        for reply in replies or ():
            checked(reply)
        return replies is not None


def _commands(keys: Keys, look: Look, repair: Repair) -> list[Command]:
    stream, commands = repair.stream, list[Command]()
    if repair.head.version == 0:  # nothing in it was ever of a stream
        names = (keys.log(stream), keys.head(stream), keys.state(stream), keys.summaries(stream))
        return [("DEL", *names), ("ZREM", keys.streams, stream)]
    if _is_rebuilt(look, repair):
        commands.append(("DEL", keys.log(stream)))
        commands += [("XADD", keys.log(stream), e.id, *e.fields) for e in repair.entries]
    state = [part for name in FIELDS for part in (name, getattr(repair.state, name))]
    commands += [("DEL", keys.state(stream)), ("HSET", keys.state(stream), *state)]
    summaries = [pack(summary) for summary in repair.summaries]
    if summaries != list(look.evidence.packed) or repair.unreadable:
        commands.append(("DEL", keys.summaries(stream)))
        commands += [("RPUSH", keys.summaries(stream), *summaries)] if summaries else []
    version, ms = repair.head
    commands.append(("SET", keys.head(stream), f"{version}-{ms}"))
    commands.append(("ZADD", keys.streams, ms, stream))
    commands.append(("HDEL", keys.deadly, stream))
    return commands


def _is_rebuilt(look: Look, repair: Repair) -> bool:
    """Whether the log has to be written anew: an id once used can't be taken back otherwise."""
    seen = look.evidence
    same = [entry.id for entry in seen.entries] == [entry.id for entry in repair.entries]
    takes_more = seen.last_id is None or seen.last_id <= repair.head
    return not (same and takes_more) or any("log key" in trouble for trouble in seen.troubles)


def _diagnosis(look: Look, repair: Repair, deaths: int) -> Diagnosis:
    found, actions = list(repair.found), _actions(look, repair) if repair.found else []
    if look.deaths >= deaths:
        found.append(f"{look.deaths} workers died while they archived it: it is set aside")
        actions.append("let workers archive it again")
    return Diagnosis(repair, found, actions)


def _actions(look: Look, repair: Repair) -> list[str]:
    actions = []
    if repair.foreign or repair.unreadable:
        count = len(repair.foreign) + len(repair.unreadable)
        actions.append(f"move to the dead letters what isn't of the stream: {count}")
    if _is_rebuilt(look, repair):
        actions.append(f"write its log anew: {count_of(len(repair.entries), 'event')}")
    if repair.lost:
        actions.append(f"put an event.lost in the place of {shown(repair.lost)}")
    before = look.evidence.state.compacted_version if look.evidence.state else 0
    if repair.state.compacted_version != before:
        actions.append(f"compacted up to version {repair.state.compacted_version}")
    actions.append(f"head {repair.head.version}, archived up to {repair.state.archived_version}")
    return actions


def _letters(keys: Keys, repair: Repair, now_ms: int) -> list[Command]:
    """What leaves the stream, whole."""
    letters = [_letter(keys, repair.stream, item, now_ms) for item in repair.foreign]
    for raw in repair.unreadable:
        facts = _facts(repair.stream, "a summary that can't be read", "summary", now_ms)
        letters.append(("XADD", keys.dead, "*", ORIGINAL + b"summary", raw, *facts))
    return letters


def _letter(keys: Keys, stream: str, item: Foreign, now_ms: int) -> Command:
    """The dead letter of a foreign entry: its fields byte for byte."""
    entry_id, fields = item.entry
    kept = [ORIGINAL + part if n % 2 == 0 else part for n, part in enumerate(fields)]
    facts = _facts(stream, item.why, entry_id.decode(), now_ms)
    return ("XADD", keys.dead, "*", *kept, *facts)


def _facts(stream: str, why: str, origin: str, now_ms: int) -> tuple[str | int, ...]:
    return (
        *("reason", f"found in the log of stream {stream!r}: {why}", "code", FOREIGN),
        *("origin_id", f"log {origin}", "attempts", 1, "first_seen_ms", 0, "dead_ms", now_ms),
    )
