"""Boosted trees beside XGBoost and LightGBM in one run: seconds, log loss and AUC on held-out
samples; bytes of a tree on several workers beside an all-reduce of histograms.

usage: python -m bench.trees [--data DIR] [--sets NAME,..] [--runs N] [--trees N] [--depth N]
[--threads N] [--workers N] [--parts peers,bytes]

DIR (default $TUX_TEST_DATA) holds libsvm/*.gz. a9a is judged on a9a.t, the other sets on every
fifth sample. All have the same settings: rate .3, l2 1, smallest sum of h 1, 255 bins, LightGBM
without its bounds on samples in a leaf, and as many leaves as the depth allows.

`peers`: training seconds, median of --runs (default 5) after one that compiles, in turns. Bins are
part of tux's seconds; XGBoost and LightGBM make theirs before. Ratios above 1: tux is faster.
`bytes`: what --workers (default 4) send in a tree, and what an all-reduce of the histograms of all
nodes in a ring would send: 2 (workers - 1) times 16 bytes for each bin of each node.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.arguments import names_among
from tux.apps.gbdt.gbdt import GBDT
from tux.arrays.edges import EdgeData
from tux.inputs.samples import samples_to_edges
from tux.io.samples.samples import read_samples

COMPARED = ("peers", "bytes")
SETS = ("a9a", "farm-ads-vect", "generated-20k-50k")
JUDGED = {"a9a": "a9a.t"}  # the others are divided
RATE, L2, LEAST_H, BINS = 0.3, 1.0, 1.0, 255
write = sys.stdout.write
Fit = Callable[[], tuple[float, np.ndarray]]
"""Training seconds, and the probabilities of held-out samples."""


class TrainTestSamples:
    """Samples to train on and to judge by, as sparse matrices and as edges; labels are 0 and 1."""

    def __init__(self, folder: Path, name: str) -> None:
        from scipy.sparse import csr_matrix

        def read(name: str, train: EdgeData | None = None) -> EdgeData:
            path, against = folder / "libsvm" / f"{name}.gz", train.ids if train else None
            classes = train.classes if train else None
            samples = read_samples(path, against=against, classes=classes)
            return samples_to_edges(samples, GBDT(), train)

        edges = read(name)
        self.width = len(edges.ids["feature"])

        def matrix(of: EdgeData, n: int) -> Any:
            known = of.dst < self.width
            at = of.fields["value"][known], (of.src[known], of.dst[known])
            return csr_matrix(at, (n, self.width), np.float32)

        n = len(edges.ids["sample"])
        y = np.asarray(edges.vertex_fields["sample"]["label"]) > 0
        if name in JUDGED:
            held = read(JUDGED[name], edges)
            every = len(held.ids["sample"])
            labels = np.asarray(held.vertex_fields["sample"]["label"]) > 0
            x = matrix(held, every)[n:]
            self.train, self.test = (matrix(edges, n), y), (x, labels[n:])
        else:
            out = np.arange(n) % 5 == 4
            x = matrix(edges, n)
            self.train, self.test = (x[~out], y[~out]), (x[out], y[out])


def ours(split: TrainTestSamples, trees: int, depth: int, threads: int) -> Fit:
    """Train with tux."""
    import tux

    (x, y), (held, _) = split.train, split.test
    program = GBDT(
        max_iter=trees,
        max_depth=depth,
        learning_rate=RATE,
        l2=L2,
        min_child_weight=LEAST_H,
        max_bins=BINS,
    )

    def fit() -> tuple[float, np.ndarray]:
        options = {"progress": False, "threads": threads, "eval_every": trees}
        found = tux.run(program, (x, np.where(y, 1, -1)), epochs=trees, **options)
        return found.history["seconds"][-1], np.asarray(found.predict(held))

    return fit


def xgboost(split: TrainTestSamples, trees: int, depth: int, threads: int) -> Fit:
    """Train with XGBoost's hist, with the first score of tux."""
    import xgboost

    (x, y), (held, _) = split.train, split.test
    data = xgboost.QuantileDMatrix(x, y, max_bin=BINS, nthread=threads)
    settings = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": depth,
        "eta": RATE,
        "lambda": L2,
        "min_child_weight": LEAST_H,
        "max_bin": BINS,
        "nthread": threads,
        "base_score": float(y.mean()),
    }

    def fit() -> tuple[float, np.ndarray]:
        start = time.perf_counter()
        booster = xgboost.train(settings, data, trees)
        seconds = time.perf_counter() - start
        return seconds, booster.predict(xgboost.DMatrix(held))

    return fit


