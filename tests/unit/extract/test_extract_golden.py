"""The same events give the same bytes, in every process and for ever.

The golden file was written by `ares-worker record sessions.jsonl`. A change of extraction changes
it on purpose: write it anew and read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_records_are_the_same_bytes_for_every_hash_seed(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    made = subprocess.run(
        [sys.executable, "-m", "worker.cli", "record", str(GOLDEN / "sessions.jsonl")],
        env=environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert made.stdout == (GOLDEN / "records.jsonl").read_bytes()
