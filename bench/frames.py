"""Training on ratings in memory beside training on the same ratings from a Parquet file: seconds,
and the most memory.

usage: python -m bench.frames [--ratings N] [--kinds K,..] [--epochs E] [--repeats N] [--narrow]

Each run is a process of its own, in turns. It trains MF of rank 8 on a few ratings first, so that
functions are compiled; then it makes the table, and then it trains. Of each kind the table has:

    s          seconds of the run, data read to model made; the least of --repeats (default 3)
    load       of these, seconds until the edges were read
    of file    s, as a share of that of the file
    columns    MB of the table's three columns: 24 bytes a rating, 12 with --narrow
    peak       MB of resident memory at most, less what the process held before it made the table;
               the table itself is in it, and of the file nothing before the run
    times      peak, in columns

Ratings are drawn alike from 480,189 users and 17,770 items. Only Linux tells the peak.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.arguments import listed
from tux.apps.mf.mf import MF
from tux.runs.options import RunOptions
from tux.runs.session import run

KINDS = ("parquet", "pandas", "polars", "arrow", "numpy")
USERS, ITEMS = 480_189, 17_770
HEAD = ("kind", "s", "load", "of file", "columns", "peak", "times")
MB = 1e6


def drawn(count: int, *, narrow: bool) -> dict[str, np.ndarray]:
    """The columns of ratings."""
    rng = np.random.default_rng(7)
    whole, real = (np.int32, np.float32) if narrow else (np.int64, np.float64)
    columns = {"user": rng.integers(USERS, size=count, dtype=whole)}
    columns["item"] = rng.integers(ITEMS, size=count, dtype=whole)
    columns["rating"] = rng.integers(1, 6, size=count, dtype=np.int8).astype(real)
    return columns


def made(kind: str, columns: dict[str, np.ndarray]) -> Any:
    """The columns as a table of some library."""
    match kind:
        case "pandas":
            import pandas as pd

            return pd.DataFrame(columns, copy=False)
        case "polars":
            import polars as pl

            return pl.DataFrame(columns)
        case "arrow":
            return pa.table(columns)
    return columns


def resident(what: str) -> int:
    """Bytes of memory that this process holds (VmRSS), or has held at most (VmHWM)."""
    found = re.search(rf"^{what}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


def one(kind: str, path: str, count: int, epochs: int, *, narrow: bool) -> dict[str, float]:
    """Train in this process, and tell what it took."""
    options = RunOptions(epochs=epochs)
    run(MF(rank=8), drawn(1000, narrow=narrow), options=options)
    gc.collect()
    base = resident("VmRSS")
    data = path if kind == "parquet" else made(kind, drawn(count, narrow=narrow))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that of what follows
    start = time.perf_counter()
    result = run(MF(rank=8), data, options=options)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "load": result.setup_seconds["load"],
        "columns": count * (12 if narrow else 24),
        "peak": resident("VmHWM") - base,
    }


def in_child(kind: str, path: str, asked: argparse.Namespace) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "bench.frames", "--child", kind, "--file", path]
    command += ["--ratings", str(asked.ratings), "--epochs", str(asked.epochs)]
    command += ["--narrow"] if asked.narrow else []
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(json.loads(said.splitlines()[-1]))


def rows(found: dict[str, list[dict[str, float]]]) -> list[Sequence[str]]:
    """The table of what was measured."""
    seconds = {kind: min(each["seconds"] for each in runs) for kind, runs in found.items()}
    table: list[Sequence[str]] = [HEAD]
    for kind, runs in found.items():
        columns, peak = runs[0]["columns"], max(each["peak"] for each in runs)
        beside = f"{seconds[kind] / seconds['parquet']:.2f}" if "parquet" in seconds else ""
        load = min(each["load"] for each in runs)
        memory = [f"{columns / MB:,.0f}", f"{peak / MB:,.0f}", f"{peak / columns:.2f}"]
        table.append([kind, f"{seconds[kind]:.2f}", f"{load:.2f}", beside, *memory])
    return table


def main() -> None:
    """Measure all kinds in turns."""
    parser = argparse.ArgumentParser(prog="python -m bench.frames", usage=__doc__)
    parser.add_argument("--ratings", type=int, default=50_000_000)
    parser.add_argument("--kinds", type=listed(KINDS), default=["parquet", "pandas", "arrow"])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--file", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        told = one(asked.child, asked.file, asked.ratings, asked.epochs, narrow=asked.narrow)
        sys.stdout.write(json.dumps(told) + "\n")
        return
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in asked.kinds}
    with tempfile.TemporaryDirectory(prefix="tux-frames-") as folder:
        path = str(Path(folder, "ratings.parquet"))
        if "parquet" in asked.kinds:
            pq.write_table(pa.table(drawn(asked.ratings, narrow=asked.narrow)), path)
        for _ in range(asked.repeats):
            for kind in asked.kinds:
                found[kind].append(in_child(kind, path, asked))
    for row in rows(found):
        sys.stdout.write("  ".join(cell.rjust(9) for cell in row) + "\n")


if __name__ == "__main__":
    main()
