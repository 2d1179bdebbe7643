"""Matrix factorization beside LIBMF in one run: training seconds until the RMSE of the held-out
ratings is .850 on MovieLens 1M with rank 64.

usage: python -m bench.ratings [--data DIR] [--threads T,..] [--repeats N] [--rank K]
                               [--target RMSE]

DIR (default $TUX_TEST_DATA) holds ratings/ml-1m. Both systems take their turns in each of N rounds
(default 5), and medians are shown. Each has the step and the penalty with which it reaches .850 the
soonest. RMSE is computed outside the seconds. Ours are all of training, from the first factors on.
LIBMF tells no times, so it runs once for each number of passes, and its seconds are those of a run
less those of a run with one pass: neither its preparation nor its first pass, which trains few
dimensions, is counted. LIBMF (package libmf, extra `bench`) is compiled when it is installed, and
without flags its loops are scalar. Its fastest build has those of its makefile for AVX:

    CFLAGS="-O3 -march=x86-64-v3 -DUSEAVX -DUSEOMP -fopenmp" pip install libmf

To compile ours for a processor without AVX-512, set NUMBA_CPU_NAME=x86-64-v3 and
NUMBA_CPU_FEATURES="".
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.runs.begin import load_for

TRAIN, TEST = (f"ratings/ml-1m/ml-1m.{part}.dat.gz" for part in ("train", "probe"))
MAX_PASSES = 20
"""Passes at most."""

OURS = {"reg": 0.04, "learning_rate": 0.1}
THEIRS = {"lambda_p2": 0.03, "lambda_q2": 0.03, "eta": 0.1}
FIRST = 4
"""Passes of LIBMF's shortest run that is looked at: it needs more."""


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


class TargetTimes(NamedTuple):
    """The seconds and passes until the target was reached; infinite if it was not."""

    seconds: float
    passes: float


NEVER = TargetTimes(float("inf"), float("inf"))


def run_tux(inputs: Inputs, rank: int, threads: int, seed: int, target: float) -> TargetTimes:
    """Run tux until the target."""
    program = MF(rank=rank, **OURS)
    graph = LocalGraph.whole(program, inputs.train, inputs.test, seed)
    worker = Worker(program, graph, seed=seed, threads=threads)
    for record in Training(worker).epochs(MAX_PASSES):
        if record["test_rmse"] <= target:
            return TargetTimes(record["seconds"], record["epoch"])
    return NEVER


def libmf() -> Any:
    """Import the library; None where it is not installed. It prints when it is imported."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from libmf import mf as library
    except ImportError:
        return None
    return library


def table(edges: EdgeData) -> np.ndarray:
    """Return ratings as LIBMF takes them, (m, 3) float32: user, item, value."""
    return np.column_stack([edges.src, edges.dst, edges.fields["value"]]).astype(np.float32)


def rmse(users: np.ndarray, items: np.ndarray, test: np.ndarray, mean: float) -> float:
    """Return the root mean squared error of factors (n, K) on ratings (m, 3); the mean stands for
    what was never rated.
    """
    user, item = test[:, 0].astype(np.int64), test[:, 1].astype(np.int64)
    known = (user < len(users)) & (item < len(items))
    found = np.full(len(test), mean)
    found[known] = np.einsum("ij,ij->i", users[user[known]], items[item[known]])
    error = np.where(np.isnan(found), mean, found) - test[:, 2]
    return float(np.sqrt(np.mean(error**2)))


class LibmfRuns:
    """Runs of LIBMF on the same ratings."""

    def __init__(self, library: Any, inputs: Inputs, rank: int, threads: int) -> None:
        assert inputs.test is not None
        self.library, self.rank, self.threads = library, rank, threads
        self.train, self.test = table(inputs.train), table(inputs.test)

    def run(self, passes: int) -> tuple[float, float]:
        """Run so many passes; return the seconds, and the RMSE."""
        model = self.library.MF(
            k=self.rank, nr_threads=self.threads, nr_iters=passes, quiet=True, lambda_p1=0.0,
            lambda_q1=0.0, nr_bins=20, **THEIRS,
        )  # fmt: skip
        start = time.perf_counter()
        model.fit(self.train)
        seconds = time.perf_counter() - start
        found = model.model
        users, items = (
            np.ctypeslib.as_array(at, (n, found.k))
            for at, n in ((found.P, found.m), (found.Q, found.n))
        )
        return seconds, rmse(users, items, self.test, float(self.train[:, 2].mean()))

    def until(self, target: float) -> TargetTimes:
        """Run more and more passes until the target."""
        one, _ = self.run(1)
        for passes in range(FIRST, MAX_PASSES + 1):
            seconds, error = self.run(passes)
            if error <= target:
                return TargetTimes(seconds - one, passes)
        return NEVER


def compare(
    inputs: Inputs, library: Any, rank: int, threads: int, repeats: int, target: float
) -> None:
    """Print the lines of a number of threads."""
    theirs = LibmfRuns(library, inputs, rank, threads) if library else None
    found: dict[str, list[TargetTimes]] = {"tux": []} | ({"libmf": []} if theirs else {})
    for seed in range(repeats):
        found["tux"].append(run_tux(inputs, rank, threads, seed, target))
        if theirs:
            found["libmf"].append(theirs.until(target))
    medians = {
        name: statistics.median(each.seconds for each in runs) for name, runs in found.items()
    }
    for name, runs in found.items():
        passes = statistics.median(each.passes for each in runs)
        ratio = medians["tux"] / medians[name]
        write(f"{threads:>7} {name:<6} {medians[name]:>8.3f} {passes:>7.0f} {ratio:>6.2f}\n")


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
    arguments.add_argument("--target", type=float, default=0.85)
    given = arguments.parse_args(argv)
    library = libmf()
    if library is None:
        write("libmf is missing: pip install -e '.[bench]'\n")
    if missing := [name for name in (TRAIN, TEST) if not (given.data / name).is_file()]:
        write(f"no {missing[0]} in {given.data}\n")
        return
    inputs, _ = load_for(MF(), given.data / TRAIN, given.data / TEST, RunOptions(), NullWatcher())
    write(f"RMSE {given.target} with rank {given.rank}; median of {given.repeats}; `ratio`: our ")
    write(f"seconds to theirs\n{'threads':>7} {'system':<6} {'s':>8} {'passes':>7} {'ratio':>6}\n")
    for threads in given.threads.split(","):
        compare(inputs, library, given.rank, int(threads), given.repeats, given.target)


if __name__ == "__main__":
    main()
