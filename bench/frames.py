"""Training on ratings in memory beside training on the same ratings from a Parquet file: seconds,
and the most memory.

usage: python -m bench.frames [--ratings N] [--widths W,..] [--kinds K,..] [--epochs E]
                              [--repeats N]

A width says what the columns are: wide (two of int64 and one of float64), narrow (int32 and
float32), or text (ids are strings, and ratings float32); by default wide and narrow. Each run is a
process of its own, in turns. It trains MF of rank 8 on a few ratings first, so that functions are
compiled; then it makes the table, and then it trains. Of each width and kind the table has:

    s          seconds of the run, data read to model made; the least of --repeats (default 3)
    load       of these, seconds until the edges were read
    of file    s, as a share of that of the file
    columns    MB of the table's three columns, as Arrow holds them
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

from bench.arguments import names_among
from tux.apps.mf.mf import MF
from tux.options.options import RunOptions
from tux.runs.session import run

KINDS = ("parquet", "pandas", "polars", "arrow", "numpy")
WIDTHS = ("wide", "narrow", "text")
USERS, ITEMS = 480_189, 17_770
HEAD = ("columns are", "kind", "s", "load", "of file", "columns", "peak", "times")
MB = 1e6


def draw_columns(count: int, width: str) -> dict[str, Any]:
    """Draw the columns of ratings."""
    rng = np.random.default_rng(7)
    whole, real = (np.int64, np.float64) if width == "wide" else (np.int32, np.float32)
    columns: dict[str, Any] = {}
    for name, known in (("user", USERS), ("item", ITEMS)):
        columns[name] = rng.integers(known, size=count, dtype=whole)
        if width == "text":
            words = pa.array([f"{name}{n}" for n in range(known)])
            columns[name] = words.take(pa.array(columns[name]))
    columns["rating"] = rng.integers(1, 6, size=count, dtype=np.int8).astype(real)
    return columns


def make_table(kind: str, columns: dict[str, Any]) -> Any:
    """Make a table of some library of the columns."""
    match kind:
        case "pandas":
            import pandas as pd

            if isinstance(columns["user"], pa.Array):
                return pa.table(columns).to_pandas()
            return pd.DataFrame(columns, copy=False)
        case "polars":
            import polars as pl

            return pl.from_arrow(pa.table(columns))
        case "arrow":
            return pa.table(columns)
    return columns


def resident(what: str) -> int:
    """Return the bytes of memory that this process holds (VmRSS), or has held at most (VmHWM)."""
    found = re.search(rf"^{what}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


def measure_one(width: str, kind: str, path: str, count: int, epochs: int) -> dict[str, float]:
    """Train in this process, and tell what it took."""
    options = RunOptions(epochs=epochs)
    run(MF(rank=8), draw_columns(1000, width), options=options)
    gc.collect()
    base = resident("VmRSS")
    columns = draw_columns(count, width)
    size = pa.table(columns).nbytes
    data = path if kind == "parquet" else make_table(kind, columns)
    del columns
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that of what follows
    start = time.perf_counter()
    result = run(MF(rank=8), data, options=options)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "load": result.setup_seconds["load"],
        "columns": size,
        "peak": resident("VmHWM") - base,
    }


def in_child(width: str, kind: str, path: str, asked: argparse.Namespace) -> dict[str, float]:
    """Measure one kind in a process of its own."""
    command = [sys.executable, "-m", "bench.frames", "--child", kind, "--file", path]
    command += ["--widths", width]
    command += ["--ratings", str(asked.ratings), "--epochs", str(asked.epochs)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(json.loads(said.splitlines()[-1]))


def rows(width: str, found: dict[str, list[dict[str, float]]]) -> list[Sequence[str]]:
    """Return the rows of the table for one width."""
    seconds = {kind: min(each["seconds"] for each in runs) for kind, runs in found.items()}
    table: list[Sequence[str]] = []
    for kind, runs in found.items():
        columns, peak = runs[0]["columns"], max(each["peak"] for each in runs)
        beside = f"{seconds[kind] / seconds['parquet']:.2f}" if "parquet" in seconds else ""
        load = min(each["load"] for each in runs)
        memory = [f"{columns / MB:,.0f}", f"{peak / MB:,.0f}", f"{peak / columns:.2f}"]
        table.append([width, kind, f"{seconds[kind]:.2f}", f"{load:.2f}", beside, *memory])
    return table


def main() -> None:
    """Measure all kinds in turns."""
    parser = argparse.ArgumentParser(prog="python -m bench.frames", usage=__doc__)
    parser.add_argument("--ratings", type=int, default=50_000_000)
    parser.add_argument("--kinds", type=names_among(KINDS), default=["parquet", "pandas", "arrow"])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--widths", type=names_among(WIDTHS), default=["wide", "narrow"])
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--file", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        told = measure_one(asked.widths[0], asked.child, asked.file, asked.ratings, asked.epochs)
        sys.stdout.write(json.dumps(told) + "\n")
        return
    table: list[Sequence[str]] = [HEAD]
    for width in asked.widths:
        found: dict[str, list[dict[str, float]]] = {kind: [] for kind in asked.kinds}
        with tempfile.TemporaryDirectory(prefix="tux-frames-") as folder:
            path = str(Path(folder, "ratings.parquet"))
            if "parquet" in asked.kinds:
                pq.write_table(pa.table(draw_columns(asked.ratings, width)), path)
            for _ in range(asked.repeats):
                for kind in asked.kinds:
                    found[kind].append(in_child(width, kind, path, asked))
        table += rows(width, found)
    for row in table:
        sys.stdout.write("  ".join(cell.rjust(11) for cell in row) + "\n")


if __name__ == "__main__":
    main()
