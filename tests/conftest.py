"""Fixtures of every test: private Redis servers, a fresh tenant, waiting, a faulty network.

A server that isn't there skips its tests at a desk and fails them where `CI` is set.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import fakeredis
import pytest
import redis.asyncio
from hypothesis import HealthCheck, settings

from support.loaded_program import LoadedProgram
from support.redis_server import REDIS_7, REDIS_62, RedisServer, find_servers, serve_all_slots
from support.worker_process import Installation

FAKEREDIS = "fakeredis"

settings.register_profile(
    "ares", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("ares")

MEMORY = Path("/dev/shm")
ROOM_FOR_A_RUN = 3 << 30


def pytest_configure() -> None:
    """Keep the tests' files in memory where there is room: a disk takes its time for each fsync.

    What it is for, no test could see: powers lost are simulated.
    """
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and MEMORY.is_dir():
        found = os.statvfs(MEMORY)
        can_execute = not found.f_flag & os.ST_NOEXEC
        if can_execute and found.f_bavail * found.f_frsize > ROOM_FOR_A_RUN:
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


StartServer = Callable[..., RedisServer]


def _missing(what: str) -> None:
    """Skip at a desk; fail where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed, and CI must not skip it")
    pytest.skip(f"{what} is not installed")


class Servers:
    """The session's shared servers, each started when first asked for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._binaries = find_servers()
        self._running: dict[str, RedisServer] = {}

    def binary(self, name: str) -> Path:
        """The redis-server called `name`; skips or fails the test where there is none."""
        if name not in self._binaries:
            _missing(name)
        return self._binaries[name]

    def newest(self) -> str:
        """Name of the newest server there is."""
        return REDIS_7 if REDIS_7 in self._binaries else REDIS_62

    def get(self, name: str) -> RedisServer:
        """The running shared server called `name`. Don't stop or reconfigure it."""
        if name not in self._running:
            server = RedisServer(self.binary(name), self._directory / name)
            self._running[name] = server.start()
        return self._running[name]

    def cluster(self) -> RedisServer:
        """A running Redis Cluster of one node: what needs two slots fails there."""
        if "cluster" not in self._running:
            node = RedisServer(
                self.binary(self.newest()),
                self._directory / "cluster",
                options=("--cluster-enabled", "yes"),
            )
            self._running["cluster"] = node.start()
            serve_all_slots(node)
        return self._running["cluster"]

    def stop(self) -> None:
        """End all of them."""
        for server in self._running.values():
            server.kill()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    shared = Servers(tmp_path_factory.mktemp("redis"))
    yield shared
    shared.stop()


@pytest.fixture(params=[REDIS_7, REDIS_62])
def every_server(servers: Servers, request: pytest.FixtureRequest) -> RedisServer:
    """A shared server; the test runs once on each version."""
    return servers.get(request.param)


@pytest.fixture
def server(servers: Servers) -> RedisServer:
    """The newest shared server: for what doesn't depend on the version."""
    return servers.get(servers.newest())


@pytest.fixture
def start_server(servers: Servers, tmp_path: Path) -> Iterator[StartServer]:
    """Start a server of the test's own, to kill, freeze, restart or reconfigure.

    `start_server(name=…, aof="always", options=("--maxmemory", "10mb"))`.
    """
    started: list[RedisServer] = []

    def start(name: str = "", *, aof: str = "", options: tuple[str, ...] = ()) -> RedisServer:
        folder = tmp_path / f"redis-{len(started)}"
        binary = servers.binary(name or servers.newest())
        started.append(RedisServer(binary, folder, aof=aof, options=options))
        return started[-1].start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def cluster(servers: Servers) -> RedisServer:
    """The shared Redis Cluster of one node."""
    return servers.cluster()


@pytest.fixture(scope="session")
def loaded() -> Iterator[LoadedProgram]:
    """`ares-worker`, loaded once for all commands that are called to their end."""
    program = LoadedProgram()
    yield program
    program.close()


Install = Callable[..., Installation]


@pytest.fixture
def install(
    tmp_path: Path, request: pytest.FixtureRequest, loaded: LoadedProgram
) -> Iterator[Install]:
    """`install(server.url, **settings)`: an archive of its own beside a Redis, for processes.

    After the test `ares-worker verify` must agree with all of them, unless it is marked `damage`.
    """
    made: list[Installation] = []

    def new(redis_url: str, **settings: str) -> Installation:
        folder = tmp_path / f"installation-{len(made)}"
        folder.mkdir()
        made.append(Installation(redis_url, folder / "rounds", settings, loaded))
        return made[-1]

    yield new
    if not request.node.get_closest_marker("damage"):
        for installation in made:
            installation.call("verify")


_tenants = itertools.count(1)


@pytest.fixture
def tenant() -> str:
    """A tenant no other test uses, so that tests share a server without meeting."""
    return f"t{next(_tenants)}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def client(server: RedisServer) -> AsyncIterator[redis.asyncio.Redis]:
    """An asyncio client of the newest shared server; bytes in, bytes out, no retries."""
    async with server.client() as connected:
        yield connected


@pytest.fixture(params=[FAKEREDIS, REDIS_7, REDIS_62])
async def every_client(
    servers: Servers, request: pytest.FixtureRequest
) -> AsyncIterator[redis.asyncio.Redis]:
    """An asyncio client; the test runs on fakeredis and on each real version."""
    if request.param == FAKEREDIS:
        async with fakeredis.FakeAsyncRedis(version=(7,)) as connected:
            yield connected
    else:
        async with servers.get(request.param).client() as connected:
            yield connected
