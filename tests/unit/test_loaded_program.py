"""Forks of the loaded program behave as processes that were started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.loaded_program import LoadedProgram
from support.redis_server import free_port
from support.waiting import eventually_sync
from support.worker_process import PROGRAM, Installation

BARE = {name: value for name, value in os.environ.items() if not name.startswith("ARES_")}


@pytest.fixture
def here(tmp_path: Path, loaded: LoadedProgram) -> Installation:
    """An archive, and a Redis that isn't there."""
    return Installation(f"redis://127.0.0.1:{free_port()}", tmp_path / "rounds", loaded=loaded)


@pytest.mark.parametrize("command", [["--version"], ["no-such"], ["recall", "list", "--json"]])
def test_a_fork_says_what_a_start_says_with_the_same_code(loaded: LoadedProgram, command):
    environment = {**BARE, "ARES_ARCHIVE_DIR": "/nowhere"}
    started = subprocess.run(
        [*PROGRAM, *command], env=environment, capture_output=True, text=True, check=False
    )

    forked = loaded.run(command, environment, 30)

    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode, started.stdout, started.stderr
    )  # fmt: skip


def test_each_has_an_environment_of_its_own(loaded: LoadedProgram):
    for folder in ("/nowhere/one", "/nowhere/two"):
        said = loaded.run(["recall", "list"], {**BARE, "ARES_ARCHIVE_DIR": folder}, 30)
        assert folder in said.stderr


def test_a_worker_ends_by_a_signal_and_says_which(here: Installation):
    with here.worker() as worker:
        eventually_sync(lambda: worker.get("/livez")[0] == 200)
        assert worker.process.poll() is None
        worker.freeze()
        worker.thaw()
        worker.kill()

    assert worker.process.returncode == -signal.SIGKILL


def test_a_command_that_takes_too_long_is_killed(here: Installation, loaded: LoadedProgram):
    with pytest.raises(subprocess.TimeoutExpired):
        loaded.run(["run"], here.environment, 0.5)


def test_settings_of_python_need_a_start(here: Installation, loaded: LoadedProgram):
    settings = {"PYTHONPATH": "/nowhere"}
    assert Installation(here.redis_url, here.archive, settings, loaded).program is None
    assert here.program is loaded


def test_several_at_once_do_not_mix(here: Installation, loaded: LoadedProgram, tmp_path: Path):
    outs, err = [tmp_path / f"out-{n}" for n in range(8)], tmp_path / "err"
    forks = [
        loaded.start(
            ["config", "show", "--json"], {**here.environment, "ARES_TENANTS": f"t{n}"}, out, err
        )
        for n, out in enumerate(outs)
    ]

    assert [fork.wait(30) for fork in forks] == [0] * 8
    for n, out in enumerate(outs):
        assert json.loads(out.read_text())["tenants"]["value"] == [f"t{n}"]
