"""How much of its memory a Redis uses, as it counts itself when it decides to refuse writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .wire import Command, Reply, Wire

MEMORY_COMMAND: Final[Command] = ("INFO", "memory")
"""Command whose reply `Memory.parse` reads."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that count against `maxmemory`, and that limit; 0 where there is none, or none told."""

    used: int = 0
    limit: int = 0

    @classmethod
    def parse(cls, reply: Reply) -> Memory:
        """From the reply to `MEMORY_COMMAND`; nothing is known where the server refused it."""
        if not isinstance(reply, bytes):
            return cls()
        lines = (line.partition(b":") for line in reply.splitlines())
        numbers = {name: int(value) for name, _, value in lines if value.strip().isdigit()}
        # Redis leaves out what it needs for replicas and the append-only file.
        used = numbers.get(b"used_memory", 0) - numbers.get(b"mem_not_counted_for_evict", 0)
        return cls(used, numbers.get(b"maxmemory", 0))

    @property
    def share(self) -> float:
        """Share of the limit that is used, above 1 where writes are refused; 0 without a limit."""
        return self.used / self.limit if self.limit else 0.0


async def read_memory(wire: Wire) -> Memory:
    """Ask the node of this tenant. Raises `StoreUnavailable`."""
    (reply,) = await wire.exchange([MEMORY_COMMAND])
    return Memory.parse(reply)
