"""A network that breaks during a requeue leaves the entry in one place, never two or none."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis.asyncio

from streams.dead_letters import DeadLetterNotFound, DeadLetters
from streams.errors import StoreUnavailable
from streams.keys import Keys
from streams.wire import Wires
from support.lossy_proxy import Fault, LossyProxy
from support.redis_server import RedisServer


@pytest.fixture
async def proxy(server: RedisServer) -> AsyncIterator[LossyProxy]:
    async with LossyProxy(server.port) as running:
        yield running


@pytest.fixture
async def dead(proxy: LossyProxy, tenant: str) -> AsyncIterator[DeadLetters]:
    keys = Keys(tenant)
    async with redis.asyncio.Redis.from_url(proxy.url, socket_timeout=2) as client:
        wires = Wires(client, keys.inbox, timeout_s=2)
        yield DeadLetters(wires, keys)
        await wires.close()


async def bury(client: redis.asyncio.Redis, tenant: str) -> str:
    buried = await client.xadd(Keys(tenant).dead, {"f:stream": "s", "f:id": "e1", "code": "limits"})
    return str(buried.decode())


async def places(client: redis.asyncio.Redis, tenant: str) -> tuple[int, int]:
    """Entries among the dead, and in the inbox."""
    return await client.xlen(Keys(tenant).dead), await client.xlen(Keys(tenant).inbox)


@pytest.mark.parametrize(
    ("word", "fault", "moved"),
    [
        ("WATCH", Fault.REFUSE, False),
        ("WATCH", Fault.DROP, False),
        ("XADD", Fault.REFUSE, False),
        ("EXEC", Fault.REFUSE, False),
        ("EXEC", Fault.DROP, True),
    ],
)
async def test_the_entry_is_in_one_place_and_asking_again_settles_it(
    dead: DeadLetters,
    proxy: LossyProxy,
    client: redis.asyncio.Redis,
    tenant: str,
    word: str,
    fault: Fault,
    moved: bool,
) -> None:
    entry_id = await bury(client, tenant)
    proxy.fail(word, fault)

    with pytest.raises(StoreUnavailable):
        await dead.requeue(entry_id)

    assert await places(client, tenant) == ((0, 1) if moved else (1, 0))
    if moved:
        with pytest.raises(DeadLetterNotFound):
            await dead.requeue(entry_id)
    else:
        await dead.requeue(entry_id)
    assert await places(client, tenant) == (0, 1)
