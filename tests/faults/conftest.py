"""Fixtures of the tests of a worker's components under faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.redis_server import REDIS_7, REDIS_62
from support.verified import verified
from support.workshop import Workshop


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
