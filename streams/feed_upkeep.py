"""Keeps the feed small and its groups tidy, and takes nothing away that a group still needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from redis.exceptions import ResponseError

from .feed import ARCHIVERS
from .keys import Keys
from .wire import Reply, Wire, as_map, checked

_CHUNK: Final = 1_000

# A group that has read to the end has read whatever was ever added, but for what somebody else
# trimmed before. Redis goes on counting that as lag; told the truth, it stops. Where entries were
# deleted one by one, as `erase` does, nobody can say which of the two it was.
_SETTLE: Final = """
local feed = redis.pcall('XINFO', 'STREAM', KEYS[1])
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if feed.err or groups.err then return 0 end
local function facts(row)
  local found = {}
  for i = 1, #row, 2 do found[row[i]] = row[i + 1] end
  return found
end
feed = facts(feed)
local lost = 0
for _, row in ipairs(groups) do
  local group = facts(row)
  local read, delivered = group['entries-read'], group['last-delivered-id']
  if read and group.name == ARGV[1] and delivered == feed['last-generated-id']
      and read < feed['entries-added'] then
    if feed['max-deleted-entry-id'] == '0-0' then lost = feed['entries-added'] - read end
    redis.call('XGROUP', 'SETID', KEYS[1], group.name, delivered,
        'ENTRIESREAD', feed['entries-added'])
  end
end
return lost
"""


async def settle_lag(wire: Wire, keys: Keys, *, group: str = ARCHIVERS) -> int:
    """Entries somebody else trimmed before `group` had read them, each told once.

    Known once the group has read to the end. Always 0 before Redis 7 and where scripts are
    forbidden.
    """
    (reply,) = await wire.exchange([("EVAL", _SETTLE, 1, keys.feed, group)])
    return 0 if isinstance(reply, ResponseError) else int(reply)


async def trim_feed(
    wire: Wire,
    keys: Keys,
    *,
    keep: int,
    floors: Sequence[bytes] = (),
    before: Callable[[Sequence[Reply]], Awaitable[None]] | None = None,
) -> int:
    """Trim entries that every group has finished, but for the newest `keep`; returns how many.

    `floors` are ids of the oldest entries that readers without a consumer group still need;
    `before` is shown the entries about to go. At most one chunk a call: call again while it
    returns as many as that.
    """
    (length,) = await wire.exchange([("XLEN", keys.feed)])
    excess = int(checked(length)) - keep
    if excess <= 0:
        return 0
    needed = [parse_id(floor) for floor in floors]
    for name, position in await _group_positions(wire, keys):
        needed.append(await _oldest_needed(wire, keys, name, position))
    (oldest,) = await wire.exchange(
        [("XRANGE", keys.feed, "-", "+", "COUNT", min(excess, _CHUNK) + 1)]
    )
    entries = checked(oldest)
    boundary = min([parse_id(entries[-1][0]), *needed])
    going = [entry for entry in entries if parse_id(entry[0]) < boundary]
    if before is not None and going:
        await before(going)
    minimum = f"{boundary[0]}-{boundary[1]}"
    (trimmed,) = await wire.exchange([("XTRIM", keys.feed, "MINID", "=", minimum)])
    return int(checked(trimmed))


async def _group_positions(wire: Wire, keys: Keys) -> list[tuple[bytes, bytes]]:
    """Name and last delivered id of each group of the feed."""
    (reply,) = await wire.exchange([("XINFO", "GROUPS", keys.feed)])
    groups = [as_map(raw) for raw in checked(reply)]
    return [(facts[b"name"], facts[b"last-delivered-id"]) for facts in groups]


async def _oldest_needed(wire: Wire, keys: Keys, group: bytes, delivered: bytes) -> tuple[int, int]:
    """Id of the oldest entry `group` has not finished: pending, or the one after the delivered."""
    (reply,) = await wire.exchange([("XPENDING", keys.feed, group)])
    count, oldest, *_ = checked(reply)
    if count:
        return parse_id(oldest)
    ms, sequence = parse_id(delivered)
    return ms, sequence + 1


def parse_id(entry_id: bytes) -> tuple[int, int]:
    """Both numbers of an entry id, which sort as Redis sorts it."""
    ms, _, sequence = entry_id.partition(b"-")
    return int(ms), int(sequence or 0)
