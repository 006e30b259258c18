"""Takes archived events out of a log where Redis is short of memory: one script, trim first."""

from __future__ import annotations

from streams.errors import CorruptionError, StreamCorrupted
from streams.forced import Read, force
from streams.keys import Keys
from streams.plan import COMPACTED, Head
from streams.state import StreamState, read_command
from streams.summary import EventSummary, pack
from streams.tail import StreamFacts
from streams.wire import Command, Wire, checked

from .plan import Window


async def shed(
    wire: Wire, keys: Keys, facts: StreamFacts, window: Window, summary: EventSummary
) -> bool:
    """Trim `window`, push its summary and move the state; False when the stream has moved.

    Passes at `maxmemory`. Raises `StreamCorrupted` for a key of another type, `StoreUnavailable`.
    """
    stream = facts.stream
    log, summaries = keys.log(stream), keys.summaries(stream)
    looks: list[Command] = [
        read_command(keys, stream),
        ("GET", keys.head(stream)),
        ("XLEN", log),
        ("LLEN", summaries),
    ]
    try:
        found = [checked(reply) for reply in await wire.exchange(looks)]
    except CorruptionError as exc:
        raise StreamCorrupted(stream, str(exc)) from exc
    if StreamState.parse(found[0]) != facts.state:
        return False
    # An emptied log goes as a whole, as when its stream is retired: its key alone takes more than
    # an event. Its entries were counted, for nobody else's may go with it.
    is_all = found[2] == window.last - window.first + 1
    empties = is_all and Head.parse(found[1]).version == window.last
    commands: list[Command] = [
        ("DEL", log) if empties else ("XTRIM", log, "MINID", "=", window.last + 1),
        ("RPUSH", summaries, pack(summary)),
        ("HSET", keys.state(stream), COMPACTED, window.last, "compacting_to", 0),
    ]
    reads: list[Read] = list(zip(looks, found, strict=True))
    replies = await force(wire, reads, commands)
    for reply in replies or ():
        checked(reply)
    return replies is not None
