"""BlockPG beside scikit-learn's liblinear in one run: seconds to within a share of the optimum; two
workers beside one; slack.

usage: python -m bench.blockpg [--data DIR] [--sets NAME,..] [--runs N] [--entries N] [--passes N]
[--parts peers,workers,slack]

DIR (default $TUX_TEST_DATA) holds libsvm/*.gz. `peers`: training seconds on one worker, median of N
runs (default 5) after one that compiles, the objective being that of each pass; liblinear
(scikit-learn, L1, no intercept; the seconds of fit alone, least of three) at a grid of tolerances,
of which the fastest that reaches the goal is shown: one thread each. `workers`: generated clicks of
--entries (default 5 million; 50 million take 3 GB), 64 blocks. `slack`: four workers, each of which
is late in one of eight blocks.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.arguments import names_among
from tux.apps.blockpg.blockpg import BlockPG
from tux.arrays.edges import EdgeData
from tux.inputs.samples import samples_to_edges
from tux.io.samples.samples import SampleData, read_samples
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run
from tux.synthetic.clicks import clicks

COMPARED = ("peers", "workers", "slack")

SETS = {
    "generated-20k-50k": (2.0, 11169.26448),
    "a9a": (1.0, 10558.7234),
    "farm-ads-vect": (1.0, 630.22512),
}
GOALS = (1e-2, 1e-3, 1e-4, 1e-6)
TOLERANCES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
SLACKS = (0, 1, 2, 4, 8, 16)
NEVER = 100_000  # epochs between evaluations: only the last one is judged
PARTS = ("compute", "wait", "apply", "send")
write = sys.stdout.write


def train_records(
    program: BlockPG, edges: EdgeData, epochs: int = 300, **options: Any
) -> list[dict[str, Any]]:
    """Train with one thread a worker, and return the records."""
    return run(
        program, edges, options=RunOptions(epochs=epochs, eval_every=NEVER, threads=1, **options)
    ).records


def time_to_goal(records: Sequence[dict[str, Any]], goal: float) -> tuple[int, float]:
    """Return the first pass at which the objective is at most `goal`, and training seconds until
    its end; infinite if there is none.
    """
    return next(
        ((r["epoch"], r["seconds"]) for r in records if r["objective"] <= goal), (0, float("inf"))
    )


def full_passes(records: Sequence[dict[str, Any]]) -> list[float]:
    """Return the seconds of the passes that went over all features and did not raise the objective,
    the first one aside.
    """
    ends = [0.0, *(r["seconds"] for r in records)]
    return [ends[i + 1] - ends[i] for i, r in enumerate(records) if "change" in r and i]


def l1_words() -> dict[str, Any]:
    """Return the words by which scikit-learn's logistic regression is told of an L1 penalty."""
    import sklearn

    recent = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    return {"l1_ratio": 1.0} if recent else {"penalty": "l1"}


