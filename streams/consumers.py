"""Who reads the feed in a group: a consumer that holds nothing can be taken off the list."""

from __future__ import annotations

from typing import Final

from redis.exceptions import ResponseError

from .keys import Keys
from .wire import Wire

# Deleting a consumer deletes its pending entries with it, so the look and the deletion must be
# one step: a consumer that came back to life in between would lose what it just took on.
_RETIRE: Final = """
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if consumers.err then return 0 end
local retired = 0
for _, consumer in ipairs(consumers) do
  local facts = {}
  for i = 1, #consumer, 2 do facts[consumer[i]] = consumer[i + 1] end
  local meant = ARGV[3] == '' or ARGV[3] == facts.name
  if meant and facts.pending == 0 and facts.idle > tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], facts.name)
    retired = retired + 1
  end
end
return retired
"""


async def retire_consumers(
    wire: Wire, keys: Keys, *, group: str, idle_ms: int, name: str = ""
) -> int:
    """Remove consumers that hold nothing and have been idle for longer than `idle_ms`.

    Only the one called `name`, where it is given. Returns how many; none where scripts are
    forbidden or missing: idle names only look untidy.
    """
    (reply,) = await wire.exchange([("EVAL", _RETIRE, 1, keys.feed, group, idle_ms, name)])
    return 0 if isinstance(reply, ResponseError) else int(reply)
