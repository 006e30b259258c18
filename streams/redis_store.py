"""The event store on Redis Streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Self

from .clock import Clock, system_clock
from .codec import Limits, check_stream
from .committing.commit import CommitPolicy, Committer
from .committing.group import GroupCommit
from .connection import ConnectionOptions, open_client
from .durable.redis_group import RedisGroup
from .embedded.start import EmbeddedRedis, start_embedded
from .event import DEFAULT_TENANT_ID, Event
from .keys import Keys, check_tenant
from .merging import TenantReader
from .plan import BatchLimits, Head, encode_append
from .reading import StreamReader, Window
from .store import ANY, Direction, ExpectedVersion, check_count
from .subscribing import Subscribing
from .subscription.options import SubscriptionOptions
from .subscription.redis_source import RedisSource
from .subscription.reports import RedisReports
from .subscription.wanted import first_ms
from .subscriptions import Subscriptions
from .wire import Client, Wire, WireObserver, Wires

EMBEDDED: Final = "embedded"
"""In place of a URL: a private server, see `streams.embedded.start`."""

_LANES: Final = 2
"""Commits that may be under way at once; the appends to one stream always share a lane."""


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Limits and policies of a store; the defaults are safe."""

    limits: Limits = field(default_factory=Limits)
    batch: BatchLimits = field(default_factory=BatchLimits)
    commit: CommitPolicy = field(default_factory=CommitPolicy)
    max_append_events: int = 10_000
    subscriptions: SubscriptionOptions = field(default_factory=SubscriptionOptions)
    wires: int = 8
    timeout_s: float = 5.0


class RedisEventStore(Subscribing):
    """Append-only, versioned logs of one tenant in Redis; see `EventStore` for the contract.

    Calls of one instance may run concurrently: appends share commits, reads share connections.
    An instance made by `connect` closes its client, one given a client leaves it open and may
    have its `observer` told of every call to Redis.
    """

    def __init__(
        self,
        client: Client,
        tenant: str = DEFAULT_TENANT_ID,
        *,
        options: StoreOptions | None = None,
        clock: Clock = system_clock,
        observer: WireObserver | None = None,
    ) -> None:
        self.client = client
        self.tenant = check_tenant(tenant)
        self.keys = Keys(tenant)
        self.options = options = options or StoreOptions()
        self.clock = clock
        self.wires = Wires(
            client,
            self.keys.inbox,
            limit=options.wires,
            timeout_s=options.timeout_s,
            observer=observer,
        )
        self._commit_wires = [self.wires.dedicated() for _ in range(_LANES)]
        self._lanes = [
            GroupCommit(self.committer(wire), options.batch) for wire in self._commit_wires
        ]
        self._reader = StreamReader(self.wires, self.keys)
        super().__init__(
            Subscriptions(
                RedisSource(self.wires, self.keys, self._reader),
                options.subscriptions,
                clock,
                self._group,
                reports=RedisReports(self.wires, self.keys, clock),
                connections=_spare_connections(client, options),
            )
        )
        self._owns_client = False
        self._embedded: EmbeddedRedis | None = None

    @classmethod
    async def connect(
        cls,
        url: str,
        tenant: str = DEFAULT_TENANT_ID,
        *,
        options: StoreOptions | None = None,
        connection: ConnectionOptions | None = None,
    ) -> Self:
        """Open a store by URL and make sure the server answers.

        Takes `redis://`, `rediss://`, `unix://`, `redis+cluster://`, `redis+sentinel://` and
        `embedded`. Raises `UsageError` for a bad URL, `StoreUnavailable` without a server.
        """
        embedded = await asyncio.to_thread(start_embedded) if url == EMBEDDED else None
        address = embedded.url if embedded else url
        store = cls(open_client(address, connection), tenant, options=options)
        store._owns_client, store._embedded = True, embedded
        try:
            await store.ping()
        except BaseException:
            await store.close()
            raise
        return store

    async def append(
        self, stream: str, events: Sequence[Event], expected_version: ExpectedVersion = ANY
    ) -> int:
        """Append all of `events` or none; return the version of the last."""
        options = self.options
        append = encode_append(
            stream,
            events,
            expected_version,
            limits=options.limits,
            max_events=options.max_append_events,
        )
        return await self._lanes[hash(stream) % _LANES].append(append)

    async def read(
        self,
        stream: str,
        from_version: int = 1,
        to_version: int | None = None,
        limit: int | None = None,
        direction: Direction = Direction.FORWARD,
        since: datetime | None = None,
    ) -> list[Event]:
        """Events of a version range, summaries first; see `EventStore.read`."""
        check_stream(stream, self.options.limits)
        check_count("limit", limit)
        window = Window(max(from_version, 1), to_version, first_ms(since))
        if limit == 0 or (to_version is not None and to_version < window.first):
            return []
        rows = await self._reader.read(stream, window, limit=limit, direction=direction)
        return [row.event for row in rows]

    async def read_all(
        self, since: datetime | None = None, limit: int | None = None
    ) -> AsyncIterator[Event]:
        """Events of every stream by commit time, up to the heads of when the reading began."""
        check_count("limit", limit)
        left = limit
        events = TenantReader(self.wires, self.keys, self._reader).read_all(first_ms(since))
        async for event in events:
            if left is not None:
                if left <= 0:
                    return
                left -= 1
            yield event

    async def stream_version(self, stream: str) -> int:
        """Newest version of `stream`; 0 when it has no event."""
        check_stream(stream, self.options.limits)
        (raw,) = await self.wires.exchange([("GET", self.keys.head(stream))])
        return Head.parse(raw).version

    async def list_streams(self) -> list[str]:
        """Names of the streams that have events, sorted."""
        (names,) = await self.wires.exchange([("ZRANGE", self.keys.streams, 0, -1)])
        return sorted(name.decode() for name in names)

    async def ping(self) -> None:
        """Raise `StoreUnavailable` unless the server answers."""
        await self.wires.exchange([("PING",)])

    def committer(self, wire: Wire) -> Committer:
        """A committer of the caller's own, on `wire`."""
        return Committer(wire, self.keys, self.clock, self.options.commit)

    async def close(self) -> None:
        """End subscriptions, finish appends, then close every connection this store opened."""
        await self._subscriptions.close()
        for lane in self._lanes:
            await lane.close()
        for wire in self._commit_wires:
            await wire.close()
        await self.wires.close()
        if self._owns_client:
            await self.client.aclose()
        if self._embedded is not None:
            await asyncio.to_thread(self._embedded.stop)

    def _group(self, name: str, member: str) -> RedisGroup:
        ttl_ms = self.options.subscriptions.lease_ttl_ms
        return RedisGroup(self.wires.dedicated(), self.keys, name, member=member, ttl_ms=ttl_ms)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def _spare_connections(client: Client, options: StoreOptions) -> int | None:
    """Connections the client's pool has beside those for reading and committing."""
    pool = getattr(client, "connection_pool", None)  # a cluster's pools are the nodes' own
    return None if pool is None else int(pool.max_connections) - options.wires - _LANES
