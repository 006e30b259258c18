"""One contract, four stores: in memory, on fakeredis, on Redis 7 and on Redis 6.2."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import fakeredis
import pytest

from support.redis_server import REDIS_7, REDIS_62
from support.stores import Backend, memory_backend, redis_backend

MEMORY, FAKEREDIS = "memory", "fakeredis"

OpenStore = Callable[[], Awaitable[object]]


@pytest.fixture(params=[MEMORY, FAKEREDIS, REDIS_7, REDIS_62])
async def backend(servers, request: pytest.FixtureRequest, tenant: str) -> AsyncIterator[Backend]:
    """What the test's stores share; `await backend.open()` is one more store on it."""
    async with AsyncExitStack() as stack:
        if request.param == MEMORY:
            yield memory_backend(tenant)
        elif request.param == FAKEREDIS:
            shared = fakeredis.FakeServer(version=(7,))
            yield redis_backend(tenant, lambda: fakeredis.FakeAsyncRedis(server=shared), stack)
        else:
            yield redis_backend(tenant, servers.get(request.param).client, stack)


@pytest.fixture
async def store(backend: Backend):
    """One store."""
    return await backend.open()
