"""Paths of 100 L1 penalties of logistic regression beside skglm, celer and liblinear in one run:
seconds until each penalty is fitted to within 1e-6 of its optimum.

usage: python -m bench.l1_paths [--data DIR] [--sets NAME,..] [--runs N] [--peers NAME,..]

DIR (default $TUX_TEST_DATA) holds libsvm/*.gz. Penalties go from the least one at which all weights
are 0 down to a hundredth of it, their logarithms equally spaced; no intercept; one thread each.
Each solver is run at a grid of tolerances, and the fastest is shown at which its worst penalty is
within 1e-6 of the least objective that any of the runs has found there. Seconds: median of --runs
(default 5) after one that compiles; loading is not part of them, laying out for tux is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.arguments import names_among
from bench.blockpg import SETS, l1_words, train_records
from bench.machine import machine
from tux.apps.blockpg.blockpg import BlockPG
from tux.arrays.edges import EdgeData
from tux.inputs.samples import samples_to_edges
from tux.io.samples.samples import read_samples

PENALTIES, LAST_SHARE, GOAL_EXCESS = 100, 0.01, 1e-6
PASSES = 100_000
write = sys.stdout.write


class PathData(NamedTuple):
    """Samples as edges and as a matrix (samples, features), labels -1 and +1, and penalties."""

    edges: EdgeData
    x: Any
    y: np.ndarray
    penalties: np.ndarray

    @staticmethod
    def read(path: Path) -> PathData:
        """Read samples in libsvm's form."""
        from scipy.sparse import csc_matrix

        edges = samples_to_edges(read_samples(path), BlockPG())
        y = np.where(np.asarray(edges.vertex_fields["sample"]["label"]) > 0, 1.0, -1.0)
        shape = len(y), len(edges.ids["feature"])
        x = csc_matrix((edges.fields["value"].astype("f8"), (edges.src, edges.dst)), shape)
        x.sort_indices()
        largest = float(np.abs(x.T @ y).max()) / 2
        return PathData(edges, x, y, np.geomspace(largest, largest * LAST_SHARE, PENALTIES))

    def objectives(self, weights: np.ndarray) -> np.ndarray:
        """Return F at each penalty, of the weights (features, penalties)."""
        losses = np.logaddexp(0, -self.y[:, None] * (self.x @ weights)).sum(0)
        return losses + self.penalties * np.abs(weights).sum(0)


Fit = Callable[[PathData, float], np.ndarray]
"""Fit all penalties to a tolerance, and return F at each."""


def fit_tux(data: PathData, tolerance: float) -> np.ndarray:
    """Fit with tux."""
    program = BlockPG(l1=float(data.penalties[-1]), path=PENALTIES, tol=tolerance)
    last = {
        record["penalty_l1"]: record["objective"]
        for record in train_records(program, data.edges, PASSES)
    }
    return np.array([last[penalty] for penalty in sorted(last, reverse=True)])


def fit_skglm(data: PathData, tolerance: float) -> np.ndarray:
    """Fit with skglm's proximal Newton method, each penalty from the weights of the last."""
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    loss = compiled_clone(Logistic())
    loss.initialize_sparse(data.x.data, data.x.indptr, data.x.indices, data.y)
    solver = ProxNewton(tol=tolerance, warm_start=True, fit_intercept=False, max_iter=100)
    n, features = data.x.shape
    w, every = np.zeros(features), []
    for penalty in data.penalties:
        norm = compiled_clone(L1(penalty / n))
        w = solver.solve(data.x, data.y, loss, norm, w_init=w.copy(), Xw_init=data.x @ w)[0]
        every.append(w)
    return data.objectives(np.array(every).T)


def fit_celer(data: PathData, tolerance: float) -> np.ndarray:
    """Fit with celer."""
    from celer import celer_path

    _, weights, _ = celer_path(
        data.x,
        data.y,
        pb="logreg",
        alphas=data.penalties,
        tol=tolerance,
        max_iter=100,
        max_epochs=50_000,
    )
    return data.objectives(weights)


def fit_liblinear(data: PathData, tolerance: float) -> np.ndarray:
    """Fit with liblinear, each penalty from 0, as it has no other start."""
    from sklearn.linear_model import LogisticRegression

    every = []
    for penalty in data.penalties:
        model = LogisticRegression(
            solver="liblinear",
            C=1 / penalty,
            fit_intercept=False,
            tol=tolerance,
            max_iter=3000,
            **l1_words(),
        )
        every.append(model.fit(data.x, data.y).coef_[0])
    return data.objectives(np.array(every).T)


SOLVERS: dict[str, tuple[Fit, tuple[float, ...]]] = {
    "tux": (fit_tux, (3e-5, 1e-5, 5e-6, 2e-6, 1e-6, 3e-7)),
    "skglm": (fit_skglm, (1e-4, 3e-5, 1e-5, 3e-6)),
    "celer": (fit_celer, (1e-3, 3e-4, 1e-4)),
    "liblinear": (fit_liblinear, (3e-3, 1e-3, 3e-4, 1e-4, 3e-5)),
}
"""Each solver with tolerances, from the loosest."""


class SolverRuns(NamedTuple):
    """A solver at a tolerance: median seconds, and F at each penalty."""

    tolerance: float
    seconds: float
    objectives: np.ndarray


def time_solver(name: str, data: PathData, runs: int) -> list[SolverRuns]:
    """Run a solver at each of its tolerances."""
    fit, tolerances = SOLVERS[name]
    fit(data, tolerances[0])  # compiles
    found = []
    for tolerance in tolerances:
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            objectives = fit(data, tolerance)
            seconds.append(time.perf_counter() - start)
        found.append(SolverRuns(tolerance, statistics.median(seconds), objectives))
    return found


def compare(path: Path, names: Sequence[str], runs: int) -> None:
    """Print the lines of a set."""
    data = PathData.read(path)
    found = {name: time_solver(name, data, runs) for name in names}
    least = np.min([each.objectives for every in found.values() for each in every], 0)
    write(f"{path.stem}: {len(data.y):,} samples, {len(data.edges):,} entries\n")
    first = 0.0
    for name, every in found.items():
        worst = [float((each.objectives / least).max() - 1) for each in every]
        good = [k for k, excess in enumerate(worst) if excess <= GOAL_EXCESS]
        if not good:
            write(f"  {name:<10} not within {GOAL_EXCESS:g}: {min(worst):.1e}\n")
            continue
        best = min(good, key=lambda k: every[k].seconds)
        seconds = every[best].seconds
        first = first or seconds
        write(
            f"  {name:<10} {seconds:>8.2f} s  {seconds / first:>6.2f}  tolerance "
            f"{every[best].tolerance:g}, worst {worst[best]:.1e}\n"
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TUX_TEST_DATA", "data"))
    )
    arguments.add_argument("--sets", type=names_among(SETS), default=",".join(SETS))
    arguments.add_argument("--peers", type=names_among(SOLVERS), default=",".join(SOLVERS))
    arguments.add_argument("--runs", type=int, default=5)
    given = arguments.parse_args(argv)
    warnings.simplefilter("ignore")  # that a solver has not converged is seen from its objective
    write(f"{machine()}\n")
    names = [name for name in SOLVERS if name in ("tux", *given.peers)]
    for name in given.sets:
        compare(given.data / "libsvm" / f"{name}.gz", names, given.runs)


if __name__ == "__main__":
    main()
