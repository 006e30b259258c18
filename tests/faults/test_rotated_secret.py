"""A password rotated in a mounted file is picked up by the next connection."""

from __future__ import annotations

import pytest
import redis as sync_redis

from streams.connection import open_client
from streams.errors import StoreUnavailable
from streams.redis_store import RedisEventStore
from worker.settings.load import load_settings


@pytest.mark.parametrize("kind", ["password_file", "url_file"])
async def test_a_rotated_secret_is_read_at_the_next_connection(start_server, tmp_path, kind: str):
    server = start_server(options=("--requirepass", "first"))
    secret = tmp_path / "secret"

    def write(password: str) -> None:
        url = f"redis://:{password}@127.0.0.1:{server.port}/0"
        secret.write_text(url if kind == "url_file" else password)

    write("first")
    url = {} if kind == "url_file" else {"redis.url": server.url}
    settings = load_settings(overrides={f"redis.{kind}": str(secret), **url}, environ={})
    redis = settings.redis
    client = open_client(redis.read_url(), redis.connection_options())
    store = RedisEventStore(client)
    await store.ping()

    admin = sync_redis.Redis(port=server.port, password="first")
    admin.config_set("requirepass", "second")
    admin.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(StoreUnavailable) as failed:
        await store.ping()
    write("second")
    await store.ping()

    assert "first" not in str(failed.value)
    await store.close()
    await client.aclose()
