"""`tail` and `subscribers` as a user calls them, in processes of their own where it matters."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streams import Event, RedisEventStore, SubscriptionOptions
from streams.clock import utc_now
from streams.durable.partition import Delivery
from streams.redis_store import StoreOptions
from support.command_line import CommandLine
from support.redis_server import RedisServer
from support.waiting import eventually_sync

Work = Callable[[RedisEventStore], Any]


def with_store(server: RedisServer, tenant: str, work: Work, **subscriptions: Any) -> Any:
    """Run `work` on a store of its own."""
    options = StoreOptions(subscriptions=SubscriptionOptions(block_ms=50, **subscriptions))

    async def run() -> Any:
        async with await RedisEventStore.connect(server.url, tenant, options=options) as store:
            return await work(store)

    return asyncio.run(run())


def append(server: RedisServer, tenant: str, stream: str, *events: Event) -> None:
    with_store(server, tenant, lambda store: store.append(stream, events))


class Tail:
    """`ares-worker tail` in a process of its own; its lines as they come."""

    def __init__(self, server: RedisServer, tenant: str, folder: Path, *args: str) -> None:
        self._out, self._err = folder / "out", folder / "err"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ARES_")}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "worker.cli", "tail", *args),
                    *("--redis", server.url, "--tenant", tenant),
                ],
                env=environment,
                stdout=out,
                stderr=err,
            )

    def lines(self) -> list[str]:
        return self._out.read_text().splitlines()

    def complaints(self) -> str:
        return self._err.read_text()

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


@pytest.fixture
def tail(server: RedisServer, tenant: str, tmp_path: Path) -> Iterator[Callable[..., Tail]]:
    started: list[Tail] = []

    def start(*args: str, server: RedisServer = server, tenant: str = tenant) -> Tail:
        folder = tmp_path / f"tail-{len(started)}"
        folder.mkdir()
        started.append(Tail(server, tenant, folder, *args))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_without_follow_it_shows_what_there_is_one_line_an_event(
    ares: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing an event says can drive the terminal or forge a line."""
    monkeypatch.setenv("COLUMNS", "120")
    task = Event("task.created", {"task": "Fix \x1b[2Jthe\nparser"})
    append(ares.server, ares.tenant, "session-42", task, Event("task.completed", {"result": "ok"}))
    append(ares.server, ares.tenant, "other", Event("message.added", {"content": "hi"}))

    lines = ares("tail", "--no-follow").out.splitlines()

    assert [line.split()[2:] for line in lines] == [
        ["session-42", "1", "task.created", "Fix", "\\x1b[2Jthe\\nparser"],
        ["session-42", "2", "task.completed", "ok"],
        ["other", "1", "message.added", "hi"],
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--stream", "a*"], [("a1", 1), ("a1", 2), ("a2", 1)]),
        (["--stream", "a2", "--stream", "b"], [("a2", 1), ("b", 1)]),
        (["--type", "task.*"], [("a1", 2), ("b", 1)]),
        (["--type", "task.failed", "--stream", "b"], [("b", 1)]),
        (["--since", "1h"], [("a1", 1), ("a1", 2), ("a2", 1), ("b", 1)]),
        (["--since", "2999-01-01"], []),
    ],
)
def test_flags_choose_what_is_shown(
    ares: CommandLine, flags: list[str], expected: list[tuple[str, int]]
) -> None:
    append(ares.server, ares.tenant, "a1", Event("llm.call"), Event("task.created"))
    append(ares.server, ares.tenant, "a2", Event("llm.call"))
    append(ares.server, ares.tenant, "b", Event("task.failed"))

    lines = ares("tail", "--no-follow", "--json", *flags).out.splitlines()

    shown = [json.loads(line) for line in lines]
    assert [(event["stream"], event["version"]) for event in shown] == expected


def test_json_lines_keep_everything_of_an_event(ares: CommandLine) -> None:
    now = utc_now()
    sent = Event("x", {"text": "é\n\x1b"}, module_name="m", metadata={"a": 1}, timestamp=now)
    append(ares.server, ares.tenant, "s", sent)

    (line,) = ares("tail", "--no-follow", "--json").out.splitlines()

    assert json.loads(line) == {
        "version": 1,
        "id": sent.id,
        "stream": "s",
        "type": "x",
        "module": "m",
        "timestamp": now.isoformat().replace("+00:00", "Z"),
        "payload": {"text": "é\n\x1b"},
        "metadata": {"a": 1},
    }


