"""Run in a mount namespace of its own: fill a 64 KiB volume with rounds, enlarge it, go on.

Prints the reason of the refusals, how many of 20 rounds are there at the end, how many read
whole, and how many temporary files are left.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from archive import ArchiveFailure, FileArchiveReader, FileArchiveWriter, RoundRecord

volume = Path(sys.argv[1]) / "volume"
volume.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", volume], check=True)
rounds = [
    RoundRecord(n, "fix", "x" * 9_000, stream_id="s", tenant_id="t", events_digest=str(n))
    for n in range(1, 21)
]
refused = FileArchiveWriter(volume).record_many(rounds)
reasons = {result.reason for result in refused if isinstance(result, ArchiveFailure)}
subprocess.run(["mount", "-o", "remount,size=1m", volume], check=True)
FileArchiveWriter(volume).record_many(rounds)
reader = FileArchiveReader(volume)
numbers = reader.list("s")
whole = sum(reader.read("s", n).summary == "x" * 9_000 for n in numbers)
leftovers = sum(path.name.startswith(".tmp") for path in volume.rglob("*"))
sys.stdout.write(f"{' '.join(sorted(reasons))} {len(numbers)} {whole} {leftovers}\n")
