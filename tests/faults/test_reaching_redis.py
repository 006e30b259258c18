"""Ways to a Redis that lead nowhere are told in words; those that are documented arrive."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.errors import StoreUnavailable
from streams.keys import Keys
from streams.redis_store import RedisEventStore
from support.redis_server import RedisServer, free_port
from support.topology import Cluster
from support.waiting import eventually_sync


async def refused(url: str) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as caught:
        await RedisEventStore.connect(url)
    return caught.value


async def test_a_port_nobody_listens_on_is_told_with_its_address():
    port = free_port()

    failure = await refused(f"redis://:secret@127.0.0.1:{port}")

    assert str(failure) == f"can't connect to 127.0.0.1:{port}: connection refused"
    assert failure.kind == "connection"


async def test_an_unknown_host_is_told_by_name():
    failure = await refused("redis://no-such-host.invalid:6379")

    assert str(failure).startswith("can't connect to no-such-host.invalid:6379: ")
    assert "Error" not in str(failure)


async def test_a_missing_socket_is_told_by_its_path():
    failure = await refused("unix:///no/such.sock")

    assert str(failure) == "can't connect to socket /no/such.sock: no such file or directory"


async def test_sentinels_out_of_reach_are_told_without_the_settings_of_the_client():
    port = free_port()

    failure = await refused(f"redis+sentinel://:secret@127.0.0.1:{port}/main")

    assert str(failure) == (
        f"can't connect to master 'main' of the sentinels 127.0.0.1:{port}: "
        "no sentinel answers that knows it"
    )


async def test_a_server_that_is_no_sentinel_is_told_so(server: RedisServer):
    failure = await refused(f"redis+sentinel://127.0.0.1:{server.port}/main")

    assert f"sentinels 127.0.0.1:{server.port}: unknown command" in str(failure)


async def test_a_single_server_named_as_a_cluster_is_told_so(server: RedisServer):
    failure = await refused(f"redis+cluster://127.0.0.1:{server.port}")

    assert failure.kind == "cluster"
    assert "Cluster mode is not enabled" in str(failure)


async def test_a_cluster_out_of_reach_is_an_outage_and_no_defect():
    port = free_port()

    failure = await refused(f"redis+cluster://127.0.0.1:{port}")

    assert failure.kind == "connection"
    assert str(failure) == f"can't connect to the cluster at 127.0.0.1:{port}: connection refused"


async def test_a_node_of_a_cluster_that_serves_other_slots_is_told_so(start_server):
    nodes = [start_server(options=("--cluster-enabled", "yes")) for _ in range(2)]
    cluster = Cluster.of(nodes)
    other = next(node for node in nodes if node is not cluster.owner(Keys("default").inbox))

    with pytest.raises(StoreUnavailable, match="part of a cluster, and another node serves"):
        async with await RedisEventStore.connect(f"redis://127.0.0.1:{other.port}") as store:
            await store.stream_version("s")


async def test_a_database_that_is_not_there_is_told(server: RedisServer):
    failure = await refused(f"redis://127.0.0.1:{server.port}/9999")

    assert "DB index is out of range" in str(failure)


@pytest.fixture
def plain_speaker() -> Iterator[int]:
    """The port of a server that answers whatever comes without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_answer_in_the_clear, args=(listening,))
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def _answer_in_the_clear(listening: socket.socket) -> None:
    peer, _ = listening.accept()
    with peer:
        peer.sendall(b"-ERR what is this\r\n")
        peer.recv(1024)


async def test_tls_to_a_peer_that_speaks_none_is_told(plain_speaker: int):
    failure = await refused(f"rediss://127.0.0.1:{plain_speaker}")

    assert f"can't connect to 127.0.0.1:{plain_speaker}: TLS fails: " in str(failure)


@pytest.fixture
def by_socket(start_server) -> Iterator[str]:
    """A server's unix:// URL; the path is short, since the system allows it 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="ares-"))
    path = folder / "redis.sock"
    start_server(options=("--unixsocket", str(path)))
    yield f"unix://{path}?db=1"
    shutil.rmtree(folder)


def test_everything_works_over_a_unix_socket(by_socket: str, install):
    here = install(by_socket)

    here.call("emit", "s", "task.completed", "--payload", '{"result": "done"}')
    here.call("run", "--once")

    assert list(here.rounds()) == ["default/s/round_1.json"]


def test_a_worker_waits_for_a_cluster_that_is_down_when_it_starts(start_server, install):
    options = ("--cluster-enabled", "yes")
    node = start_server(aof="always", options=options)
    cluster = Cluster.of([node])
    node.kill()
    here = install(cluster.url, ARES_WORKER_BACKOFF_MAX_MS="100")

    with here.worker() as worker:
        eventually_sync(lambda: worker.log().count("can't go on"), 20, hint="the outage is told")
        eventually_sync(lambda: "redis" in _reasons(worker.get("/readyz")[1]), 20)
        node.start()
        worker.wait_ready()

        assert "defect" not in worker.log()


def _reasons(readiness: str) -> dict[str, str]:
    return json.loads(readiness)["reasons"] if readiness else {}
