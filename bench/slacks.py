"""Figures 10 and 11 of TUX2: the objective by epoch and by time at several slacks, on workers of
which each is late now and then.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.curves import Curve, Panel, above_best, lines_of
from bench.tux2_data import clicks_of, ratings_of, records_of, write
from tux.arrays.edges import EdgeData
from tux.program.sources import find

SOURCE = Path(__file__).with_name("late.py")


def curves_by_slack(
    name: str, edges: EdgeData, metric: str, given: argparse.Namespace, **parameters: Any
) -> dict[str, Curve]:
    """Return the curve of a program of bench/late.py at each slack; they take turns."""
    program = find(f"{SOURCE}:{name}").program(**parameters, length=given.late)
    runs: dict[int, list[Any]] = {slack: [] for slack in given.slacks}
    for _ in range(given.runs):
        for slack, every in runs.items():
            how = {"workers": given.workers, "slack": slack}
            every.append(records_of(program, edges, given.epochs, **how))
    return {f"{slack}": Curve.of(every, metric, rises=False) for slack, every in runs.items()}


def panels_of(title: str, metric: str, curves: Mapping[str, Curve]) -> list[list[Panel]]:
    """Return the panels by epoch and by time of how far curves are above the best."""
    above, label = above_best(curves), f"{metric} / best - 1"
    return [[Panel(title, by, label, above, log=True) for by in ("epoch", "seconds")]]


def name_slacks(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return the curves by the names that a legend shows."""
    return {f"slack {slack}": curve for slack, curve in curves.items()}


def late_words(given: argparse.Namespace) -> str:
    """Return how the workers are late."""
    return (
        f"{given.workers} workers, each late by {1e3 * given.late:g} ms in one of eight "
        f"mini-batches; {given.epochs} epochs"
    )


def factors(given: argparse.Namespace) -> list[list[Panel]]:
    """Print the table of matrix factorization."""
    edges = ratings_of(given)
    write(f"{len(edges):,} ratings, rank {given.rank}, mini-batches of {given.batch:,} users;\n")
    write(f"{late_words(given)}\n")
    sizes = {"rank": given.rank, "batch": given.batch}
    found = curves_by_slack("LateFactors", edges, "train_rmse", given, **sizes)
    write(lines_of(found, "slack"))
    return panels_of("MF, figure 10", "train_rmse", name_slacks(found))


def blocks(given: argparse.Namespace) -> list[list[Panel]]:
    """Print the table of sparse logistic regression."""
    edges = clicks_of(given)
    write(f"{len(edges):,} entries, l1 2, 64 blocks of features;\n{late_words(given)}\n")
    found = curves_by_slack("LateBlockPG", edges, "objective", given, l1=2.0, tol=0.0)
    write(lines_of(found, "slack"))
    return panels_of("BlockPG, figure 11", "objective", name_slacks(found))
