"""The command line among other programs: pipes, full disks, odd locales, terminals."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from streams.keys import Keys
from support.redis_server import RedisServer
from support.waiting import eventually_sync

Shell = Callable[..., subprocess.CompletedProcess[bytes]]

ODD = 'é 日本 👍 \x1b[2J"q"'


@pytest.fixture
def ares(server: RedisServer, tenant: str, tmp_path: Path) -> list[str]:
    """The program, on a Redis and tenant of its own."""
    program = [sys.executable, "-m", "worker.cli"]
    return [*program, "--redis", server.url, "--tenant", tenant, "--archive-dir", str(tmp_path)]


@pytest.fixture
def shell(ares: list[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs a line of bash in which `$ARES` is the program."""
    monkeypatch.setenv("ARES", " ".join(ares))

    def run(line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["/bin/bash", "-c", line],
            capture_output=True, check=False, timeout=60, env={**os.environ, **environ},
        )  # fmt: skip

    return run


@pytest.fixture
def long_stream(server: RedisServer, tenant: str) -> None:
    """A stream whose events fill a pipe many times over."""
    keys = Keys(tenant)
    with server.admin() as client, client.pipeline(transaction=False) as pipe:
        for version in range(1, 3001):
            pipe.xadd(keys.log("s"), _fields(version), id=f"{version}-{version}")
        pipe.set(keys.head("s"), "3000-3000")
        pipe.zadd(keys.streams, {"s": 3000})
        pipe.execute()


def _fields(version: int) -> dict[str, str | int]:
    payload = json.dumps({"role": "user", "content": f"{ODD} {version}" + "x" * 80})
    return {
        "type": "message.added", "id": f"e{version}", "ts": version, "module": "",
        "payload": payload, "meta": "",
    }  # fmt: skip


@pytest.mark.usefixtures("long_stream")
@pytest.mark.parametrize("flags", ["", "--json"])
def test_a_reader_that_leaves_ends_the_command_quietly_with_141(shell: Shell, flags: str) -> None:
    done = shell(f"$ARES streams show s --limit 0 {flags} | head -1; echo ${{PIPESTATUS[0]}}")
    assert done.stderr == b""
    assert done.stdout.splitlines()[-1] == b"141"


@pytest.mark.usefixtures("long_stream")
def test_a_reader_that_never_reads_is_no_failed_command(shell: Shell) -> None:
    done = shell("$ARES streams show s --limit 0 | true; echo ${PIPESTATUS[0]}")
    assert (done.stderr, done.stdout) == (b"", b"141\n")


def test_short_output_to_a_closed_pipe_is_quiet_too(shell: Shell) -> None:
    done = shell("($ARES --help; echo $? >&2) | true")
    assert done.stderr in (b"141\n", b"0\n"), "the pipe may close before or after"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_stdout_is_said_with_its_code(shell: Shell, unbuffered: str) -> None:
    done = shell("$ARES --help > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 73
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_closed_stdout_breaks_nothing(shell: Shell) -> None:
    done = shell("$ARES --version >&-")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.usefixtures("long_stream")
@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    ],
    ids=lambda environ: str(environ),
)
def test_any_locale_shows_text_and_exact_json(shell: Shell, environ: dict[str, str]) -> None:
    text = shell("$ARES streams show s --limit 1", **environ)
    assert (text.returncode, text.stderr) == (0, b"Stopped after 1 event; --limit 0 shows all.\n")
    assert rb"\u65e5\u672c" in text.stdout

    exact = shell("$ARES streams show s --limit 1 --json", **environ)
    assert exact.stdout.isascii()
    (event,) = json.loads(exact.stdout)["events"]
    assert event["payload"]["content"].startswith(ODD)


@pytest.mark.usefixtures("long_stream")
def test_pipes_get_no_escapes_and_no_control_characters(shell: Shell) -> None:
    done = shell("$ARES streams show s --limit 5; $ARES streams list; $ARES --help")
    assert b"\x1b" not in done.stdout
    assert ODD.split()[2].encode() in done.stdout, "UTF-8 stays readable"


@pytest.mark.usefixtures("long_stream")
def test_colour_can_be_asked_for_in_a_pipe(shell: Shell) -> None:
    assert b"\x1b[36mmessage.added" in shell("$ARES streams show s --color always").stdout


def _on_a_terminal(command: list[str], **environ: str) -> bytes:
    """What `command` writes on a terminal, its stdout and stderr."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env={**os.environ, **environ}
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 65_536)
        except OSError:  # Linux says so when the last writer has gone
            break
        if not chunk:
            break
        seen += chunk
    process.wait(10)
    os.close(leader)
    return seen


@pytest.mark.usefixtures("long_stream")
def test_a_terminal_gets_colour_and_hostile_text_spelled_out(ares: list[str]) -> None:
    command = [*ares, "streams", "show", "s", "--limit", "3"]
    seen = _on_a_terminal(command, TERM="xterm", COLUMNS="100", NO_COLOR="")
    assert b"\x1b[36m" in seen
    assert b"\x1b[2J" not in seen
    assert b"\\x1b[2J" in seen


@pytest.mark.usefixtures("long_stream")
@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_without_colour_gets_no_escapes(
    ares: list[str], environ: dict[str, str]
) -> None:
    seen = _on_a_terminal([*ares, "streams", "show", "s"], **{"TERM": "xterm", **environ})
    assert b"\x1b" not in seen


@pytest.mark.usefixtures("long_stream")
def test_a_terminal_of_one_column_breaks_nothing(ares: list[str]) -> None:
    for command in (["--help"], ["streams", "list"], ["streams", "show", "s", "--limit", "1"]):
        seen = _on_a_terminal([*ares, *command], COLUMNS="1", TERM="xterm")
        assert b"Traceback" not in seen
        assert seen


@pytest.mark.usefixtures("long_stream")
def test_quiet_leaves_data_and_errors_only(shell: Shell) -> None:
    done = shell("$ARES -q streams list; $ARES -q streams show none")
    assert done.stdout.startswith(b"HEAD")
    assert done.stderr == b"ares-worker: stream 'none' does not exist\n"


def test_an_import_reports_progress_on_a_terminal_only(ares: list[str], tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"stream":"s","type":"t"}\nbad\n' * 50)
    seen = _on_a_terminal([*ares, "import", str(lines)], TERM="xterm")
    assert b"Importing" in seen
    assert b"100%" in seen
    assert b"lines.jsonl:2: is not JSON" in seen

    piped = subprocess.run([*ares, "import", str(lines)], capture_output=True, check=True)
    assert b"Importing" not in piped.stderr
    assert piped.stdout == b"Sent 50 events of 1 stream from 1 file, skipped 50 bad lines.\n"


def test_ctrl_c_is_quiet(ares: list[str], server: RedisServer) -> None:
    """Interrupted while it waits for standard input."""
    with server.admin() as client:
        known = client.client_id()
        process = subprocess.Popen(
            [*ares, "import", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        _wait_for_a_client(client, known)
    process.send_signal(2)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


def _wait_for_a_client(client: redis.Redis, known: int) -> None:
    """Until one has connected after the one with the id `known`."""

    def newer() -> bool:
        return any(int(each["id"]) > known for each in client.client_list())

    eventually_sync(newer, hint="the command did not connect")
