"""A holder that lost its lease, its connection or its time can't write, wherever it was paused."""

from __future__ import annotations

import asyncio

import pytest

from streams.connection import open_client
from streams.errors import StoreUnavailable
from streams.keys import Keys
from streams.wire import Wire, Wires

KEYS = Keys("default")


@pytest.fixture
async def wires(server, tenant):
    """Connections to the shared server under a tenant of the test's own."""
    client = open_client(server.url)
    pool = Wires(client, Keys(tenant).inbox)
    yield pool
    await pool.close()
    await client.aclose()


async def cut(wire: Wire, admin) -> None:
    """End the connection of `wire` from the server's side, and let it rest for a while."""
    (name,) = await wire.exchange([("CLIENT", "ID")])
    admin.client_kill_filter(_id=name, skipme=False)


async def test_what_was_watched_on_a_connection_that_ended_is_not_written_on_another(
    server, wires, tenant
):
    """A new connection watches nothing: an EXEC there would overwrite whatever came between."""
    key, wire = Keys(tenant).head("s"), wires.dedicated()
    with server.admin() as admin:
        await wire.exchange([("WATCH", key), ("GET", key)])
        await cut(wire, admin)
        admin.set(key, "somebody else's")
        await asyncio.sleep(0.2)  # longer than a connection may idle unexamined

        with pytest.raises(StoreUnavailable):
            await wire.exchange([("MULTI",), ("SET", key, "ours"), ("EXEC",)])

        assert admin.get(key) == b"somebody else's"
        await wire.exchange([("WATCH", key), ("GET", key)])
        await wire.exchange([("MULTI",), ("SET", key, "ours"), ("EXEC",)])
        assert admin.get(key) == b"ours"
    await wire.close()


async def test_topology_forgotten_by_one_connection_unwatches_no_other(cluster, tenant):
    """Forgetting it closes every connection of the client, those of others too."""
    client = open_client(f"redis+cluster://127.0.0.1:{cluster.port}")
    key = Keys(tenant).head("s")
    one = Wire(client, key)
    await one.exchange([("WATCH", key), ("GET", key)])
    await client.aclose()
    with cluster.admin() as admin:
        admin.set(key, "somebody else's")

        with pytest.raises(StoreUnavailable):
            await one.exchange([("MULTI",), ("SET", key, "ours"), ("EXEC",)])

        assert admin.get(key) == b"somebody else's"
    await one.close()
    await client.aclose()