def lightgbm(split: TrainTestSamples, trees: int, depth: int, threads: int) -> Fit:
    """Train with LightGBM."""
    import lightgbm

    (x, y), (held, _) = split.train, split.test
    shared = {"max_bin": BINS, "num_threads": threads, "verbose": -1, "feature_pre_filter": False}
    data = lightgbm.Dataset(x, y.astype(float), params=shared).construct()
    settings = {
        **shared,
        "objective": "binary",
        "max_depth": depth,
        "num_leaves": 2**depth,
        "learning_rate": RATE,
        "lambda_l2": L2,
        "min_sum_hessian_in_leaf": LEAST_H,
        "min_child_samples": 1,
    }

    def fit() -> tuple[float, np.ndarray]:
        start = time.perf_counter()
        booster = lightgbm.train(settings, data, trees)
        seconds = time.perf_counter() - start
        return seconds, np.asarray(booster.predict(held))

    return fit


def quality(y: np.ndarray, chance: np.ndarray) -> tuple[float, float]:
    """Log loss, and the area under the ROC curve."""
    from scipy.stats import rankdata

    p = np.clip(chance.astype(float), 1e-15, 1 - 1e-15)
    ranks, up = rankdata(p), int(y.sum())
    area = (ranks[y].sum() - up * (up + 1) / 2) / (up * (len(y) - up))
    return float(-np.where(y, np.log(p), np.log(1 - p)).mean()), float(area)


def peers(
    splits: dict[str, TrainTestSamples], runs: int, trees: int, depth: int, threads: int
) -> None:
    """Print seconds and quality of each."""
    write(f"{trees} trees of depth {depth}, threads: {threads}, median of {runs}\n")
    write(f"{'set':<18} {'':<9} {'seconds':>8} {'ratio':>6} {'log loss':>9} {'AUC':>8}\n")
    for name, split in splits.items():
        fits = {
            each.__name__: each(split, trees, depth, threads) for each in (ours, xgboost, lightgbm)
        }
        fits["ours"]()  # compiles
        seconds: dict[str, list[float]] = {each: [] for each in fits}
        found = {}
        for _ in range(runs):
            for each, fit in fits.items():
                took, chance = fit()
                seconds[each].append(took)
                found[each] = quality(split.test[1], chance)
        base = statistics.median(seconds["ours"])
        for each, took in seconds.items():
            middle, (loss, area) = statistics.median(took), found[each]
            label = "tux" if each == "ours" else each
            write(f"{name:<18} {label:<9} {middle:>8.3f} {middle / base:>6.2f} ")
            write(f"{loss:>9.4f} {area:>8.4f}\n")


def traffic(splits: dict[str, TrainTestSamples], depth: int, workers: int) -> None:
    """Print the bytes of a tree, the mean of three."""
    import tux

    trees, nodes = 3, 2**depth - 1
    write(f"\nbytes of a tree of depth {depth}, workers: {workers}\n")
    write(f"{'set':<18} {'tux':>13} {'all-reduce':>13} {'ratio':>7}\n")
    for name, split in splits.items():
        x, y = split.train
        program = GBDT(max_iter=trees, max_depth=depth, max_bins=BINS)
        options = {"progress": False, "workers": workers, "eval_every": trees}
        found = tux.run(program, (x, np.where(y, 1, -1)), epochs=trees, **options)
        sent = float(np.mean(found.history["bytes_sent"]))
        columns = x.tocsc()
        bins = sum(
            min(BINS, len(np.unique(columns.data[a:b])))
            for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
        )
        reduced = 2 * (workers - 1) * 16 * bins * nodes
        write(f"{name:<18} {sent:>13,.0f} {reduced:>13,} {reduced / sent:>7.1f}\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TUX_TEST_DATA", "data"))
    )
    arguments.add_argument("--sets", type=names_among(SETS), default=",".join(SETS))
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--trees", type=int, default=100)
    arguments.add_argument("--depth", type=int, default=6)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--workers", type=int, default=4)
    arguments.add_argument("--parts", type=names_among(COMPARED), default=",".join(COMPARED))
    given = arguments.parse_args(argv)
    splits = {name: TrainTestSamples(given.data, name) for name in given.sets}
    if "peers" in given.parts:
        peers(splits, given.runs, given.trees, given.depth, given.threads)
    if "bytes" in given.parts:
        traffic(splits, given.depth, given.workers)


if __name__ == "__main__":
    main()
