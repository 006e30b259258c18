"""Redis servers that know each other: a primary with replicas and sentinels, a cluster of nodes."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .redis_server import RedisServer, die_with_parent, free_port
from .waiting import eventually_sync

SLOTS = 16_384


class SentinelProcess:
    """One sentinel that watches a primary called `mymaster`, with a password of its own."""

    def __init__(
        self, binary: Path, folder: Path, primary: RedisServer, *, password: str, data_password: str
    ) -> None:
        folder.mkdir(parents=True)
        self.port = free_port()
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {self.port}\n"
            "bind 127.0.0.1\n"
            f"dir {folder}\n"
            f"logfile {folder / 'log'}\n"
            f"requirepass {password}\n"
            f"sentinel sentinel-pass {password}\n"
            f"sentinel monitor mymaster 127.0.0.1 {primary.port} 2\n"
            f"sentinel auth-pass mymaster {data_password}\n"
            "sentinel down-after-milliseconds mymaster 1000\n"
            "sentinel failover-timeout mymaster 5000\n"
        )
        self._process = subprocess.Popen(
            [binary, config, "--sentinel"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
        )
        self._password = password

    def primary_port(self) -> int:
        """Port of whom it takes for the primary; 0 while it can't say."""
        with suppress(redis.RedisError), self._admin() as admin:
            return int(admin.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")[1])
        return 0

    def sees(self) -> tuple[int, int]:
        """How many replicas and other sentinels it knows."""
        with suppress(redis.RedisError), self._admin() as admin:
            [state] = admin.sentinel_masters().values()
            return state["num-slaves"], state["num-other-sentinels"]
        return 0, 0

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def _admin(self) -> redis.Redis:
        return redis.Redis(
            port=self.port,
            password=self._password,
            decode_responses=True,
            socket_timeout=5,
            retry=Retry(NoBackoff(), 0),
        )


class Cluster:
    """Nodes of a Redis Cluster that share its slots."""

    def __init__(self, servers: list[RedisServer]) -> None:
        self.nodes = servers

    @classmethod
    def of(cls, servers: list[RedisServer]) -> Self:
        """Introduce started `--cluster-enabled yes` servers to each other."""
        share = SLOTS // len(servers) + 1
        for n, server in enumerate(servers):
            with server.admin() as admin:
                slots = range(n * share, min((n + 1) * share, SLOTS))
                admin.execute_command("CLUSTER ADDSLOTS", *slots)
                admin.execute_command("CLUSTER MEET", "127.0.0.1", servers[0].port)
        cluster = cls(servers)
        eventually_sync(cluster._all_know_each_other, 30, hint="the cluster forms")
        return cluster

    @property
    def url(self) -> str:
        """Address for `--redis`."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def owner(self, key: bytes) -> RedisServer:
        """The node that serves `key`."""
        for node in self.nodes:
            with node.admin() as admin:
                try:
                    admin.execute_command("EXISTS", key)
                except redis.exceptions.MovedError:
                    continue
                return node
        raise AssertionError("nobody serves it")

    def move(self, key: bytes, *, pause_s: float = 0.0) -> None:
        """Move the slot of `key` with all its keys to the next node, as `redis-cli` does.

        Between keys it waits `pause_s`: the slot is then served by two nodes.
        """
        source = self.owner(key)
        target = self.nodes[(self.nodes.index(source) + 1) % len(self.nodes)]
        with source.admin() as here, target.admin() as there:
            slot = here.execute_command("CLUSTER KEYSLOT", key)
            ids = (
                here.execute_command("CLUSTER MYID").decode(),
                there.execute_command("CLUSTER MYID").decode(),
            )
            there.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[0])
            here.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[1])
            while keys := here.execute_command("CLUSTER GETKEYSINSLOT", slot, 3):
                address = ("127.0.0.1", target.port, "", 0, 5_000)
                here.execute_command("MIGRATE", *address, "KEYS", *keys)
                time.sleep(pause_s)
            for node in (there, here):
                node.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[1])

    def _all_know_each_other(self) -> bool:
        states = []
        for node in self.nodes:
            with node.admin() as admin:
                info = admin.cluster("info")
                states.append((info["cluster_state"], int(info["cluster_known_nodes"])))
        return all(state == ("ok", len(self.nodes)) for state in states)
