"""Pure. How the members of a durable subscription share its streams."""

from __future__ import annotations

import hashlib
from typing import Final

PARTITIONS: Final = 16
"""Streams are dealt out to so many partitions; a member works on whole partitions."""


def partition_of(stream: str) -> int:
    """Partition of a stream: the first byte of SHA-256 of its id, modulo their number."""
    return hashlib.sha256(stream.encode()).digest()[0] % PARTITIONS


def fair_share(members: int) -> int:
    """How many partitions each of so many members may hold."""
    return -(-PARTITIONS // max(members, 1))
