"""Figure 12 of TUX2: the objective by epoch, seconds and bytes, for mini-batches of several sizes;
and BlockPG, whose plain algorithm diverges with too large a block.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.curves import Curve, Panel, format_number
from bench.slacks import SOURCE, panels_of
from bench.tux2_data import clicks_of, epoch_seconds, mean_of, ratings_of, records_of, write
from tux.arrays.edges import EdgeData
from tux.program.program import Program
from tux.program.sources import find

BLOCKS = Path(__file__).parents[1] / "docs" / "examples" / "tux2_blockpg.py"
NEAR = 1.005  # times the best of all, which counts as reached
HEAD = f"{'clocks':>7} {'s an epoch':>11} {'MB an epoch':>12}"


def row_of(program: Program, edges: EdgeData, given: argparse.Namespace) -> tuple[list[Any], str]:
    """Run a program; return its records, and the figures of its line."""
    records = records_of(program, edges, given.epochs, workers=given.workers)
    clocks = (records[-1]["clock"] - records[0]["clock"]) // max(len(records) - 1, 1)
    sent = mean_of(records, "bytes_sent") / 1e6
    return records, f"{clocks:>7} {epoch_seconds(records):>11.4f} {sent:>12.3f}"


def shown_epochs(epochs: int) -> list[int]:
    """Return the epochs whose metric is shown."""
    return sorted({1, min(3, epochs), max(1, epochs // 2), epochs})


def lines_by_size(
    sizes: dict[str, Program], edges: EdgeData, metric: str, given: argparse.Namespace
) -> dict[str, Curve]:
    """Print a line for each size; return the curves."""
    shown, figures, found = shown_epochs(given.epochs), {}, {}
    for size, program in sizes.items():
        records, figures[size] = row_of(program, edges, given)
        found[size] = Curve.of([records], metric, rises=False)
    goal = NEAR * min(float(curve.metric.min()) for curve in found.values())
    write(f"{'size':<8} {HEAD}" + "".join(f"{f'epoch {epoch}':>12}" for epoch in shown))
    write(f" {'epochs':>7}  to {format_number(goal)}\n")
    for size, curve in found.items():
        values = (format_number(curve.after(epoch)) for epoch in shown)
        reached = curve.until(goal)[0] if curve.metric.min() <= goal else "-"
        write(f"{size:<8} {figures[size]}{''.join(f'{each:>12}' for each in values)}")
        write(f" {reached:>7}\n")
    return found


def batch_sizes(given: argparse.Namespace) -> list[list[Panel]]:
    """Print the tables of both programs."""
    edges = ratings_of(given)
    write(f"MF: {len(edges):,} ratings, rank {given.rank}, {given.workers} workers, slack 0;")
    write(" mini-batches of so many users; train_rmse\n")
    late = find(f"{SOURCE}:LateFactors")
    sizes = {f"{size:,}": late.program(rank=given.rank, batch=size) for size in given.batches}
    curves = lines_by_size(sizes, edges, "train_rmse", given)
    edges = clicks_of(given)
    write(f"BlockPG as the paper has it: {len(edges):,} entries, l1 2, {given.workers} workers; ")
    write("blocks of so many features; objective\n")
    plain = find(f"{BLOCKS}:ProximalBlocks")
    blocks = {f"{size:,}": plain.program(l1=2.0, block=size) for size in given.blocks}
    lines_by_size(blocks, edges, "objective", given)
    named = {f"{size} users": curve for size, curve in curves.items()}
    return panels_of("MF, figure 12", "train_rmse", named)
