"""One contract, every store: in memory, on fakeredis, on Redis 7 and 6.2, on a Redis Cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import fakeredis
import pytest

from streams.connection import open_client
from support.redis_server import REDIS_7, REDIS_62
from support.stores import Backend, memory_backend, redis_backend
from support.verified import verified
from support.workshop import Workshop

MEMORY, FAKEREDIS, CLUSTER = "memory", "fakeredis", "cluster"


@pytest.fixture(params=[MEMORY, FAKEREDIS, REDIS_7, REDIS_62, CLUSTER])
async def backend(servers, request: pytest.FixtureRequest, tenant: str) -> AsyncIterator[Backend]:
    """What the test's stores share; `await backend.open()` is one more store on it."""
    async with AsyncExitStack() as stack:
        if request.param == MEMORY:
            yield memory_backend(tenant, stack)
        elif request.param == FAKEREDIS:
            shared = fakeredis.FakeServer(version=(7,))
            yield redis_backend(tenant, lambda: fakeredis.FakeAsyncRedis(server=shared), stack)
        elif request.param == CLUSTER:
            url = f"redis+cluster://127.0.0.1:{servers.cluster().port}"
            yield redis_backend(tenant, lambda: open_client(url), stack)
        else:
            yield redis_backend(tenant, servers.get(request.param).client, stack)


@pytest.fixture
async def store(backend: Backend):
    """One store."""
    return await backend.open()


@pytest.fixture(params=[FAKEREDIS, REDIS_7, REDIS_62, CLUSTER])
async def workshop(
    servers, request: pytest.FixtureRequest, tenant: str, tmp_path: Path
) -> AsyncIterator[Workshop]:
    """A worker's components on one tenant of each kind of Redis; `verify` has the last word."""
    async with AsyncExitStack() as stack:
        if request.param == FAKEREDIS:
            client = fakeredis.FakeAsyncRedis()
        elif request.param == CLUSTER:
            client = open_client(f"redis+cluster://127.0.0.1:{servers.cluster().port}")
        else:
            client = servers.get(request.param).client()
        stack.push_async_callback(client.aclose)
        shop = Workshop(client, tenant, tmp_path / "rounds", stack)
        yield shop
        await verified(shop, request)
