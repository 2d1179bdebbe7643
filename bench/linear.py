"""Linear models beside scikit-learn's solvers in one run: distance to the optimum, seconds to it,
workers, and many features.

usage: python -m bench.linear [--data DIR] [--sets NAME,..] [--runs N] [--samples N] [--features N]
[--entries N] [--epochs N] [--parts peers,optima,workers,large,spark]

DIR (default $TUX_TEST_DATA) holds libsvm/*.gz. The objective is that of the logistic loss with an
l2 of 1, without an intercept.

`peers`: training seconds on one thread, median of --runs (default 5) after one that compiles, of
L-BFGS and Newton's method beside scikit-learn's lbfgs and liblinear (-s 0, through scikit-learn) at
a grid of tolerances, of which the fastest that reaches the goal is shown; and seconds of an epoch
of adam beside one of SGDClassifier. `optima`: how far from the optimum each solver ends. `workers`:
L-BFGS on 1, 2 and 4 workers at slack 0 and 4, to a tol of 1e-8. `large`: seconds, bytes and memory
of an epoch of adam on generated samples (default 1 million of 30 entries, 10 million features).
`spark`, only if it is named: L-BFGS with two threads beside MLlib's LogisticRegression on local[2],
once Spark has warmed up; it needs pyspark and Java.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench import mllib
from bench.arguments import names_among
from bench.memory import Memory
from tux.apps.linear.linear import Linear
from tux.arrays.edges import EdgeData
from tux.inputs.samples import samples_to_edges
from tux.io.samples.samples import read_samples
from tux.options.options import RunOptions
from tux.runs.session import run
from tux.synthetic.clicks import clicks

COMPARED = ("peers", "optima", "workers", "large")
SPARK = "spark"
SETS = ("a9a", "farm-ads-vect", "generated-20k-50k")
GOALS = (1e-2, 1e-3, 1e-4, 1e-6)
TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)
MLLIB_TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
EXACT = ("lbfgs", "newton")
STOCHASTIC = ("adam", "adagrad", "rmsprop", "sgd")
NEVER = 100_000  # epochs between evaluations: only the last one is judged
write = sys.stdout.write
Records = list[dict[str, Any]]


def train_records(edges: EdgeData, epochs: int = 500, every: int = 1, **given: Any) -> Records:
    """Train, and return the records; `given` are options of the run and parameters."""
    options = {name: given.pop(name) for name in ("workers", "slack", "threads") if name in given}
    return run(
        Linear(**given),
        edges,
        options=RunOptions(epochs=epochs, eval_every=every, deadline=3600.0, **options),
    ).records


def time_to_goal(records: Records, goal: float) -> float:
    """Return the training seconds until the objective is at most `goal`; infinite if it never
    is.
    """
    return next((r["seconds"] for r in records if r["objective"] <= goal), float("inf"))


def time_fit(model: Any, x: Any, y: np.ndarray) -> float:
    """Return the seconds of `fit` on one thread."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged is seen from the objective
        start = time.perf_counter()
        model.fit(x, y)
    return time.perf_counter() - start


def peer(solver: str, x: Any, y: np.ndarray, best: float, runs: int) -> list[float]:
    """Return the seconds to each goal of scikit-learn's LogisticRegression."""
    from sklearn.linear_model import LogisticRegression

    found = []
    for tolerance in TOLERANCES:
        model = LogisticRegression(
            solver=solver, C=1, fit_intercept=False, tol=tolerance, max_iter=3000
        )
        seconds = statistics.median(time_fit(model, x, y) for _ in range(runs))
        w = model.coef_[0]
        found.append((seconds, float(np.logaddexp(0, -y * (x @ w)).sum() + w @ w / 2)))
    return [
        min((s for s, F in found if best * (1 + goal) >= F), default=float("inf")) for goal in GOALS
    ]


def our_seconds(edges: EdgeData, solver: str, best: float, runs: int) -> list[float]:
    """Return the seconds to each goal of a solver of tux, on one thread."""
    every = [train_records(edges, tol=1e-7, threads=1, solver=solver) for _ in range(runs + 1)]
    times = [[time_to_goal(r, best * (1 + goal)) for r in every[1:]] for goal in GOALS]
    return [statistics.median(seconds) for seconds in times]


