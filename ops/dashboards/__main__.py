"""Write the dashboards beside this file: `python -m ops.dashboards [--check]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .agents import agents
from .overview import overview


def texts() -> dict[str, str]:
    """File name → content of each dashboard."""
    boards: dict[str, dict[str, Any]] = {
        "ares-worker.json": overview(),
        "ares-agents.json": agents(),
    }
    return {
        name: json.dumps(board, indent=1, ensure_ascii=False) + "\n"
        for name, board in boards.items()
    }


def main(check: bool) -> int:
    """Write what differs; with `check`, only name it. Returns the exit code."""
    folder = Path(__file__).parent
    stale = [
        (folder / name, text)
        for name, text in texts().items()
        if not (folder / name).exists() or (folder / name).read_text("utf-8") != text
    ]
    for path, text in stale:
        if not check:
            path.write_text(text, "utf-8")
        sys.stdout.write(f"{'out of date' if check else 'written'}: {path.name}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