def test_both_ways_to_begin_at_once_are_a_wrong_call(ares: CommandLine) -> None:
    assert ares("tail", "--since", "1h", "--from-beginning").code == 2


def test_it_follows_until_interrupted_and_says_nothing_of_that(
    server: RedisServer, tenant: str, tail: Callable[..., Tail]
) -> None:
    append(server, tenant, "s", Event("llm.call"))
    one = tail("--from-beginning")
    eventually_sync(lambda: len(one.lines()) == 1, 20)
    append(server, tenant, "s", Event("task.completed", {"result": "done"}))
    eventually_sync(lambda: len(one.lines()) == 2, 20)

    assert one.interrupt() == 130
    assert one.lines()[1].endswith("done")
    assert one.complaints().strip() == ""


def test_it_goes_on_after_a_crash_of_redis(
    start_server: Callable[..., RedisServer], tail: Callable[..., Tail]
) -> None:
    server = start_server(aof="always")
    append(server, "t", "s", Event("llm.call"))
    one = tail("--from-beginning", "--json", server=server, tenant="t")
    eventually_sync(lambda: len(one.lines()) == 1, 20)
    server.restart()
    append(server, "t", "s", Event("llm.call"), Event("llm.call"))

    eventually_sync(lambda: len(one.lines()) == 3, 20)
    assert [json.loads(line)["version"] for line in one.lines()] == [1, 2, 3]
    assert one.interrupt() == 130
    assert "Traceback" not in one.complaints()


def test_a_reader_that_leaves_ends_it_quietly(server: RedisServer, tenant: str) -> None:
    append(server, tenant, "s", *[Event("x", {"text": "x" * 500}) for _ in range(2_000)])
    line = (
        f"{sys.executable} -P -m worker.cli tail --from-beginning --redis {server.url}"
        f" --tenant {tenant} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    assert done.stdout.splitlines()[-1] == b"141"


def group_with_a_history(server: RedisServer, tenant: str) -> None:
    """`audit` has acknowledged one of three events, and given another one up."""

    async def work(store: RedisEventStore) -> None:
        await store.append("s", [Event("a"), Event("b"), Event("c")])
        async with store.subscribe(group="audit", start="beginning") as member:
            await (await anext(member)).ack()
            assert isinstance(await anext(member), Delivery)
        async with store.subscribe(group="audit") as member:
            await anext(member)  # the gap
            await anext(member)

    with_store(server, tenant, work, max_attempts=1)


def test_subscribers_are_listed_with_their_counts(ares: CommandLine) -> None:
    group_with_a_history(ares.server, ares.tenant)

    async def live(store: RedisEventStore) -> None:
        async with store.subscribe(name="screen", buffer=1) as subscription:
            await store.append("s", [Event("x"), Event("x"), Event("x")])
            await anext(subscription)
            await anext(subscription)

    with_store(ares.server, ares.tenant, live)

    found = {row["name"]: row for row in ares("subscribers", "list", "--json").json}
    assert (found["screen"]["delivered"], found["screen"]["dropped"]) == (1, 2)
    assert found["screen"]["group"] is False
    audit = found["audit"]
    assert (audit["delivered"], audit["dropped"], audit["group"]) == (1, 1, True)
    assert audit["state"] == "active"
    text = ares("subscribers", "list").out
    assert [line.split()[0] for line in text.splitlines()] == ["NAME", "audit", "screen"]


def test_a_group_is_shown_partition_by_partition_with_what_it_gave_up(ares: CommandLine) -> None:
    group_with_a_history(ares.server, ares.tenant)

    group = ares("subscribers", "show", "audit", "--json").json

    assert [part["partition"] for part in group["partitions"]] == list(range(16))
    assert sorted(part["attempts"] for part in group["partitions"])[-1] == 1
    (letter,) = group["given_up"]
    assert (letter["stream"], letter["version"], letter["type"]) == ("s", 2, "b")
    assert (letter["code"], letter["attempts"]) == ("attempts", 1)
    text = ares("subscribers", "show", "audit").out
    assert "s version 2 (b): not acknowledged in 1 attempts" in text


def test_a_group_nobody_knows_is_a_no(ares: CommandLine) -> None:
    answer = ares("subscribers", "show", "nope")
    assert answer.code == 1
    assert "no group 'nope'" in answer.err
