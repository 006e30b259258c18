"""Importing ares-worker has no effect but the import, and costs little where it matters."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import archive
import ops
import streams
import worker

PACKAGES = (archive, ops, streams, worker)

# Runs in a fresh interpreter: watches what our own modules do while they are imported.
_WATCH = """
import importlib, json, os, sys, threading

OURS = {"archive", "ops", "streams", "worker"}
seen = []

def culprit():
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") in ("os", "collections.abc"):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame else ""

class Watched(type(os.environ)):
    def __getitem__(self, key):
        if culprit().split(".")[0] in OURS:
            seen.append(f"{culprit()} reads the environment: {key}")
        return super().__getitem__(key)

os.environ.__class__ = Watched

def audit(event, args):
    if event in ("socket.__new__", "socket.connect", "socket.bind", "subprocess.Popen"):
        seen.append(event)
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append(f"opens {args[0]} for writing")

sys.addaudithook(audit)
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
if threading.active_count() > 1:
    seen.append("a thread was started")
registry = sys.modules.get("prometheus_client.registry")
if registry and any(m.name.startswith("ares_") for m in registry.REGISTRY.collect()):
    seen.append("a metric was registered")
print(json.dumps({"effects": seen, "modules": sorted(sys.modules)}))
"""


def import_alone(*modules: str) -> dict[str, list[str]]:
    """Import `modules` in a fresh interpreter; what they did, and all modules loaded."""
    done = subprocess.run(
        [sys.executable, "-P", "-B", "-c", _WATCH, json.dumps(modules)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def modules_of(package) -> list[str]:
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [
        package.__name__, *(m.name for m in found if not m.name.endswith("__main__"))
    ]  # fmt: skip


def test_importing_every_module_has_no_effect():
    modules = [name for package in PACKAGES for name in modules_of(package)]

    assert import_alone(*modules)["effects"] == []


def test_the_watch_itself_sees_an_environment_that_is_read(tmp_path):
    """Or the test above could not fail."""
    module = tmp_path / "worker" / "peeking.py"
    module.parent.mkdir()
    (module.parent / "__init__.py").write_text("")
    module.write_text("import os, socket\nos.environ.get('HOME')\nsocket.socket().close()\n")
    watch = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{_WATCH}"

    done = subprocess.run(
        [sys.executable, "-B", "-c", watch, '["worker.peeking"]'],
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["effects"] == [
        "worker.peeking reads the environment: HOME",
        "socket.__new__",
    ]


@pytest.mark.parametrize("slow", ["redis", "pydantic", "fakeredis", "prometheus_client"])
@pytest.mark.parametrize("entry", ["streams", "archive", "ops", "worker", "worker.cli"])
def test_an_entry_point_starts_without_the_slow_libraries(entry, slow):
    assert slow not in import_alone(entry)["modules"]


@pytest.mark.parametrize("slow", ["redis", "pydantic", "asyncio"])
def test_no_module_of_the_archive_needs_redis_pydantic_or_asyncio(slow):
    assert slow not in import_alone(*modules_of(archive))["modules"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_package_is_ours_and_typed(package):
    """`ops` and `archive` are names other projects use too."""
    folder = Path(package.__file__).parent
    assert folder.parent == Path(worker.__file__).parent.parent
    assert (folder / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_a_package_offers_exists(package):
    offered = list(package.__all__)

    assert offered == sorted(set(offered), key=offered.index)
    assert [name for name in offered if not hasattr(package, name)] == []


def test_the_names_users_import_from_streams_exist():
    from streams import (  # noqa: F401
        ANY,
        DEFAULT_TENANT_ID,
        NO_STREAM,
        Direction,
        Event,
        EventFilter,
        EventStore,
        EventType,
        MemoryEventStore,
        RedisEventStore,
        StreamNotFound,
        VersionConflict,
        emit,
        new_event_id,
        stream_hash,
        verify_stream_integrity,
    )

    assert DEFAULT_TENANT_ID == "default"


def test_the_names_users_import_from_archive_exist():
    from archive import (  # noqa: F401
        FileArchiveReader,
        FileArchiveWriter,
        RoundRecord,
        build_round_record,
        extract_identifiers,
        protect_identifiers,
    )
