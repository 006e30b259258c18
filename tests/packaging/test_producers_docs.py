"""Every producer of the documentation, run as it stands there, and what is archived of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.redis_server import RedisServer
from support.worker_process import PROGRAM, Installation

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "producers.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTED_URL = "redis://127.0.0.1:6379/0"
REDIGO = Path("/usr/share/gocode/src/github.com/gomodule/redigo")

SENT = [
    ("task.created", {"task": "Fix the parser"}),
    (
        "tool.call.completed",
        {"tool_name": "pytest", "output": "12 passed in 0.4s", "exit_code": 0},
    ),
    ("task.completed", {"result": "Fixed: naïve → exact ✓"}),
]

pytestmark = pytest.mark.slow


def snippets(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def on_path(tool: str) -> str:
    """The tool; skips the test where nobody has installed it."""
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


class Desk:
    """A folder in which a documented program runs, against a Redis of its own."""

    def __init__(self, folder: Path, server: RedisServer) -> None:
        self.folder, self._server = folder, server
        tools = folder / "bin"
        tools.mkdir(parents=True)
        # Without an address `redis-cli` means the documented one; here it is another.
        _shim(tools / "redis-cli", on_path("redis-cli"), "-e", "-p", str(server.port))
        _shim(tools / "ares-worker", *PROGRAM)
        self.environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "ARES_REDIS_URL": server.url,
        }

    def write(self, name: str, code: str) -> Path:
        """A file with `code`, on this Redis."""
        file = self.folder / name
        file.write_text(code.replace(DOCUMENTED_URL, self._server.url), "utf-8")
        return file

    def run(self, *command: str, **environ: str) -> str:
        """Run a command to its end here; its exit code must be 0."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **environ},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _shim(file: Path, *command: str) -> None:
    """An executable `file` that is `command` with more arguments."""
    file.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', "utf-8")
    file.chmod(0o755)


@pytest.fixture
def server(start_server: Callable[[], RedisServer]) -> RedisServer:
    return start_server()


@pytest.fixture
def desk(tmp_path: Path, server: RedisServer) -> Desk:
    return Desk(tmp_path / "desk", server)


@pytest.fixture
def recorded(
    server: RedisServer, install: Callable[[str], Installation]
) -> Iterator[Callable[[str], list[Any]]]:
    """Events of a stream after a worker has been there; it must archive one round in all."""
    here = install(server.url)
    asked = []

    def events(stream: str) -> list[Any]:
        asked.append(stream)
        here.call("run", "--once")
        assert here.json("dead", "list") == []
        shown = here.json("streams", "show", stream)["events"]
        return [(event["type"], event["payload"]) for event in shown]

    yield events
    if asked:  # a test whose client can't be installed is skipped before
        assert len(here.rounds()) == 1


def shell(desk: Desk, code: str) -> None:
    desk.run("sh", "-e", str(desk.write("producer.sh", code)))


def python(desk: Desk, code: str) -> None:
    desk.run(sys.executable, str(desk.write("producer.py", code)))


def node(desk: Desk, code: str) -> None:
    on_path("node")
    patience = ("--fetch-retries=1", "--fetch-timeout=20000")  # ms: a machine may have no way out
    command = (on_path("npm"), "install", "--no-audit", "--no-fund", *patience, "--prefix", ".")
    try:
        subprocess.run(
            [*command, "redis@5"],
            cwd=desk.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as exc:
        pytest.skip(f"npm can't install the client: {str(exc.stderr)[-200:]}")
    desk.run("node", str(desk.write("producer.mjs", code)))


def go(desk: Desk, code: str) -> None:
    on_path("go")
    if not REDIGO.exists():
        pytest.skip("the Go client (golang-github-gomodule-redigo-dev) is not installed")
    gopath = str(REDIGO.parents[3])
    cache = str(Path.home() / ".cache" / "go-build")
    file = str(desk.write("producer.go", code))
    desk.run("go", "run", file, GO111MODULE="off", GOPATH=gopath, GOCACHE=cache)


def ruby(desk: Desk, code: str) -> None:
    has_client = subprocess.run([on_path("ruby"), "-e", "require 'redis'"], check=False)
    if has_client.returncode:
        pytest.skip("the Ruby client (ruby-redis) is not installed")
    desk.run("ruby", str(desk.write("producer.rb", code)))


@pytest.mark.parametrize(
    ("language", "run"),
    [("sh", shell), ("python", python), ("js", node), ("go", go), ("ruby", ruby)],
)
def test_a_documented_producer_is_archived_as_it_says(desk, recorded, language, run):
    run(desk, snippets(PAGE, language)[0])

    assert recorded("session-42") == SENT


def test_events_from_a_file_come_in_by_the_documented_command(desk, recorded):
    shell(desk, snippets(PAGE, "sh")[1])

    assert recorded("session-43") == [("task.completed", {"result": "from a file"})]


def test_the_page_and_the_readme_have_the_programs_this_file_runs():
    assert [len(snippets(PAGE, language)) for language in ("sh", "python", "js", "go", "ruby")] == [
        2, 1, 1, 1, 1,
    ]  # fmt: skip


def test_what_the_readme_sends_is_recorded(desk, recorded):
    [python_program] = [code for code in snippets(README, "python") if "xadd" in code]
    [commands] = [code for code in snippets(README, "sh") if "XADD" in code]

    python(desk, python_program)
    shell(desk, commands)

    assert recorded("session-42") == [
        ("tool.call.completed", {"tool_name": "bash", "output": "1 passed", "exit_code": 0}),
        ("task.created", {"task": "Fix the parser"}),
        ("task.completed", {"result": "done, all tests pass"}),
    ]


def test_what_the_readme_does_from_python_works(desk, recorded, server):
    """The store's snippet as it stands, in a function; then the archive's, on what came of it."""
    [store] = [code for code in snippets(README, "python") if "RedisEventStore" in code]
    [archive] = [code for code in snippets(README, "python") if "FileArchiveReader" in code]
    imports, _, body = store.partition("\n\n")
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    call = "import asyncio\nasyncio.run(main())\n"

    python(desk, f"{imports}\nasync def main():\n{indented}    print(len(events))\n{call}")

    assert [type_ for type_, _ in recorded("session-42")] == [
        "task.created", "task.completed", "tool.call.completed",
    ]  # fmt: skip
    folder = desk.folder.parent / "installation-0" / "rounds" / "default"
    python(desk, archive.replace("/data/rounds", str(folder)))
