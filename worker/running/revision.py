"""Which commit this program was built from."""

from __future__ import annotations

from importlib import resources


def revision() -> str:
    """What the image's build left in the package, see Dockerfile; else "unknown"."""
    left = resources.files("worker") / "REVISION"
    return left.read_text("utf-8").strip() if left.is_file() else "unknown"
