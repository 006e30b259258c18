"""`embedded`: whichever server is behind it, any client of this machine can use it."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

import streams.embedded.start
from streams.embedded.server import ServerBinary, find_server
from streams.embedded.start import EmbeddedRedis, start_embedded
from streams.errors import StoreUnavailable, UsageError


@pytest.fixture(params=["redis-server", "fakeredis"])
def embedded(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EmbeddedRedis]:
    if request.param == "fakeredis":
        monkeypatch.setattr(streams.embedded.start, "find_server", lambda: None)
    elif find_server() is None:
        pytest.skip("no redis-server")
    with start_embedded(tmp_path / "data") as running:
        assert running.kind.startswith(request.param)
        yield running


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedRedis]:
    monkeypatch.setattr(streams.embedded.start, "find_server", lambda: None)
    with start_embedded(tmp_path / "data") as running:
        yield running


def test_a_foreign_client_can_xadd_to_the_address_it_names(embedded: EmbeddedRedis) -> None:
    with redis.Redis.from_url(embedded.url) as client:
        client.xadd("inbox", {"stream": "s"})
        assert [fields for _, fields in client.xrange("inbox")] == [{b"stream": b"s"}]


def test_it_listens_on_loopback_only(embedded: EmbeddedRedis) -> None:
    with redis.Redis.from_url(embedded.url) as client:
        client.ping()
        port = client.connection_pool.connection_kwargs["port"]
    outside = _an_address_other_than_loopback()
    if outside is None:
        pytest.skip("this machine has loopback only")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((outside, port), timeout=2)


def _an_address_other_than_loopback() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; picks the address it would use
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


def test_a_second_start_in_the_same_folder_uses_the_running_server(
    embedded: EmbeddedRedis,
) -> None:
    with start_embedded(embedded.folder) as second:
        assert (second.url, second.owner) == (embedded.url, False)
        assert "another process" in second.notice

    with redis.Redis.from_url(embedded.url) as client:
        assert client.ping(), "the guest's end must not end the owner's server"


def test_a_watched_key_that_changed_aborts_the_transaction(embedded: EmbeddedRedis) -> None:
    with redis.Redis.from_url(embedded.url) as client, client.pipeline() as transaction:
        transaction.watch("head")
        client.set("head", "1-1")
        transaction.multi()
        transaction.set("head", "2-1")
        with pytest.raises(redis.WatchError):
            transaction.execute()


def test_a_blocked_read_returns_what_another_client_adds(embedded: EmbeddedRedis) -> None:
    with redis.Redis.from_url(embedded.url) as reader, redis.Redis.from_url(embedded.url) as writer:
        blocked = reader.pipeline(transaction=False)
        connection = blocked.connection_pool.get_connection()
        connection.send_command("XREAD", "BLOCK", 10_000, "STREAMS", "inbox", "$")
        while not writer.client_list() or not _is_blocked(writer, embedded):
            pass
        writer.xadd("inbox", {"n": "1"})
        assert connection.read_response()


def _is_blocked(client: redis.Redis, embedded: EmbeddedRedis) -> bool:
    if not embedded.durable:  # fakeredis has no such counter; its reply would only come at once
        return True
    return int(client.info("clients")["blocked_clients"]) == 1


def test_after_stop_nothing_listens_and_stop_may_be_repeated(tmp_path: Path) -> None:
    running = start_embedded(tmp_path / "data")
    running.stop()
    running.stop()
    with redis.Redis.from_url(running.url) as client, pytest.raises(redis.ConnectionError):
        client.ping()


def test_a_server_keeps_its_data_in_a_private_folder_across_starts(tmp_path: Path) -> None:
    if find_server() is None:
        pytest.skip("no redis-server")
    for round_number in (1, 2, 3):
        with (
            start_embedded(tmp_path / "data") as running,
            redis.Redis.from_url(running.url) as client,
        ):
            assert client.incr("starts") == round_number
            assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"

    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_fakeredis_says_plainly_that_nothing_survives(fake: EmbeddedRedis) -> None:
    assert not fake.durable
    assert "no redis-server was found" in fake.notice
    assert "NOTHING in it SURVIVES" in fake.notice


def test_fakeredis_answers_a_reader_that_is_slower_than_its_reply_is_long(
    fake: EmbeddedRedis,
) -> None:
    """fakeredis alone gives up when the socket's buffers are full."""
    with redis.Redis.from_url(fake.url) as client:
        client.set("big", b"x" * 20_000_000)
        connection = client.connection_pool.get_connection()
        connection.send_command("GET", "big")
        for _ in range(50):  # the reply has to wait in the server for us
            client.ping()
        assert len(connection.read_response()) == 20_000_000


def test_data_of_a_server_is_not_left_aside_for_fakeredis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "appendonly.aof").write_bytes(b"")
    monkeypatch.setattr(streams.embedded.start, "find_server", lambda: None)
    with pytest.raises(UsageError, match="has the data of a redis-server; put one on PATH"):
        start_embedded(tmp_path)


def test_data_of_a_newer_server_is_not_left_aside_for_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "appendonlydir").mkdir()
    old = ServerBinary("/usr/bin/redis-server", (6, 2), "redis-server 6.2.0")
    monkeypatch.setattr(streams.embedded.start, "find_server", lambda: old)
    with pytest.raises(UsageError, match="has the data of a redis-server 7"):
        start_embedded(tmp_path)


def test_a_server_that_cannot_start_is_an_error_that_quotes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_server() is None:
        pytest.skip("no redis-server")
    manifest = tmp_path / "appendonlydir"
    manifest.mkdir()
    (manifest / "appendonly.aof.manifest").write_text("no manifest\n")
    (tmp_path / "appendonly.aof").write_bytes(b"*no command\r\n")
    monkeypatch.setattr(streams.embedded.start, "_refuse_foreign_data", lambda *_: None)
    with pytest.raises(StoreUnavailable, match=r"does not start: .+"):
        start_embedded(tmp_path)


def test_a_stale_address_of_a_dead_process_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "embedded.json").write_text('{"port": 1, "kind": "redis-server 7.0.0"}')
    with start_embedded(tmp_path) as running:
        assert running.owner
