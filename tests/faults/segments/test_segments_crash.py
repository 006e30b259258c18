"""A crash at any step of a publish: on a disk that forgets what wasn't synced, and by SIGKILL."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from archive.segments import ArchiveStore, SegmentNotFound, private_dir
from faults.segments.scope import Scope, user


@dataclass
class Inode:
    """A file: its bytes, and those that are surely on the disk."""

    data: bytes = b""
    durable: bytes = b""

    def torn(self, share: float) -> bytes:
        """What is found after a crash that kept `share` of the bytes not synced."""
        rest = self.data[len(self.durable) :]
        return self.durable + rest[: int(len(rest) * share)]


@dataclass
class Disk:
    """What a directory may look like after a power cut: entries and data sync apart."""

    entries: dict[str, Inode] = field(default_factory=dict)
    unsynced: list[dict[str, Inode]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unsynced = [dict(self.entries)]

    def changed(self) -> None:
        self.unsynced.append(dict(self.entries))

    def states(self) -> Iterator[dict[str, bytes]]:
        """Every directory that a crash now may leave: each entry change, each extent of data."""
        for entries in self.unsynced:
            for torn in (
                lambda i: i.durable,
                lambda i: i.data,
                lambda i: i.data[: len(i.data) // 2],
            ):
                yield {
                    name: torn(inode) if inode.data != inode.durable else inode.data
                    for name, inode in entries.items()
                }


class SimulatedDisk:
    """Watches the system calls on one folder and keeps what a crash after each could leave."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.disk = Disk({name: Inode(data, data) for name, data in files.items()})
        self.folder = folder
        self.crashes: list[dict[str, bytes]] = []
        self.handles: dict[int, Inode | None] = {}
        for name in ("open", "write", "fsync", "rename", "unlink"):
            patch.setattr(private_dir.os, name, getattr(self, name)(getattr(os, name)))

    def step(self) -> None:
        self.crashes += [state for state in self.disk.states() if state not in self.crashes]

    def open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(name: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            handle = real(name, flags, *args, **kwargs)
            at = Path(f"/proc/self/fd/{handle}").readlink()
            self.handles[handle] = None
            if at.parent == self.folder:
                inode = self.disk.entries.get(at.name)
                if inode is None:
                    inode = self.disk.entries[at.name] = Inode()
                    self.disk.changed()
                    self.step()
                self.handles[handle] = inode
            return handle

        return call

    def write(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(handle: int, data: Any) -> int:
            count = real(handle, data)
            inode = self.handles[handle]
            assert inode is not None
            inode.data += bytes(data[:count])
            self.step()
            return count

        return call

    def fsync(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(handle: int) -> None:
            real(handle)
            inode = self.handles.get(handle)
            if inode is not None:
                inode.durable = inode.data
            elif Path(f"/proc/self/fd/{handle}").readlink() == self.folder:
                self.disk.unsynced = [dict(self.disk.entries)]
            self.step()

        return call

    def rename(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(source: str, target: str, **kwargs: Any) -> None:
            real(source, target, **kwargs)
            self.disk.entries[target] = self.disk.entries.pop(source)
            self.disk.changed()
            self.step()

        return call

    def unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(name: str, **kwargs: Any) -> None:
            real(name, **kwargs)
            self.disk.entries.pop(name, None)
            self.disk.changed()
            self.step()

        return call


def restored(scope: Scope, state: dict[str, bytes], place: Path) -> ArchiveStore:
    """The store as it would be found after the crash."""
    folder = place / "context-archives" / scope.folder.name
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, data in state.items():
        (folder / name).write_bytes(data)
    return ArchiveStore(place, "k", "c")


def texts(store: ArchiveStore) -> set[str]:
    return {one.snippet for one in store.search("", 32)}


def snippet(text: str) -> str:
    return f'{{"content":"{text}","role":"user"}}'


class TestPowerCut:
    @pytest.fixture
    def place(self) -> Iterator[Path]:
        """A folder in memory: thousands of restored states need no disk."""
        import shutil
        import tempfile

        shm = Path("/dev/shm")
        made = Path(tempfile.mkdtemp(dir=shm if shm.is_dir() else None))
        yield made / "base"
        shutil.rmtree(made)

    def test_a_seal_is_there_whole_or_not_at_all(
        self, scope: Scope, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scope.store.seal([user("before")], "")
        (scope.folder / "pending.tmp").write_bytes(b"left by a dead writer")
        with monkeypatch.context() as patch:
            watched = SimulatedDisk(scope.folder, patch)
            scope.store.seal([user("new")], "")

        seen = set()
        for state in watched.crashes:
            store = restored(scope, state, place)
            found = texts(store)
            assert snippet("before") in found
            assert found <= {snippet("before"), snippet("new")}
            seen.add(len(found))
            store.seal([user("new")], "")
            assert texts(store) == {snippet("before"), snippet("new")}
        assert seen == {1, 2}, "crashes before and after the rename were met"
        for state in watched.disk.states():
            found = texts(restored(scope, state, place))
            assert snippet("new") in found, "a seal that returned is durable"

    def test_a_forgotten_segment_is_there_whole_or_gone_for_good(
        self, scope: Scope, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ref = scope.store.seal([user("unwanted")], "note")
        scope.store.seal([user("other")], "")

        with monkeypatch.context() as patch:
            watched = SimulatedDisk(scope.folder, patch)
            scope.store.forget(ref.id)

        for state in watched.crashes:
            store = restored(scope, state, place)
            assert texts(store) - {snippet("unwanted")} == {snippet("other")}
            store.forget(ref.id)
            assert texts(store) == {snippet("other")}
        for state in watched.disk.states():
            assert not any(b"unwanted" in data for data in state.values())
            with pytest.raises(SegmentNotFound):
                restored(scope, state, place).fetch(ref.id, 0, 1)


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from archive.segments import ArchiveStore
    base, action, segment_id = sys.argv[1:]
    CALLS = ("open", "write", "fsync", "rename", "unlink", "stat", "close", "mkdir")

    def arm(last):
        done = 0
        for name in CALLS:
            def call(*args, _real=getattr(os, name), **kwargs):
                nonlocal done
                done += 1
                if done > last:
                    os.kill(os.getpid(), signal.SIGKILL)
                return _real(*args, **kwargs)
            setattr(os, name, call)

    for last in range(1000):
        child = os.fork()
        if child == 0:
            arm(last)
            store = ArchiveStore(base, "k", "c")
            if action == "seal":
                store.seal([{"role": "user", "content": "new"}], "")
            else:
                store.forget(segment_id)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(last, os.waitstatus_to_exitcode(status), flush=True)
        sys.stdin.readline()
        if status == 0:
            break
    """
)


def kill_at_every_call(
    scope: Scope, action: str, segment_id: str, check: Callable[[], None]
) -> int:
    """Run `action` again and again, killed one system call later each time; return how often."""
    command = [sys.executable, "-c", KILLED, str(scope.base), action, segment_id]
    driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert driver.stdin is not None
    assert driver.stdout is not None
    kills = 0
    while line := driver.stdout.readline():
        check()
        kills += line.split()[1] == "-9"
        driver.stdin.write("go on\n")
        driver.stdin.flush()
    driver.stdin.close()
    assert driver.wait(30) == 0
    return kills


class TestKilled:
    def test_a_seal_killed_at_any_system_call_is_whole_or_absent(self, scope: Scope) -> None:
        scope.store.seal([user("before")], "")
        seen = []

        def check() -> None:
            found = texts(scope.store)
            assert snippet("before") in found
            assert found <= {snippet("before"), snippet("new")}
            seen.append(snippet("new") in found)

        kills = kill_at_every_call(scope, "seal", "-", check)

        assert kills > 20
        assert seen[0] is False
        assert seen[-1] is True
        assert seen == sorted(seen), "once published, it stays"
        assert sorted(path.name for path in scope.folder.iterdir()) == [
            "000.json",
            "001.json",
            "lock",
        ]

    def test_a_forget_killed_at_any_system_call_leaves_a_sound_scope(self, scope: Scope) -> None:
        ref = scope.store.seal([user("unwanted")], "")
        scope.store.seal([user("other")], "")
        seen = []

        def check() -> None:
            found = texts(scope.store)
            assert found - {snippet("unwanted")} == {snippet("other")}
            seen.append(snippet("unwanted") in found)

        kills = kill_at_every_call(scope, "forget", ref.id, check)

        assert kills > 20
        assert (seen[0], seen[-1]) == (True, False)
        assert seen == sorted(seen, reverse=True), "once gone, it stays gone"