def liblinear(samples: SampleData, l1: float) -> list[tuple[float, float]]:
    """Return (seconds, objective) at each tolerance."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    edges = samples.edges
    shape = len(samples.label), len(edges.ids[edges.ends[1]])
    x = csr_matrix((edges.fields["value"].astype("f8"), (edges.src, edges.dst)), shape)
    out = []
    for tolerance in TOLERANCES:
        seconds = []
        for _ in range(3):
            model = LogisticRegression(
                solver="liblinear",
                C=1 / l1,
                fit_intercept=False,
                tol=tolerance,
                max_iter=3000,
                **l1_words(),
            )
            with warnings.catch_warnings():
                # that it has not converged is seen from the objective
                warnings.simplefilter("ignore")
                start = time.perf_counter()
                model.fit(x, samples.label)
            seconds.append(time.perf_counter() - start)
        w = model.coef_[0]
        out.append(
            (
                min(seconds),
                float(np.logaddexp(0, -samples.label * (x @ w)).sum() + l1 * np.abs(w).sum()),
            )
        )
    return out


def peers(folder: Path, names: Sequence[str], runs: int) -> None:
    """Print seconds to each goal, of both, and their ratio."""
    write(
        f"seconds to within a share of the optimum, one thread, median of {runs}; M entries/s of a "
        "full pass\n"
    )
    write(
        f"{'set':<18} {'entries':>8} {'':<10}"
        + "".join(f"{goal:>9.0e}" for goal in GOALS)
        + f"{'M/s':>7} {'first':>6}\n"
    )
    for name in names:
        (l1, best), path = SETS[name], folder / "libsvm" / f"{name}.gz"
        samples = read_samples(path)
        program, edges = BlockPG(l1=l1, tol=1e-9), samples_to_edges(samples, BlockPG())
        every = [train_records(program, edges) for _ in range(runs + 1)][1:]
        ours = [
            statistics.median(time_to_goal(records, best * (1 + goal))[1] for records in every)
            for goal in GOALS
        ]
        passes = [seconds for records in every for seconds in full_passes(records)] or [
            float("nan")
        ]
        rates = [
            len(edges) / seconds / 1e6
            for seconds in (min(passes), statistics.median(r[0]["seconds"] for r in every))
        ]
        found = liblinear(samples, l1)
        theirs = [
            min((s for s, F in found if best * (1 + goal) >= F), default=float("inf"))
            for goal in GOALS
        ]
        head = f"{name:<18} {len(edges):>8,}"
        write(
            f"{head} {'tux':<10}"
            + "".join(f"{s:>9.4f}" for s in ours)
            + f"{rates[0]:>7.0f} {rates[1]:>6.0f}\n"
        )
        write(f"{'':<{len(head)}} {'liblinear':<10}" + "".join(f"{s:>9.4f}" for s in theirs) + "\n")
        write(
            f"{'':<{len(head)}} {'ratio':<10}"
            + "".join(f"{t / o:>9.2f}" for o, t in zip(ours, theirs, strict=True))
            + "\n"
        )


def make_clicks(entries: int) -> EdgeData:
    """Make clicks of 50 entries a sample, and half as many samples as features."""
    samples = max(100, entries // 50)
    return samples_to_edges(
        clicks(samples, 2 * samples, 50, max(10, samples // 100)).split()[0], BlockPG()
    )


def workers(entries: int, passes: int) -> None:
    """Print what one worker and two take."""
    edges, l1 = make_clicks(entries), 2.0
    write(f"\nclicks of {len(edges):,} entries, l1 {l1:g}: {passes} passes\n")
    write(
        f"{'workers':>8} {'objective':>14} {'seconds':>8} {'a full pass':>12} {'M entries/s':>12} "
        + "".join(f"{g:>9.0e}" for g in GOALS[:3])
    )
    write("\n")
    both = [
        train_records(BlockPG(l1=l1, tol=0.0), edges, passes, workers=k, deadline=3600.0)
        for k in (1, 2)
    ]
    best = min(records[-1]["objective"] for records in both)
    for k, records in zip((1, 2), both, strict=True):
        full = min(full_passes(records), default=float("nan"))
        last = records[-1]
        write(
            f"{k:>8} {last['objective']:>14.4f} {last['seconds']:>8.2f} {full:>12.4f} "
            f"{len(edges) / full / 1e6:>12.1f} "
        )
        write(
            "".join(f"{time_to_goal(records, best * (1 + goal))[1]:>9.2f}" for goal in GOALS[:3])
            + "\n"
        )
    write(
        f"{'workers':>8} "
        + "".join(f"{part:>9}" for part in PARTS)
        + "   seconds of the first worker, all passes\n"
    )
    for k, records in zip((1, 2), both, strict=True):
        write(
            f"{k:>8} "
            + "".join(f"{sum(r[f'{part}_s'] for r in records):>9.2f}" for part in PARTS)
            + "\n"
        )
    first, second = (min(full_passes(records), default=float("nan")) for records in both)
    to_goal = [time_to_goal(records, best * (1 + 1e-3))[1] for records in both]
    write(
        f"two workers beside one: a full pass {first / second:.2f} times as fast, to 1e-3 "
        f"{to_goal[0] / to_goal[1]:.2f} times\n"
    )


def slack(length: float) -> None:
    """Print passes and seconds to 1e-3 by slack."""
    edges, l1 = samples_to_edges(clicks(20_000, 50_000, 40, 500).split()[0], BlockPG()), 2.0
    best = train_records(BlockPG(l1=l1, tol=1e-10), edges)[-1]["objective"]
    program = find(f"{Path(__file__).parent / 'late.py'}:LateBlockPG").program(
        l1=l1, tol=1e-6, length=length
    )
    write(
        f"\nclicks of {len(edges):,} entries, l1 {l1:g}; 4 workers, 64 blocks, late by "
        f"{1e3 * length:.0f} ms with chance 1/8; to 1e-3\n"
    )
    write(f"{'slack':>6} {'passes':>7} {'seconds':>8} {'a pass':>8}\n")
    for each in SLACKS:
        records = train_records(program, edges, 60, workers=4, slack=each)
        passes, seconds = time_to_goal(records, best * (1 + 1e-3))
        write(
            f"{each:>6} {passes or '-':>7} {seconds:>8.2f} "
            f"{records[-1]['seconds'] / len(records):>8.3f}\n"
        )


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
    arguments.add_argument("--entries", type=int, default=5_000_000)
    arguments.add_argument("--passes", type=int, default=40)
    arguments.add_argument("--late", type=float, default=0.02)
    arguments.add_argument("--parts", type=names_among(COMPARED), default=",".join(COMPARED))
    given = arguments.parse_args(argv)
    parts = given.parts
    if "peers" in parts:
        peers(given.data, given.sets, given.runs)
    if "workers" in parts:
        workers(given.entries, given.passes)
    if "slack" in parts:
        slack(given.late)


if __name__ == "__main__":
    main()
