"""An embedded server ends with its process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from streams.embedded.server import find_server
from streams.embedded.start import start_embedded
from support.waiting import eventually_sync

_OWNER = """
import sys
from pathlib import Path
from streams.embedded.start import start_embedded
running = start_embedded(Path(sys.argv[1]))
print(running.url, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path: Path) -> subprocess.Popen[str]:
    if find_server() is None:
        pytest.skip("no redis-server")
    return subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def _address(owner: subprocess.Popen[str]) -> str:
    assert owner.stdout is not None
    return owner.stdout.readline().strip()


def _is_gone(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as client:
            client.ping()
    except redis.ConnectionError:
        return True
    return False


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_with_a_killed_process_and_its_data_stays(
    owner: subprocess.Popen[str], tmp_path: Path, end: signal.Signals
) -> None:
    url = _address(owner)
    with redis.Redis.from_url(url) as client:
        client.set("kept", "1")

    owner.send_signal(end)
    owner.communicate()

    eventually_sync(lambda: _is_gone(url), hint="the server outlived its process")
    with start_embedded(tmp_path) as again, redis.Redis.from_url(again.url) as client:
        assert again.owner
        assert client.get("kept") == b"1"


def test_ctrl_c_in_the_terminal_reaches_the_process_and_not_its_server(
    owner: subprocess.Popen[str],
) -> None:
    """The worker still needs its Redis to drain."""
    url = _address(owner)
    os.kill(owner.pid, signal.SIGSTOP)  # the process can't end it; only the group signal could
    os.killpg(owner.pid, signal.SIGINT)
    try:
        with redis.Redis.from_url(url) as client:
            assert client.ping()
    finally:
        os.kill(owner.pid, signal.SIGKILL)
        owner.communicate()
    eventually_sync(lambda: _is_gone(url))


def test_a_start_right_after_a_kill_never_takes_the_dying_server(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    dying = _address(owner)
    owner.kill()
    owner.communicate()
    with start_embedded(tmp_path) as fresh, redis.Redis.from_url(fresh.url) as client:
        assert fresh.owner
        assert fresh.url != dying or client.info("server")["uptime_in_seconds"] == 0
        assert client.set("x", "1")
