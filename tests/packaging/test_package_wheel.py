"""What an installed ares-worker consists of: the four packages, their data, nothing else."""

from __future__ import annotations

import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
PACKAGES = {"archive", "ops", "streams", "worker"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree, opened."""
    [built] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")))
    with zipfile.ZipFile(built) as opened:
        yield opened


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel):
    tops = {PurePosixPath(name).parts[0] for name in wheel.namelist()}

    [info] = tops - PACKAGES
    assert tops & PACKAGES == PACKAGES
    assert info.startswith("ares_worker-")
    assert info.endswith(".dist-info")


def test_every_source_and_data_file_of_the_packages_is_in_the_wheel(wheel):
    hidden = ("__pycache__", ".")  # caches of Python and of tools
    paths = [
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
    ]
    sources = {p.as_posix() for p in paths if not any(part.startswith(hidden) for part in p.parts)}

    assert sources - set(wheel.namelist()) == set()


def test_nothing_a_machine_left_behind_is_in_the_wheel(wheel):
    waste = ("__pycache__", ".pyc", ".orig", ".rej", "~", ".tmp", ".swp")
    assert [name for name in wheel.namelist() if any(mark in name for mark in waste)] == []


def test_the_wheel_installs_the_command_and_names_its_licence(wheel):
    [entry_points] = [n for n in wheel.namelist() if n.endswith("entry_points.txt")]
    [metadata] = [n for n in wheel.namelist() if n.endswith("METADATA")]
    headers = Parser().parsestr(wheel.read(metadata).decode())

    assert "ares-worker = worker.cli:main" in wheel.read(entry_points).decode()
    assert (headers["Name"], headers["License-Expression"]) == ("ares-worker", "Apache-2.0")
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
