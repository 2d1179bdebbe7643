"""Alternating least squares beside cmfrec and implicit in one run: seconds until the objective that
ten sweeps of the other reach on MovieLens 1M, with rank 64.

usage: python -m bench.als [--data DIR] [--threads T,..] [--repeats N] [--rank K] [--sweeps S]

DIR (default $TUX_TEST_DATA) holds ratings/ml-1m. The systems take their turns in each of N rounds
(default 5), and medians are shown. cmfrec has ratings without biases, less their mean, with a
penalty a rating of .05 (`rating`) or of 5 a vertex (`plain`); implicit has confidence 1 + rating
and a penalty of .01 a vertex. Both take three steps of conjugate gradients, as they do by default.
The objective is computed from their factors in double precision, by one function for all, outside
the seconds. Ours are all of training, from the first factors on. Theirs leave preparation out:
cmfrec tells no times, so its seconds are those of a run less those of a run of one sweep, times
S / (S - 1); implicit's are those that it tells of its sweeps. Threads of BLAS are limited to those
that are compared.

`test` is the RMSE of held-out ratings after as many sweeps as theirs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.apps.als.als import ALS
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.runs.begin import load_for

TRAIN, TEST = (f"ratings/ml-1m/ml-1m.{part}.dat.gz" for part in ("train", "probe"))
MAX_SWEEP_RATIO = 4
"""How many times their sweeps we make at most."""

SETTINGS: dict[str, dict[str, Any]] = {
    "rating": {"center": True, "reg": 0.05},
    "plain": {"center": True, "plain": True, "reg": 5.0},
    "implicit": {"implicit": True, "plain": True, "reg": 0.01, "alpha": 1.0},
}


class Fit(NamedTuple):
    """A system's factors after its sweeps, and its seconds."""

    seconds: float
    users: np.ndarray
    items: np.ndarray


class TargetRun(NamedTuple):
    """A run of ours: seconds and sweeps until the target, and the test RMSE after theirs."""

    seconds: float
    sweeps: float
    test: float


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


def missing() -> list[str]:
    """List the libraries that are not installed."""
    names = []
    for name in ("cmfrec", "implicit", "scipy", "threadpoolctl"):
        try:
            __import__(name)
        except ImportError:
            names.append(name)
    return names


@contextlib.contextmanager
def limit_threads(threads: int) -> Iterator[None]:
    """Limit the threads of BLAS and OpenMP in the body, and hide output. A context."""
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(threads),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def matrix(inputs: Inputs, values: np.ndarray) -> Any:
    """Return training ratings as a sparse matrix, users by items."""
    import scipy.sparse

    edges = inputs.train
    shape = len(edges.ids["user"]), len(edges.ids["item"])
    pairs = edges.src, edges.dst
    return scipy.sparse.coo_matrix((values.astype(np.float32), pairs), shape=shape)


def by_cmfrec(
    inputs: Inputs, how: dict[str, Any], rank: int, threads: int, sweeps: int, seed: int
) -> Fit:
    """Run cmfrec."""
    import cmfrec

    ratings, took = matrix(inputs, inputs.train.fields["value"]), []
    for number in (1, sweeps):
        model = cmfrec.CMF(
            k=rank, lambda_=how["reg"], user_bias=False, item_bias=False, center=True,
            scale_lam="plain" not in how, niter=number, nthreads=threads, verbose=False,
            random_state=seed + 1, precompute_for_predictions=False,
        )  # fmt: skip
        with limit_threads(threads):
            start = time.perf_counter()
            model.fit(ratings)
            took.append(time.perf_counter() - start)
    return Fit((took[1] - took[0]) * sweeps / (sweeps - 1), model.A_, model.B_)


def by_implicit(
    inputs: Inputs, how: dict[str, Any], rank: int, threads: int, sweeps: int, seed: int
) -> Fit:
    """Run implicit."""
    from implicit.cpu.als import AlternatingLeastSquares

    confidence = matrix(inputs, 1 + how["alpha"] * inputs.train.fields["value"]).tocsr()
    took: list[float] = []
    with limit_threads(threads):
        model = AlternatingLeastSquares(
            factors=rank, regularization=how["reg"], alpha=1.0, iterations=sweeps,
            num_threads=threads, random_state=seed + 1,
        )  # fmt: skip
        model.fit(
            confidence,
            show_progress=False,
            callback=lambda sweep, seconds, loss: took.append(seconds),
        )
    return Fit(sum(took), model.user_factors, model.item_factors)


