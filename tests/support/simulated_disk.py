"""A disk that forgets what wasn't fsynced, and one that fails on demand.

`SimulatedDisk` keeps two versions of everything: what a running system sees, and what survives
power loss. Names in a folder and bytes in a file become durable by `sync` alone, each change
for itself: an adversary's file system, weaker than any real one.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from archive.storage.disk import FileFacts, Space
from archive.storage.os_disk import OsDisk

ROOT = "/archive"

Hook = Callable[[str, tuple[Any, ...]], None]


class SimulatedCrash(BaseException):
    """The machine is gone: no code of ours may catch this."""


def os_error(number: int) -> OSError:
    """The error the system raises for `number`."""
    return OSError(number, os.strerror(number))


@dataclass
class _Node:
    kind: str
    mode: int
    inode: int
    data: bytes = b""
    durable: bytes = b""
    entries: dict[str, int] = field(default_factory=dict)
    durable_entries: dict[str, int] = field(default_factory=dict)
    mtime_ns: int = 0


@dataclass
class _Handle:
    node: _Node
    offset: int = 0


class SimulatedDisk:
    """One volume at `/archive`, its root folder there from the start.

    `before` and `after` are called around every operation with its name and arguments, and may
    raise: an `OSError` fails it (after: the reply is lost, the effect stays), a
    `SimulatedCrash` ends everything until `restart`.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, _Node] = {1: _Node("folder", 0o750, 1)}
        self._handles: dict[int, _Handle] = {}
        self._next = 2
        self._clock = 1_000_000_000
        self._lock = threading.RLock()
        self._dead = False
        self.operations = 0
        self.capacity: int | None = None
        self.before: Hook = lambda name, args: None
        self.after: Hook = lambda name, args: None

    def restart(self, keep: Callable[[], bool]) -> None:
        """Power on again. Every change that wasn't synced is kept or lost as `keep` says."""
        for node in self._nodes.values():
            if node.kind == "folder":
                for name in set(node.entries) | set(node.durable_entries):
                    if node.entries.get(name) != node.durable_entries.get(name) and keep():
                        _copy_entry(node.entries, node.durable_entries, name)
                node.entries = dict(node.durable_entries)
            elif node.data != node.durable:
                # Lost, kept, or torn: half of what was written.
                node.data = (
                    node.data if keep() else node.durable or node.data[: len(node.data) // 2]
                )
                node.durable = node.data
        self._handles.clear()
        self._dead = False
        self.before = self.after = lambda name, args: None

    def tree(self) -> dict[str, bytes]:
        """Every file a running system sees, by path below the root."""
        found: dict[str, bytes] = {}

        def walk(node: _Node, path: str) -> None:
            for name, inode in node.entries.items():
                child = self._nodes[inode]
                if child.kind == "folder":
                    walk(child, f"{path}{name}/")
                else:
                    found[f"{path}{name}"] = child.data

        walk(self._nodes[1], "")
        return found

    def _call(self, name: str, *args: Any) -> Any:
        with self._lock:
            if self._dead:
                raise SimulatedCrash
            try:
                self.before(name, args)
                self.operations += 1
                result = getattr(self, f"_{name}")(*args)
                self.after(name, args)
            except SimulatedCrash:
                self._dead = True
                raise
            return result

    def _new(self, kind: str, mode: int) -> _Node:
        node = _Node(kind, mode, self._next)
        self._nodes[node.inode] = node
        self._next += 1
        return node

    def _open(self, node: _Node) -> int:
        handle = self._next
        self._next += 1
        self._handles[handle] = _Handle(node)
        return handle

    def _folder(self, handle: int) -> _Node:
        return self._handles[handle].node

    def _find(self, name: str, at: int) -> _Node:
        inode = self._folder(at).entries.get(name)
        if inode is None:
            raise os_error(errno.ENOENT)
        return self._nodes[inode]

    def _tick(self) -> int:
        self._clock += 1_000_000
        return self._clock

    def _open_root(self, path: str) -> int:
        assert path == ROOT
        return self._open(self._nodes[1])

    def _make_root(self, path: str, mode: int) -> None:
        raise os_error(errno.EEXIST)

    def _open_folder(self, name: str, at: int) -> int:
        node = self._find(name, at)
        if node.kind != "folder":
            raise os_error(errno.ENOTDIR)
        return self._open(node)

    def _make_folder(self, name: str, mode: int, at: int) -> None:
        self._add(name, at, self._new("folder", mode))

    def _add(self, name: str, at: int, node: _Node) -> None:
        folder = self._folder(at)
        if name in folder.entries:
            raise os_error(errno.EEXIST)
        folder.entries[name] = node.inode
        folder.mtime_ns = self._tick()

    def _create(self, name: str, mode: int, at: int) -> int:
        node = self._new("file", mode)
        node.mtime_ns = self._tick()
        self._add(name, at, node)
        return self._open(node)

    def _open_file(self, name: str, at: int) -> int:
        return self._open(self._find(name, at))

    def _read(self, handle: int, size: int) -> bytes:
        opened = self._handles[handle]
        page = opened.node.data[opened.offset : opened.offset + size]
        opened.offset += len(page)
        return page

    def _write(self, handle: int, data: bytes) -> int:
        node = self._handles[handle].node
        part = bytes(data[: max(1, len(data) // 2)])  # short writes are legal, so we make them
        if self.capacity is not None:
            used = sum(len(n.data) for n in self._nodes.values())
            part = part[: max(0, self.capacity - used)]
            if not part:
                raise os_error(errno.ENOSPC)
        node.data += part
        node.mtime_ns = self._tick()
        return len(part)

    def _set_mode(self, handle: int, mode: int) -> None:
        self._handles[handle].node.mode = mode

    def _sync(self, handle: int) -> None:
        node = self._handles[handle].node
        node.durable = node.data
        node.durable_entries = dict(node.entries)

    def _close(self, handle: int) -> None:
        del self._handles[handle]

    def _link(self, source: str, target: str, at: int) -> None:
        self._add(target, at, self._find(source, at))

    def _rename(self, source: str, target: str, at: int) -> None:
        folder = self._folder(at)
        folder.entries[target] = self._find(source, at).inode
        del folder.entries[source]
        folder.mtime_ns = self._tick()

    def _unlink(self, name: str, at: int) -> None:
        self._find(name, at)
        del self._folder(at).entries[name]
        self._folder(at).mtime_ns = self._tick()

    def _names(self, handle: int) -> list[str]:
        return list(self._folder(handle).entries)

    def _kinds(self, handle: int) -> dict[str, str]:
        return {n: self._nodes[i].kind for n, i in self._folder(handle).entries.items()}

    def _facts(self, name: str, at: int) -> FileFacts:
        return self._describe(self._find(name, at))

    def _handle_facts(self, handle: int) -> FileFacts:
        return self._describe(self._handles[handle].node)

    def _describe(self, node: _Node) -> FileFacts:
        kind = stat.S_IFDIR if node.kind == "folder" else stat.S_IFREG
        return FileFacts(1, node.inode, kind | node.mode, len(node.data), node.mtime_ns)

    def _space(self, handle: int) -> Space:
        return Space(1 << 30, 1 << 31)


def _copy_entry(source: dict[str, int], target: dict[str, int], name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


OPERATIONS = [name for name in vars(OsDisk) if not name.startswith("_")]


def _forward(name: str) -> Callable[..., Any]:
    def call(self: SimulatedDisk, *args: Any) -> Any:
        return self._call(name, *args)

    return call


for _name in OPERATIONS:
    setattr(SimulatedDisk, _name, _forward(_name))


class FaultyDisk:
    """The real disk, with a hook before each operation that may raise `OSError`."""

    def __init__(self, before: Hook) -> None:
        self.before = before
        self._real = OsDisk()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        real = getattr(self._real, name)

        def call(*args: Any) -> Any:
            self.before(name, args)
            return real(*args)

        return call


def failing(operation: str, number: int, *, times: int | None = None, match: str = "") -> Hook:
    """A hook that fails `operation` with error `number`, `times` times or always.

    `match`: only where an argument contains it.
    """
    left = [times]

    def hook(name: str, args: tuple[Any, ...]) -> None:
        if name != operation or (match and not any(match in str(arg) for arg in args)):
            return
        if left[0] is not None:
            if left[0] == 0:
                return
            left[0] -= 1
        raise os_error(number)

    return hook