def peers(folder: Path, names: Sequence[str], runs: int) -> None:
    """Print seconds of tux and of scikit-learn."""
    from sklearn.linear_model import SGDClassifier

    write(f"seconds to within a share of the optimum, one thread, median of {runs}\n")
    write(f"{'':<18} {'':<12}" + "".join(f"{goal:>9.0e}" for goal in GOALS) + "\n")
    epochs = []
    for name in names:
        samples = read_samples(folder / "libsvm" / f"{name}.gz")
        edges, x, y = (
            samples_to_edges(samples, Linear()),
            mllib.matrix(samples.edges),
            samples.label,
        )
        best = train_records(edges, tol=1e-9, threads=1)[-1]["objective"]
        ours = {solver: our_seconds(edges, solver, best, runs) for solver in EXACT}
        rows = {f"tux, {solver}": seconds for solver, seconds in ours.items()}
        rows |= {solver: peer(solver, x, y, best, runs) for solver in ("lbfgs", "liblinear")}
        for label, seconds in rows.items():
            write(f"{name:<18} {label:<12}" + "".join(f"{s:>9.4f}" for s in seconds))
            ratios = [o / s for o, s in zip(ours["newton"], seconds, strict=True)]
            write("  newton / it " + " ".join(f"{ratio:.2f}" for ratio in ratios) + "\n")
        sgd = SGDClassifier(
            loss="log_loss", alpha=1 / len(y), fit_intercept=False, max_iter=20, tol=None
        )
        theirs = statistics.median(time_fit(sgd, x, y) for _ in range(runs)) / 20
        train_records(edges, 2, NEVER, solver="adam", threads=1)
        adams = [train_records(edges, 21, NEVER, solver="adam", threads=1) for _ in range(runs)]
        mine = statistics.median((r[-1]["seconds"] - r[0]["seconds"]) / 20 for r in adams)
        epochs.append(
            f"{name:<18} {1e3 * mine:>9.2f} {1e3 * theirs:>14.2f} {mine / theirs:>9.2f}\n"
        )
    write(f"\n{'ms of an epoch':<18} {'adam':>9} {'SGDClassifier':>14} {'ratio':>9}\n")
    write("".join(epochs))


def spark(folder: Path, names: Sequence[str], runs: int) -> None:
    """Print seconds of tux and of MLlib."""
    if why := mllib.missing():
        write(f"{why}\n")
        return
    write(f"\nseconds to within a share of the optimum, two threads, median of {runs}\n")
    write(f"{'':<18} {'':<10}" + "".join(f"{goal:>9.0e}" for goal in GOALS) + "\n")
    with mllib.session() as peer:
        for name in names:
            samples = read_samples(folder / "libsvm" / f"{name}.gz")
            edges, n = samples_to_edges(samples, Linear()), len(samples.label)
            best = train_records(edges, tol=1e-9)[-1]["objective"]
            every = [train_records(edges, tol=1e-7, threads=mllib.CORES) for _ in range(runs)]
            goals = [best * (1 + goal) for goal in GOALS]
            ours = [statistics.median(time_to_goal(r, goal) for r in every) for goal in goals]
            frame, found = peer.to_frame(mllib.matrix(samples.edges), samples.label), []
            for tolerance in MLLIB_TOLERANCES:
                fits = [peer.fit(frame, "logistic", 1 / n, tolerance, 1000) for _ in range(runs)]
                found.append((statistics.median(fit.seconds for fit in fits), fits[0].objective))
            frame.unpersist()
            theirs = [min((s for s, F in found if F <= goal), default=math.inf) for goal in goals]
            for label, seconds in {"tux": ours, "MLlib": theirs}.items():
                told = "".join(f"{s:>9.4f}" for s in seconds)
                write(f"{name:<18} {label:<10}{told}\n")


