"""`make bench`: every `*_bench.py` beside this file, as one table of ratios to floors.

`make bench ARGS="streams --quick"` runs the modules whose names begin so, on a tenth of the data.
A module offers `rows(bench)`, plain or async, which returns or yields `Row`s.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import os
import platform
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from bench.measure import Bench, Row

HERE = Path(__file__).parent


async def rows_of(module_name: str, bench: Bench) -> AsyncIterator[Row]:
    """The rows of one module as they come."""
    found = importlib.import_module(f"bench.{module_name}").rows(bench)
    if inspect.isasyncgen(found):
        async for row in found:
            yield row
        return
    if inspect.isawaitable(found):
        found = await found
    for row in found:
        yield row


def shown(value: float | None) -> str:
    """Three digits that matter."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def line(row: Row) -> str:
    """One row of the table."""
    target = "–"
    if row.at_least is not None:
        target = f"≥ {shown(row.at_least)}"
    elif row.at_most is not None:
        target = f"≤ {shown(row.at_most)}"
    mark = {True: "✓", False: "✗", None: " "}[row.met]
    cells = (shown(row.ours), shown(row.floor), shown(row.ratio), target)
    numbers = " ".join(f"{cell:>10}" for cell in cells)
    return f"{row.what:<56} {numbers} {mark} {row.unit:<10} {row.note}".rstrip()


async def run(names: list[str], bench: Bench) -> int:
    """Print the table; how many targets were missed."""
    heads = " ".join(f"{head:>10}" for head in ("ours", "floor", "ratio", "target"))
    print(f"{'what':<56} {heads}   unit")
    missed = 0
    for name in names:
        started = time.perf_counter()
        async for row in rows_of(name, bench):
            print(line(row), flush=True)
            missed += row.met is False
        print(f"  ({name}: {time.perf_counter() - started:.0f} s)", flush=True)
    return missed


def main() -> int:
    """Run what is asked for; 0 unless `--strict` and a target was missed."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("name", nargs="*", help="begin of the names of modules to run")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data: to try it out")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    every = sorted(path.stem for path in HERE.glob("*_bench.py"))
    names = [n for n in every if not options.name or n.startswith(tuple(options.name))]
    if not names:
        parser.error(f"no module begins so; there are {', '.join(every)}")
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, medians, ratio = ours / floor"
    )
    with tempfile.TemporaryDirectory(prefix="ares-bench-") as folder:
        bench = Bench(Path(folder), scale=0.1 if options.quick else 1.0)
        try:
            missed = asyncio.run(run(names, bench))
        finally:
            bench.close()
    print(f"{missed} targets missed" if missed else "every target met")
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