def objective(inputs: Inputs, how: dict[str, Any], fit: Fit) -> float:
    """Return the objective of factors, in double precision."""
    edges = inputs.train
    users, items = fit.users.astype(float), fit.items.astype(float)
    r, s = (
        edges.fields["value"].astype(float),
        np.einsum("ij,ij->i", users[edges.src], items[edges.dst]),
    )
    if how.get("implicit"):
        loss = (
            ((users.T @ users) * (items.T @ items)).sum()
            + ((1 + how["alpha"] * r) * (1 - s) ** 2 - s**2).sum()
        )  # fmt: skip
    else:
        loss = ((r - r.mean() - s) ** 2).sum()
    for ends, f in ((edges.src, users), (edges.dst, items)):
        n = np.ones(len(f)) if "plain" in how else np.bincount(ends, minlength=len(f))
        loss += how["reg"] * (n * (f**2).sum(1)).sum()
    return float(loss)


def rmse(inputs: Inputs, fit: Fit) -> float:
    """Return the root mean squared error of centred factors on the held-out ratings; the mean
    stands for what was never rated.
    """
    assert inputs.test is not None
    test, mean = inputs.test, float(inputs.train.fields["value"].mean())
    known = (test.src < len(fit.users)) & (test.dst < len(fit.items))
    found = np.full(len(test), mean)
    found[known] += np.einsum("ij,ij->i", fit.users[test.src[known]], fit.items[test.dst[known]])
    return float(np.sqrt(np.mean((found - test.fields["value"]) ** 2)))


def run_tux(
    inputs: Inputs,
    how: dict[str, Any],
    rank: int,
    threads: int,
    sweeps: int,
    seed: int,
    target: float,
) -> TargetRun:
    """Run tux until the target, and at least as many sweeps as theirs."""
    program = ALS(rank=rank, **how)
    graph = LocalGraph.whole(program, inputs.train, inputs.test, seed)
    reached, test = (float("inf"), float("inf")), float("nan")
    for record in Training(Worker(program, graph, seed=seed, threads=threads)).epochs(
        MAX_SWEEP_RATIO * sweeps
    ):
        if record["epoch"] == sweeps:
            test = record.get("test_rmse", test)
        if record["objective"] <= target and reached[0] == float("inf"):
            reached = record["seconds"], record["epoch"]
        if record["epoch"] >= sweeps and reached[0] < float("inf"):
            break
    return TargetRun(*reached, test)


def compare(
    inputs: Inputs, kind: str, rank: int, threads: int, repeats: int, sweeps: int
) -> dict[str, float]:
    """Print the line of a setting and a number of threads; returns its numbers."""
    how, fit = SETTINGS[kind], by_implicit if kind == "implicit" else by_cmfrec
    mine, theirs = [], []
    for seed in range(repeats):
        other = fit(inputs, how, rank, threads, sweeps, seed)
        test = float("nan") if kind == "implicit" else rmse(inputs, other)
        target = objective(inputs, how, other)
        theirs.append((other.seconds, test))
        mine.append(run_tux(inputs, how, rank, threads, sweeps, seed, target))
    seconds, needed, error = (statistics.median(column) for column in zip(*mine, strict=True))
    their_seconds, their_error = (statistics.median(c) for c in zip(*theirs, strict=True))
    name = "implicit" if kind == "implicit" else "cmfrec"
    write(
        f"{threads:>7} {kind:<9} {name:<9} {their_seconds:>7.3f} {seconds:>7.3f} {needed:>6.0f} "
        f"{their_seconds / seconds:>6.1f} {their_error:>11.4f} {error:>9.4f}\n"
    )
    return {"ours": seconds, "theirs": their_seconds, "sweeps": needed, "test": error}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TUX_TEST_DATA", "data"))
    )
    arguments.add_argument("--threads", default="1,2")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--rank", type=int, default=64)
    arguments.add_argument("--sweeps", type=int, default=10)
    given = arguments.parse_args(argv)
    if gone := missing():
        write(f"{', '.join(gone)} missing: pip install -e '.[bench]'\n")
        return
    if absent := [name for name in (TRAIN, TEST) if not (given.data / name).is_file()]:
        write(f"no {absent[0]} in {given.data}\n")
        return
    inputs, _ = load_for(ALS(), given.data / TRAIN, given.data / TEST, RunOptions(), NullWatcher())
    write(
        f"rank {given.rank}; seconds of {given.sweeps} sweeps of the peer, and of tux until its "
        f"objective; median of {given.repeats}\n{'threads':>7} {'setting':<9} {'peer':<9} "
        f"{'peer s':>7} {'tux s':>7} {'sweeps':>6} {'ratio':>6} {'test, peer':>11} {'tux':>9}\n"
    )
    for threads in given.threads.split(","):
        for kind in SETTINGS:
            compare(inputs, kind, given.rank, int(threads), given.repeats, given.sweeps)


if __name__ == "__main__":
    main()
