"""Fixtures of the tests of a worker's components under faults."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from streams import RedisEventStore, SubscriptionOptions
from streams.redis_store import StoreOptions
from support.redis_server import REDIS_7, REDIS_62
from support.verified import verified
from support.workshop import Workshop

OpenStore = Callable[..., Awaitable[RedisEventStore]]


@pytest.fixture
async def open_store() -> AsyncIterator[OpenStore]:
    """`await open_store(url, tenant)`: a store that waits 2 s for a reply, with its own client.

    More is taken as of `SubscriptionOptions`; a subscription looks again after 0.1 s.
    """
    async with AsyncExitStack() as stack:

        async def connect(url: str, tenant: str = "t", **subscriptions: int) -> RedisEventStore:
            chosen = SubscriptionOptions(**{"block_ms": 100, **subscriptions})
            options = StoreOptions(subscriptions=chosen, timeout_s=2.0)
            store = await RedisEventStore.connect(url, tenant, options=options)
            return await stack.enter_async_context(store)

        yield connect


@pytest.fixture
async def shop(
    server, request: pytest.FixtureRequest, tenant: str, tmp_path: Path
) -> AsyncIterator[Workshop]:
    """A worker's components on one tenant of the newest shared server, verified in the end."""
    async with AsyncExitStack() as stack:
        client = server.client()
        stack.push_async_callback(client.aclose)
        workshop = Workshop(client, tenant, tmp_path / "rounds", stack)
        yield workshop
        await verified(workshop, request)


@pytest.fixture(params=[REDIS_7, REDIS_62])
async def every_shop(
    servers, request: pytest.FixtureRequest, tenant: str, tmp_path: Path
) -> AsyncIterator[Workshop]:
    """The same, once on each version of Redis."""
    async with AsyncExitStack() as stack:
        client = servers.get(request.param).client()
        stack.push_async_callback(client.aclose)
        workshop = Workshop(client, tenant, tmp_path / "rounds", stack)
        yield workshop
        await verified(workshop, request)
