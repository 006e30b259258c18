"""Tries what a worker asks of the archive's volume, on files of its own that it removes."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.settings.pipeline import ArchiveSettings

from .findings import Finding, fail, gib, ok, skip, warn

_ROUNDS: Final = 5
_LITTLE_SHARE: Final = 0.10
_LITTLE_BYTES: Final = 64 << 20
_MAKE_ROOM: Final = "grow the volume, or free what isn't ares-worker's"
_IN_TIME: Final = "grow the volume, or lower archive.max_rounds in time"
_MEMORY_ONLY: Final = ("tmpfs", "ramfs")


def volume_findings(archive: ArchiveSettings) -> list[Finding]:
    """Every finding on the volume of `archive.dir`. May hang as long as the volume does."""
    directory = archive.dir
    if not directory.is_dir():
        return [_missing(directory)]
    kind = file_system(directory, Path("/proc/self/mountinfo"))
    findings = [_sentinel(archive), _kind(kind), _space(directory)]
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=directory) as folder:
            return [*findings, *_trials(Path(folder), archive, kind)]
    except PermissionError:
        todo = f"chown or chmod it for uid {os.getuid()}, or set fsGroup"
        return [*findings, fail("volume.write", f"{directory} can't be written", todo)]
    except OSError as exc:
        todo = _todo(exc, "look at the volume and its mount")
        return [*findings, fail("volume.write", _words(exc), todo)]


def _missing(directory: Path) -> Finding:
    parent = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not parent.is_dir():
        return fail("volume.dir", f"{parent} is no folder", "correct archive.dir")
    if os.access(parent, os.W_OK | os.X_OK):
        return warn("volume.dir", f"{directory} doesn't exist yet", "ares-worker run makes it")
    todo = f"make it, or give uid {os.getuid()} the right to write in {parent}"
    return fail("volume.dir", f"{directory} doesn't exist and can't be made", todo)


def _sentinel(archive: ArchiveSettings) -> Finding:
    if archive.sentinel_file is None:
        return ok("volume.dir", str(archive.dir))
    if (archive.dir / archive.sentinel_file).exists():
        return ok("volume.dir", f"{archive.dir}, with {archive.sentinel_file}")
    todo = "mount the volume; on a new one, make that file once"
    return fail("volume.dir", f"{archive.sentinel_file} is missing from {archive.dir}", todo)


def _kind(kind: str) -> Finding:
    if kind in _MEMORY_ONLY:
        return warn("volume.kind", f"{kind}: gone with the machine", "use a real volume")
    return ok("volume.kind", kind) if kind else skip("volume.kind", "not told by this system")


def file_system(directory: Path, mountinfo: Path) -> str:
    """Type of the file system that holds `directory`; empty where the system doesn't say."""
    target, best, kind = os.path.realpath(directory), "", ""
    try:
        lines = mountinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split(" ")[4].encode().decode("unicode_escape")
        inside = target == mount or target.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, after.split(" ")[0]
    return kind


def _space(directory: Path) -> Finding:
    volume = os.statvfs(directory)
    free, size = volume.f_bavail * volume.f_frsize, volume.f_blocks * volume.f_frsize
    share = free / size if size else 1.0
    found = f"{gib(free)} of {gib(size)} free ({share:.0%})"
    if volume.f_files and volume.f_favail < volume.f_files / 100:
        todo = "remove files, or make a file system with more inodes"
        return fail("volume.space", f"{volume.f_favail} inodes left", todo)
    if free < _LITTLE_BYTES:
        return fail("volume.space", found, _MAKE_ROOM)
    if share < _LITTLE_SHARE:
        return warn("volume.space", found, _IN_TIME)
    return ok("volume.space", found)


def _trials(folder: Path, archive: ArchiveSettings, kind: str) -> Iterator[Finding]:
    trials: tuple[tuple[str, Callable[[], Finding], str], ...] = (
        ("volume.fsync", lambda: _fsync(folder), "use a volume whose fsync works"),
        ("volume.modes", lambda: _modes(folder, archive), "mount it so that chmod works"),
        ("volume.links", lambda: _links(folder), "use a volume with hard links"),
        ("volume.flock", lambda: _flock(folder, kind), "mount it with locks (NFS: v4, or lockd)"),
        ("volume.clock", lambda: _clock(folder), "synchronise the clocks (NTP)"),
    )
    for check, trial, todo in trials:
        try:
            yield trial()
        except OSError as exc:
            yield fail(check, _words(exc), _todo(exc, todo))


def _fsync(folder: Path) -> Finding:
    """As a round is published: write, fsync, fsync the folder."""
    taken = []
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in range(_ROUNDS):
            started = time.perf_counter()
            with (folder / f"fsync-{number}").open("wb") as file:
                file.write(b"\0" * 4096)
                file.flush()
                os.fsync(file.fileno())
            os.fsync(parent)
            taken.append(time.perf_counter() - started)
    finally:
        os.close(parent)
    median = sorted(taken)[_ROUNDS // 2]
    found = f"write and fsync of a file and its folder: median {median * 1e3:.1f} ms"
    if median > 0.1:
        return warn("volume.fsync", found, "each round waits that long: use a faster volume")
    return ok("volume.fsync", found)


def _modes(folder: Path, archive: ArchiveSettings) -> Finding:
    path = folder / "mode"
    path.touch()
    with suppress(PermissionError):
        path.chmod(archive.file_mode)
    mode = path.stat().st_mode & 0o777
    if mode != archive.file_mode:
        found = f"files get {mode:04o} instead of {archive.file_mode:04o}"
        return warn("volume.modes", found, "set archive.file_mode to what the mount gives")
    return ok("volume.modes", f"files get {mode:04o}")


def _links(folder: Path) -> Finding:
    source, target = folder / "link-source", folder / "link-target"
    source.touch()
    try:
        target.hardlink_to(source)
    except OSError as exc:
        todo = "rename is used instead; let one worker write a stream, or change the volume"
        return warn("volume.links", f"no hard links: {_words(exc)}", todo)
    with suppress(FileExistsError):
        target.hardlink_to(source)
        return fail("volume.links", "a link replaced a file that existed", "change the volume")
    return ok("volume.links", "hard links never replace a file")


def _flock(folder: Path, kind: str) -> Finding:
    path = folder / "lock"
    with path.open("wb") as first, path.open("wb") as second:
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if kind != "fuse" and not kind.startswith("fuse."):
                return ok("volume.flock", "locks exclude each other")
            # The kernel itself grants them where the file system has none, as sshfs.
            found = "locks exclude each other on this machine; on others nobody can tell"
            return warn("volume.flock", found, "seal segments from one machine, or read its manual")
    return warn("volume.flock", "locks exclude nobody", "don't seal segments on this volume")


def _clock(folder: Path) -> Finding:
    path = folder / "clock"
    path.touch()
    apart = abs(path.stat().st_mtime - time.time())
    found = f"{apart:.1f} s apart from this machine's"
    if apart > 2:
        return warn("volume.clock", found, "synchronise the file server's clock (NTP)")
    return ok("volume.clock", found)


def _todo(exc: OSError, otherwise: str) -> str:
    """What to do about a volume that takes no writes; `otherwise` where it fails in its own way."""
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return _MAKE_ROOM
    if exc.errno == errno.EROFS:
        return "repair the file system, mount it for writing; workers go on by themselves"
    return otherwise


def _words(exc: OSError) -> str:
    return exc.strerror or type(exc).__name__
