"""Transactions that Redis lets through at `maxmemory`.

There it refuses every command inside MULTI, reads too. A script passes that only reads, or whose
first write is one that takes no memory, with whatever follows. WATCH compares by touch, the script
by value: what was read before must still read the same. It runs whole or not at all but for single
commands that fail, as EXEC.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from redis.exceptions import ExecAbortError, NoPermissionError, OutOfMemoryError

from .errors import AresError, StoreFull
from .failures import translate
from .wire import Argument, Command, Reply, Wire, checked, exec_replies

Read = tuple[Command, Reply]
"""A command that reads one key, and what it answered."""

# No shebang: Redis 7 would refuse the whole script.
_COMMAND: Final = """
local place = 0
local function take()
  place = place + 1
  return ARGV[place]
end
local function command()
  local words = {}
  for i = 1, tonumber(take()) do words[i] = take() end
  return words
end
"""

_LOOK: Final = (
    _COMMAND
    + """
local replies = {}
for i = 1, tonumber(take()) do replies[i] = redis.pcall(unpack(command())) end
return replies
"""
)

# The first write deletes nothing; it opens the door for those that follow.
_FORCE: Final = (
    _COMMAND
    + """
local function told(reply)
  if type(reply) == 'table' then
    if reply.err then return '!' end
    local parts = {}
    for i = 1, #reply do parts[i] = told(reply[i]) end
    return '*' .. #reply .. ';' .. table.concat(parts)
  elseif type(reply) == 'string' then
    return '$' .. #reply .. ';' .. reply
  elseif type(reply) == 'number' then
    return ':' .. string.format('%d', reply) .. ';'
  end
  return '~'
end
for _ = 1, tonumber(take()) do
  local words = command()
  if told(redis.pcall(unpack(words))) ~= take() then return false end
end
redis.pcall('XDEL', KEYS[1], '0-0')
local replies = {}
for i = 1, tonumber(take()) do replies[i] = redis.pcall(unpack(command())) end
return replies
"""
)

_MOST_WORDS: Final = 7_000  # Lua's stack holds 8,000
_SECOND_IS_KEY: Final = frozenset({"XGROUP", "XINFO"})


async def execute(
    wire: Wire, reads: Sequence[Read], commands: Sequence[Command]
) -> list[Reply] | None:
    """Run `commands` in one transaction; None when what `wire` watches has changed.

    `reads` is what was read of the watched keys: where Redis is full, it must still be so.
    Raises the first error among the replies.
    """
    replies = await wire.exchange([("MULTI",), *commands, ("EXEC",)])
    return await conclude(wire, reads, commands, replies)


async def conclude(
    wire: Wire, reads: Sequence[Read], commands: Sequence[Command], replies: Sequence[Reply]
) -> list[Reply] | None:
    """As `execute`, of a transaction that was sent: `replies` answer MULTI, `commands`, EXEC."""
    if replies[-1] is None:
        return None
    if not isinstance(replies[-1], ExecAbortError):
        return exec_replies(replies)
    failure = refusal(replies)
    if not isinstance(failure, StoreFull):
        raise failure
    forced = await force(wire, reads, commands)
    return None if forced is None else [checked(reply) for reply in forced]


async def insist(wire: Wire, commands: Sequence[Command]) -> list[Reply]:
    """Run `commands`, each by itself; those that Redis is too full for once more, by script.

    Raises the first error among the replies.
    """
    replies = await wire.exchange(commands)
    refused = [n for n, reply in enumerate(replies) if isinstance(reply, OutOfMemoryError)]
    if refused:
        forced = await force(wire, [], [commands[n] for n in refused]) or []
        for n, reply in zip(refused, forced, strict=True):
            replies[n] = reply
    return [checked(reply) for reply in replies]


async def force(
    wire: Wire, reads: Sequence[Read], commands: Sequence[Command]
) -> list[Reply] | None:
    """Run `commands` if `reads` still hold, else None; single replies may be errors.

    Every key is in the slot of this tenant. What it adds to Redis is for the caller to bound.
    Raises `StoreFull` where the user may not run scripts, and for a command too long for one.
    """
    words = [*map(len, commands), *(len(command) for command, _ in reads)]
    if max(words) > _MOST_WORDS:
        raise StoreFull("Redis is out of memory, and a command is too long for a script")
    arguments: list[Argument] = [len(reads)]
    for command, reply in reads:
        arguments += [len(command), *command, _told(reply)]
    named = [*commands, *(command for command, _ in reads)]
    return await _run(wire, _FORCE, named, [*arguments, *_listed(commands)])


async def snapshot(wire: Wire, commands: Sequence[Command]) -> list[Reply] | None:
    """What `commands`, which only read, answer at one moment; single replies may be errors.

    None when `wire` watches a key that has changed. Raises `StoreUnavailable`.
    """
    replies = await wire.exchange([("MULTI",), *commands, ("EXEC",)])
    if not isinstance(replies[-1], ExecAbortError):
        executed: list[Reply] | None = checked(replies[-1])
        return executed
    failure = refusal(replies)
    if not isinstance(failure, StoreFull):
        raise failure
    return await _run(wire, _LOOK, commands, _listed(commands))


async def _run(
    wire: Wire, script: str, commands: Sequence[Command], arguments: Sequence[Argument]
) -> list[Reply] | None:
    """Run `script` on the keys of `commands`; its replies, None where it returns nothing."""
    keys = dict.fromkeys(map(_key, commands))
    (result,) = await wire.exchange([("EVAL", script, len(keys), *keys, *arguments)])
    if isinstance(result, NoPermissionError):
        raise StoreFull("Redis is out of memory, and its user lacks +eval, which relief needs")
    replies: list[Reply] | None = checked(result)
    return replies


def _listed(commands: Sequence[Command]) -> list[Argument]:
    """Commands as the scripts take them: how many, and for each how many words."""
    words = [word for command in commands for word in (len(command), *command)]
    return [len(commands), *words]


def refusal(replies: Sequence[Reply]) -> AresError:
    """Why Redis refused a transaction, by the replies to its packet."""
    first = next(reply for reply in replies if isinstance(reply, Exception))
    # Refused at EXEC itself, when its own commands took the last memory: there it quotes why.
    if isinstance(first, ExecAbortError) and " OOM " in str(first):
        return StoreFull(f"Redis is out of memory: {first}")
    return translate(first)


def _key(command: Command) -> Argument:
    return command[2 if command[0] in _SECOND_IS_KEY else 1]


def _told(reply: Reply) -> bytes:
    """A reply as the script tells it, to compare the two."""
    if reply is None:
        return b"~"
    if isinstance(reply, Exception):
        return b"!"
    if isinstance(reply, int):
        return b":%d;" % reply
    if isinstance(reply, bytes):
        return b"$%d;%b" % (len(reply), reply)
    # A map of RESP3 is a flat list to a script.
    items = list(chain.from_iterable(reply.items())) if isinstance(reply, dict) else reply
    return b"*%d;%b" % (len(items), b"".join(map(_told, items)))
