"""Finds out whether a volume can take rounds: by doing, in small, what a publication does."""

from __future__ import annotations

import os
from dataclasses import dataclass

from archive.failures import ArchiveFailure, ArchiveMissing, FailureReason, UnsafePath
from streams.errors import AresError

from .disk import Disk, Modes, Space
from .files import Folder
from .layout import TEMP_PREFIX
from .volume import Volume


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """What a probe found.

    `reason` and `detail` say why the volume can't take rounds; None and empty when it can.
    Without `hard_links` a round is renamed into place, which is safe with one writer a stream.
    `space` is None where it could not be measured.
    """

    reason: FailureReason | None
    detail: str
    hard_links: bool
    space: Space | None

    @property
    def usable(self) -> bool:
        """Whether rounds can be published."""
        return self.reason is None


def probe(
    directory: str | os.PathLike[str],
    *,
    sentinel: str = "",
    disk: Disk | None = None,
    modes: Modes | None = None,
) -> VolumeFacts:
    """Write, fsync, link and remove a small file at the top of the archive.

    `sentinel` names a file that only the real volume holds: where it is missing, the directory
    is taken for an empty mount point, and neither it nor anything in it is created.
    """
    volume = Volume(directory, disk=disk, modes=modes)
    space = None
    try:
        with volume.root() if sentinel else volume.make_root() as top:
            space = top.space()
            if sentinel and top.file_facts(sentinel) is None:
                return _unmounted(volume.path, sentinel, space)
            return VolumeFacts(None, "", hard_links=_exercise(top), space=space)
    except (ArchiveFailure, UnsafePath) as exc:
        return VolumeFacts(exc.reason, str(exc), hard_links=False, space=space)
    except ArchiveMissing:
        return _unmounted(volume.path, sentinel, None)
    except AresError as exc:
        return VolumeFacts("io", str(exc), hard_links=False, space=space)


def _unmounted(path: str, sentinel: str, space: Space | None) -> VolumeFacts:
    detail = f"{path}/{sentinel} is missing: is the volume mounted?"
    return VolumeFacts("io", detail, hard_links=False, space=space)


def _exercise(top: Folder) -> bool:
    """Publish and remove a file; whether hard links could be used for it."""
    staged = top.stage(b"{}\n")
    name = f"{TEMP_PREFIX}probe-{staged.name.removeprefix(TEMP_PREFIX)}"
    try:
        linked = top.can_link(staged, name)
    finally:
        top.discard(staged.name)
    top.remove(name)
    top.sync()
    return linked