def optima(folder: Path, names: Sequence[str], epochs: int) -> None:
    """Print how far above the optimum each solver ends."""
    write(f"\nshare above the optimum; stochastic solvers after {epochs} epochs\n")
    write(f"{'':<18}" + "".join(f"{s:>10}" for s in ("lbfgs", *STOCHASTIC)) + "\n")
    for name in names:
        samples = read_samples(folder / "libsvm" / f"{name}.gz")
        edges = samples_to_edges(samples, Linear())
        best = train_records(edges, 2000, tol=1e-9)[-1]["objective"]
        found = [train_records(edges)[-1]["objective"]]
        for solver in STOCHASTIC:
            found.append(train_records(edges, epochs, NEVER, solver=solver)[-1]["objective"])
        write(f"{name:<18}" + "".join(f"{F / best - 1:>10.1e}" for F in found) + "\n")


def workers(folder: Path, names: Sequence[str]) -> None:
    """Print what several workers find."""
    write("\nL-BFGS: share by which the objective differs from one worker's, and epochs\n")
    write(f"{'':<18} {'workers':>7} {'slack':>6} {'differs':>10} {'epochs':>7} {'seconds':>8}\n")
    for name in names:
        edges = samples_to_edges(read_samples(folder / "libsvm" / f"{name}.gz"), Linear())
        one = train_records(edges, threads=1, tol=1e-8)
        for k, slack in ((1, 0), (2, 0), (4, 0), (4, 4)):
            given = {"threads": 1, "workers": k, "slack": slack, "tol": 1e-8}
            records = one if k == 1 else train_records(edges, **given)
            last = records[-1]
            differs = abs(last["objective"] / one[-1]["objective"] - 1)
            write(f"{name:<18} {k:>7} {slack:>6} {differs:>10.1e} {len(records):>7}")
            write(f" {last['seconds']:>8.2f}\n")


def large(samples: int, features: int, entries: int, epochs: int) -> None:
    """Print what an epoch of adam costs on 1 and 2 workers and threads."""
    per = max(1, entries // samples)
    edges = samples_to_edges(
        clicks(samples, features, per, max(10, features // 1000)).split()[0], Linear()
    )
    write(f"\nadam, {samples:,} samples, {features:,} features, {len(edges):,} entries\n")
    write(
        f"{'workers':>7} {'threads':>7} {'s an epoch':>11} {'M entries/s':>12} {'MB sent':>8} "
        f"{'MB held':>8} {'objective':>12}\n"
    )
    seconds = {}
    for k, threads in ((1, 1), (1, 2), (2, 1)):
        with Memory() as memory:
            records = train_records(edges, epochs, NEVER, solver="adam", workers=k, threads=threads)
        ends = [r["seconds"] for r in records]
        each = statistics.median(np.diff(ends)) if len(ends) > 1 else ends[0]
        seconds[k, threads] = each
        last, sent = records[-1], records[-1]["bytes_sent"]
        write(
            f"{k:>7} {threads:>7} {each:>11.2f} {len(edges) / each / 1e6:>12.1f} "
            f"{sent / 1e6:>8.1f} {memory.most / 1e6:>8.0f} {last['objective']:>12.1f}\n"
        )
    write(f"two workers beside one: {seconds[1, 1] / seconds[2, 1]:.2f} times as fast\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Callable[..., Any] = arguments.add_argument
    add("--data", type=Path, default=Path(os.environ.get("TUX_TEST_DATA", "data")))
    add("--sets", type=names_among(SETS), default=",".join(SETS))
    add("--runs", type=int, default=5)
    add("--samples", type=int, default=1_000_000)
    add("--features", type=int, default=10_000_000)
    add("--entries", type=int, default=30_000_000)
    add("--epochs", type=int, default=300)
    add("--parts", type=names_among((*COMPARED, SPARK)), default=",".join(COMPARED))
    given = arguments.parse_args(argv)
    sets = given.sets if isinstance(given.sets, list) else given.sets.split(",")
    if "peers" in given.parts:
        peers(given.data, sets, given.runs)
    if "optima" in given.parts:
        optima(given.data, sets, given.epochs)
    if "workers" in given.parts:
        workers(given.data, sets)
    if "large" in given.parts:
        large(given.samples, given.features, given.entries, min(given.epochs, 4))
    if SPARK in given.parts:
        spark(given.data, sets, given.runs)


if __name__ == "__main__":
    main()
