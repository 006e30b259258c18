"""Pure. The one place that builds Redis keys; `KEYS.md` says who writes and reads each.

All keys of a tenant (or of one shard of it) share a hash tag, so that every transaction stays
in one cluster slot and an ACL pattern `~ares:{tenant}:*` is a tenant's boundary.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from dataclasses import dataclass, field
from typing import Final

from .errors import UsageError

TENANTS: Final = b"ares:tenants"
"""Hash of tenant → number of shards; the only key outside a tenant's hash tag."""

INBOX_PATTERN: Final = "ares:{*}:inbox"
"""SCAN pattern by which tenants are discovered."""

_TENANT: Final = re.compile(r"[a-z0-9_-]{1,64}")


def check_tenant(tenant: str) -> str:
    """Return `tenant`; raise `UsageError` unless it is 1–64 of `[a-z0-9_-]`."""
    if not isinstance(tenant, str) or not _TENANT.fullmatch(tenant):
        raise UsageError(f"tenant {tenant!r} is not 1-64 characters of a-z, 0-9, '_' and '-'")
    return tenant


def shard_of(stream: str, shards: int) -> int:
    """Shard of `stream`: CRC-16/XMODEM of its id modulo `shards`."""
    return binascii.crc_hqx(stream.encode(), 0) % shards


def hash_tag(tenant: str, *, shards: int = 1, shard: int = 0) -> str:
    """Hash tag of one shard of `tenant`: `acme`, or `acme.<shard>` when it has several."""
    return tenant if shards == 1 else f"{tenant}.{shard}"


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys under one hash tag: a tenant, or one shard of a tenant."""

    tenant: str
    shards: int = 1
    shard: int = 0
    _prefix: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_tenant(self.tenant)
        if not 0 <= self.shard < self.shards:
            raise UsageError(f"shard {self.shard} of {self.shards} does not exist")
        tag = hash_tag(self.tenant, shards=self.shards, shard=self.shard)
        object.__setattr__(self, "_prefix", f"ares:{{{tag}}}:".encode())

    def _key(self, rest: str) -> bytes:
        return self._prefix + rest.encode()

    @property
    def inbox(self) -> bytes:
        """Stream producers XADD to."""
        return self._key("inbox")

    def log(self, stream: str) -> bytes:
        """Stream of the events of `stream`; entry id `<version>-<ms>`."""
        return self._key(f"log:{stream}")

    def head(self, stream: str) -> bytes:
        """Id of the newest entry of the log of `stream`."""
        return self._key(f"head:{stream}")

    @property
    def feed(self) -> bytes:
        """Stream with one entry per stream per commit."""
        return self._key("feed")

    @property
    def streams(self) -> bytes:
        """Sorted set: stream → ms of its last commit."""
        return self._key("streams")

    def state(self, stream: str) -> bytes:
        """Hash of how far `stream` is archived, compacted and forgotten."""
        return self._key(f"state:{stream}")

    def summaries(self, stream: str) -> bytes:
        """List of msgpack summaries of compacted events, oldest first."""
        return self._key(f"summaries:{stream}")

    @property
    def dead(self) -> bytes:
        """Stream of rejected inbox entries."""
        return self._key("dead")

    def lease(self, name: str) -> bytes:
        """Owner of the lease `name`."""
        return self._key(f"lease:{name}")

    def seen(self, stream: str, event_id: str) -> bytes:
        """Marks an event id as recorded within the producer-retry window."""
        named = f"{len(stream.encode())}:{stream}{event_id}".encode()
        return self._key(f"seen:{hashlib.sha256(named).hexdigest()[:32]}")

    def group(self, name: str) -> bytes:
        """Hash of a durable subscription's positions and attempts."""
        return self._key(f"group:{name}")

    def group_losses(self, name: str) -> bytes:
        """Hash of stream → first version trimmed from the feed before the group had it."""
        return self._key(f"group:{name}:losses")

    def group_dead(self, name: str) -> bytes:
        """Stream of references to the events a durable subscription gave up."""
        return self._key(f"group:{name}:dead")

    @property
    def groups(self) -> bytes:
        """Sorted set: name of a durable subscription → ms a member was last seen."""
        return self._key("groups")

    @property
    def subscribers(self) -> bytes:
        """Hash of subscriber name → its counts."""
        return self._key("subscribers")

    @property
    def verify(self) -> bytes:
        """Hash of when and with what result `verify` last ran."""
        return self._key("verify")

    @property
    def intake(self) -> bytes:
        """How many entries the inbox has had and has, when its last sequencer left."""
        return self._key("intake")

    @property
    def deadly(self) -> bytes:
        """Hash of stream → attempts at archiving it that nobody is known to have survived."""
        return self._key("deadly")

    @property
    def attempts(self) -> bytes:
        """Hash of suspect inbox id → attempts."""
        return self._key("attempts")
