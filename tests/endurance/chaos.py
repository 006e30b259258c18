"""`make chaos`: workers, network and Redis fail at random; then everything must be there.

`python -m endurance.chaos --seconds 60 --workers 2 --seed 1`. Exit 0 when the archive holds every
round of every session once, and `verify` agrees.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import redis

from streams.keys import Keys
from support.lossy_proxy import Fault, LossyProxy
from support.redis_server import REDIS_7, REDIS_62, RedisServer, find_servers
from support.sessions import produce, rounds_due, rounds_in
from support.waiting import eventually
from support.worker_process import Installation, WorkerProcess

INBOX = Keys("default").inbox
AGENTS_A_TURN = 4
WORDS = ("EXEC", "WATCH", "XRANGE", "XREADGROUP", "XACK", "HGET", "")
"""Commands that meet a fault; the last one is any."""

IMPATIENT = {
    "ARES_SEQUENCER_LEASE_TTL_MS": "2000",
    "ARES_ARCHIVE_CLAIM_IDLE_MS": "3000",
    "ARES_REDIS_BLOCK_MS": "200",
    "ARES_REDIS_SOCKET_TIMEOUT_MS": "2000",
    "ARES_WORKER_SCAN_INTERVAL": "1s",
    "ARES_COMPACTION_THRESHOLD": "20",
    "ARES_COMPACTION_KEEP_RECENT": "5",
}


class Chaos:
    """One Redis, some workers behind one bad network, and a producer."""

    def __init__(self, folder: Path, server: RedisServer, proxy: LossyProxy, seed: int) -> None:
        self.here = Installation(proxy.url, folder / "rounds", IMPATIENT)
        self.agents = 0
        self.happened: Counter[str] = Counter()
        self._server, self._proxy = server, proxy
        self._chance = random.Random(seed)
        self._workers: list[WorkerProcess] = []

    async def start_worker(self) -> None:
        """One more worker."""
        self._workers.append(self.here.worker().__enter__())

    async def stop_workers(self) -> None:
        """End them all as a user would; each must exit 0."""
        while self._workers:
            await asyncio.to_thread(self._workers.pop().__exit__, None)

    async def turn(self) -> None:
        """Some new sessions, and one disaster in the middle of them."""
        agents = range(self.agents, self.agents + AGENTS_A_TURN)
        self.agents = agents.stop
        producing = asyncio.create_task(asyncio.to_thread(self._produce, agents))
        to_workers = (self._kill_worker, self._freeze_worker)
        to_redis = (self._kill_redis, self._fill_redis, self._break_network, self._cut)
        disaster = self._chance.choice((*to_workers, *to_redis))
        self.happened[disaster.__name__.strip("_")] += 1
        await disaster()
        await producing

    def _produce(self, agents: range) -> None:
        """Send until Redis has acknowledged everything, as a careful producer would."""
        until = time.monotonic() + 60
        while True:
            try:
                with self._server.admin() as admin:
                    produce(admin, INBOX, agents)
                return
            except redis.exceptions.RedisError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    async def _kill_worker(self) -> None:
        await asyncio.sleep(self._chance.random())
        victim = self._workers.pop(self._chance.randrange(len(self._workers)))
        await asyncio.to_thread(victim.kill)
        await self.start_worker()

    async def _freeze_worker(self) -> None:
        victim = self._chance.choice(self._workers)
        victim.freeze()
        await asyncio.sleep(self._chance.uniform(0.1, 4))
        victim.thaw()

    async def _kill_redis(self) -> None:
        await asyncio.sleep(self._chance.random() / 2)
        self._server.kill()
        await asyncio.sleep(self._chance.random())
        await asyncio.to_thread(self._server.start)

    async def _fill_redis(self) -> None:
        """No memory for a while, and now and then a worker dies meanwhile."""
        await asyncio.sleep(self._chance.random() / 2)
        with self._server.admin() as admin:
            used = admin.info("memory")["used_memory"]
            admin.config_set("maxmemory", int(used * self._chance.uniform(0.3, 1.0)))
            if self._chance.random() < 0.5:
                await self._kill_worker()
            await asyncio.sleep(self._chance.uniform(0.5, 4))
            admin.config_set("maxmemory", 0)

    async def _break_network(self) -> None:
        for _ in range(6):
            word = self._chance.choice(
                ["EXEC", "WATCH", "XRANGE", "XREADGROUP", "XACK", "HGET", ""]
            )
            fault = self._chance.choice([Fault.DROP, Fault.REFUSE, Fault.BLACKHOLE, Fault.DELAY])
            self._proxy.fail(word, fault, delay_s=0.3)
            await asyncio.sleep(self._chance.random() / 2)
        self._proxy.heal()

    async def _cut(self) -> None:
        for _ in range(5):
            self._proxy.cut()
            await asyncio.sleep(self._chance.random() / 2)

    async def settle(self) -> None:
        """With the causes gone, everything must be archived by itself."""
        self._proxy.heal()
        due = len(rounds_due(range(self.agents)))
        await eventually(lambda: len(self.here.rounds()) >= due, 120, hint=f"{due} rounds")


async def run(seconds: float, workers: int, seed: int) -> None:
    """Raises `AssertionError` when something is missing, repeated or damaged."""
    found = find_servers()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ares-chaos-")))
        binary = found.get(REDIS_7) or found[REDIS_62]
        server = RedisServer(binary, folder / "redis", aof="always").start()
        stack.callback(server.kill)
        proxy = await stack.enter_async_context(LossyProxy(server.port))
        chaos = Chaos(folder, server, proxy, seed)
        stack.push_async_callback(chaos.stop_workers)
        for _ in range(workers):
            await chaos.start_worker()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await chaos.turn()
        await chaos.settle()
        await chaos.stop_workers()
        files = chaos.here.rounds()
        assert rounds_in(files) == rounds_due(range(chaos.agents))
        said = await asyncio.to_thread(chaos.here.call, "verify")
        counts = ", ".join(f"{name} {count}" for name, count in sorted(chaos.happened.items()))
        print(f"{len(files)} rounds of {chaos.agents} sessions, each once; {counts}")
        print(said, end="")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    asyncio.run(run(options.seconds, options.workers, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
