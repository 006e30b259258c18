"""`ares-worker top` as people and scripts use it: once, live on a terminal, and ended any way."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator
from typing import Any, Self

import pytest

from support.command_line import CommandLine
from support.redis_server import RedisServer, die_with_parent
from support.waiting import eventually_sync
from support.worker_process import PROGRAM
from worker.console.output import width_of

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


@pytest.fixture
def busy(ares: CommandLine) -> CommandLine:
    """A tenant with two streams, archived once."""
    for stream in ("s-1", "s-2"):
        assert ares("emit", stream, "task.completed").code == 0
    assert ares("run", "--once").code == 0
    return ares


def test_a_script_gets_one_document_with_everything(busy: CommandLine) -> None:
    said = busy("top", "--once", "--json", "--interval", "0.1").json

    [tenant] = said["tenants"]
    assert (tenant["tenant"], tenant["stream_count"], tenant["inbox_events"]) == (busy.tenant, 2, 0)
    assert {stream["stream"] for stream in tenant["streams"]} == {"s-1", "s-2"}
    assert {stream["rounds"] for stream in tenant["streams"]} == {1}
    assert tenant["events_per_s"] == 0.0
    assert [lease["name"] for lease in tenant["leases"]] == ["sequencer", "janitor"]
    assert tenant["workers"] == [], "the one that was here has ended, and said so"
    assert said["redis"]["version"]


def test_json_alone_is_once(busy: CommandLine) -> None:
    assert busy("top", "--json", "--interval", "0.1").json["tenants"]


@pytest.mark.parametrize("options", [["--once"], []], ids=["once", "without a terminal"])
def test_text_has_neither_escapes_nor_keys(busy: CommandLine, options: list[str]) -> None:
    said = busy("top", "--interval", "0.1", *options)

    assert said.code == 0
    assert "\x1b" not in said.out
    assert "quit" not in said.out
    assert all(f"\n{heading} " in said.out for heading in ("TENANT", "WORKER", "STREAM"))
    assert len([line for line in said.out.splitlines() if line.startswith("s-")]) == 2


def test_only_as_many_streams_as_asked_for(busy: CommandLine) -> None:
    [tenant] = busy("top", "--json", "--interval", "0.1", "--streams", "1").json["tenants"]

    assert (len(tenant["streams"]), tenant["stream_count"]) == (1, 2)


def test_colour_where_it_is_asked_for(busy: CommandLine) -> None:
    assert "\x1b[31m" in busy("top", "--once", "--interval", "0.1", "--color", "always").out


class Live:
    """`top` on a terminal of its own."""

    def __init__(self, url: str, *args: str, columns: int = 80, **environ: str) -> None:
        self._leader, self._follower = pty.openpty()
        self.resize(columns, 24)
        self.mode = termios.tcgetattr(self._follower)
        self.seen = b""
        self.process = subprocess.Popen(
            [*PROGRAM, "top", "--redis", url, "--interval", "0.1", *args],
            stdin=self._follower,
            stdout=self._follower,
            stderr=self._follower,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environ},
            preexec_fn=die_with_parent,  # noqa: PLW1509  # async-signal-safe: one prctl
        )
        os.set_blocking(self._leader, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)
        os.close(self._follower)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def read(self) -> bytes:
        """Everything seen so far."""
        with contextlib.suppress(OSError):  # nothing new, or nobody there any more
            self.seen += os.read(self._leader, 1_000_000)
        return self.seen

    def screen(self) -> list[str]:
        """The newest whole screen, without colours."""
        shown = self.read().rpartition(b"\x1b[H")[0].rpartition(b"\x1b[H")[2].decode()
        return re.split(r"\r+\n", re.sub(r"\x1b\[[0-9;]*[mKJ]", "", shown))

    def until(self, condition: Callable[[], Any], hint: str) -> None:
        eventually_sync(condition, 30, hint=f"{hint}: {self.seen[-2_000:]!r}")

    def shows(self, text: str) -> Self:
        self.until(lambda: any(text in line for line in self.screen()), text)
        return self

    def ends(self) -> int:
        """Its exit code, once it has given back the terminal as it was."""
        self.until(lambda: (self.read(), self.process.poll() is not None)[1], "the end")
        self.read()
        assert termios.tcgetattr(self._follower) == self.mode
        assert self.seen.count(LEAVE) == self.seen.count(ENTER) == 1
        assert self.seen.rindex(SHOW_CURSOR) > self.seen.rindex(b"\x1b[H")
        return int(self.process.returncode)


@pytest.fixture
def live(busy: CommandLine) -> Iterator[Live]:
    with Live(busy.server.url, "--tenant", busy.tenant) as started:
        yield started.shows("q quit")


def test_the_live_screen_shows_streams_and_ends_with_q(live: Live) -> None:
    assert any(line.startswith("s-1 ") for line in live.screen())

    live.press("q")

    assert live.ends() == 0
    assert b"Traceback" not in live.seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_the_terminal_restored(live: Live, number: signal.Signals) -> None:
    live.process.send_signal(number)

    assert live.ends() == 0
    assert b"Traceback" not in live.seen


def test_s_sorts_otherwise_at_once(live: Live) -> None:
    live.press("s")
    live.shows("sort: rate")
    live.press("ss")
    live.shows("sort: size")


@pytest.mark.parametrize("size", [(40, 10), (200, 60), (20, 3), (1, 1)], ids=str)
def test_a_terminal_of_another_size_is_filled_and_not_exceeded(
    live: Live, size: tuple[int, int]
) -> None:
    live.resize(*size)
    live.process.send_signal(signal.SIGWINCH)

    def fits() -> bool:
        screen = live.screen()
        return len(screen) == size[1] and all(width_of(line) <= size[0] for line in screen)

    live.until(fits, f"a screen of {size}")


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(live: Live) -> None:
    live.process.send_signal(signal.SIGTSTP)
    live.until(lambda: live.read().count(LEAVE) == 1, "the shell's screen")
    live.until(lambda: _state(live.process.pid) == "T", "stopped")

    live.process.send_signal(signal.SIGCONT)
    live.until(lambda: live.read().count(ENTER) == 2, "its own screen again")

    live.press("q")
    live.until(lambda: (live.read(), live.process.poll() is not None)[1], "the end")
    assert live.read().count(LEAVE) == 2


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(") ")[2][0]


def test_without_colour_only_the_screen_itself_is_controlled(busy: CommandLine) -> None:
    with Live(busy.server.url, "--tenant", busy.tenant, NO_COLOR="1") as live:
        live.shows("q quit").press("q")

        assert live.ends() == 0
        assert not re.search(rb"\x1b\[[0-9;]*m", live.seen)


def test_a_terminal_that_can_nothing_gets_the_report(busy: CommandLine) -> None:
    with Live(busy.server.url, "--tenant", busy.tenant, TERM="dumb") as live:
        live.until(lambda: (live.read(), live.process.poll() is not None)[1], "the end")

        assert b"STREAM" in live.read()
        assert b"\x1b" not in live.seen


def test_a_redis_that_goes_away_is_told_and_taken_up_again(start_server: Any) -> None:
    server: RedisServer = start_server()
    with Live(server.url) as live:
        live.shows("q quit")

        server.kill()
        live.shows("trying again")
        server.start()
        live.shows("q quit")

        live.press("q")
        assert live.ends() == 0


def test_without_a_redis_it_says_so_on_the_screen_that_stays(tmp_path: Any) -> None:
    with Live("redis://127.0.0.1:1/0") as live:
        live.until(lambda: (live.read(), live.process.poll() is not None)[1], "the end")

        assert live.process.returncode == 69
        assert ENTER not in live.read()
        assert b"can't connect to 127.0.0.1:1: connection refused" in live.seen


def test_an_error_is_one_json_document(ares: CommandLine) -> None:
    said = subprocess.run(
        [*PROGRAM, "top", "--json", "--redis", "redis://127.0.0.1:1/0"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.returncode == 69
    assert '"kind": "StoreUnavailable"' in said.stdout
