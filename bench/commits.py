"""Seconds of an epoch of the apps, beside those of another checkout of tux in the same run.

usage: python -m bench.commits CHECKOUT [--data DIR] [--cases NAME,..] [--threads T,..]
                               [--runs N]

CHECKOUT is a folder with another commit, installed in its `.venv`, as `make .venv/installed-test`
does. DIR (default $TUX_TEST_DATA) holds the data; a case whose file is missing is passed over.
Both sides take turns in each of N rounds (default 5), after a run of each that compiles. A figure
is the median over the rounds of a run's median epoch, in milliseconds, without its first one.
`ratio`: the other side's figure by ours; above 1, this checkout is faster. `least`: the same of the
fastest epoch of all rounds. `result`: whether both end with the same number, which is the relative
difference of what the app monitors, or of its first metric.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.arguments import names_among
from tux.engine.records import metrics

CASES = {
    "mf": "mf ratings/ml-1m/ml-1m.train.dat.gz --rank 64 --epochs 40",
    "als": "als ratings/ml-1m/ml-1m.train.dat.gz --rank 64 --epochs 15",
    "als-implicit": "als ratings/ml-1m/ml-1m.train.dat.gz --rank 64 --implicit --epochs 15",
    "bpr": "bpr ratings/ml-1m/ml-1m.train.dat.gz --rank 64 --epochs 40",
    "lda": "lda corpora/kos/docword.kos.txt.gz --topics 100 --epochs 60",
    "deepwalk": "deepwalk labelled/PPI.ungraph.gz --epochs 3",
    "blockpg": "blockpg libsvm/generated-20k-50k.gz --epochs 60",
    "lbfgs": "linear libsvm/farm-ads-vect.gz --epochs 150 --tol 0",
    "adam": "linear libsvm/farm-ads-vect.gz --solver adam --epochs 150",
    "gbdt": "gbdt libsvm/a9a.gz --epochs 60",
    "kmeans": "kmeans corpora/kos/docword.kos.txt.gz --n-clusters 50 --epochs 60 --tol 0",
    "kmeans-a9a": "kmeans libsvm/a9a.gz --n-clusters 20 --epochs 100 --tol 0",
}
"""The flags of `tux run` of each case; the second word is a file of the data."""


class Epochs(NamedTuple):
    """The seconds of each epoch of a run but the first, and its last metric."""

    seconds: np.ndarray
    result: float


def run_epochs(checkout: Path, flags: Sequence[str], threads: int) -> Epochs:
    """Run an app of a checkout in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [checkout / ".venv/bin/tux", "run", *flags, "--threads", str(threads)]
        done = subprocess.run(
            [*command, "--out", out], check=False, capture_output=True, text=True, cwd=folder
        )
        if done.returncode:
            raise SystemExit(f"{checkout}: tux run {' '.join(flags)}\n{done.stderr}")
        lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    result = next(iter(metrics(records[-1]).values()), 0.0)
    return Epochs(np.diff([record["seconds"] for record in records]), float(result))


def measure(checkouts: Sequence[Path], case: str, data: Path, threads: int, runs: int) -> str:
    """Return the line of the table for a case."""
    app, name, *rest = CASES[case].split()
    flags = [app, str(data / name), *rest]
    for checkout in checkouts:
        run_epochs(checkout, flags, threads)
    found: dict[Path, list[Epochs]] = {checkout: [] for checkout in checkouts}
    for turn in range(runs):
        for checkout in checkouts if turn % 2 else reversed(checkouts):
            found[checkout].append(run_epochs(checkout, flags, threads))
    ours, theirs = (
        statistics.median(float(np.median(each.seconds)) for each in found[checkout])
        for checkout in checkouts
    )
    least = [min(each.seconds.min() for each in found[checkout]) for checkout in checkouts]
    ends = [found[checkout][0].result for checkout in checkouts]
    apart = abs(ends[0] - ends[1]) / max(abs(ends[1]), 1e-300)
    return (
        f"{case:<13} {threads:>7} {1e3 * ours:>9.3f} {1e3 * theirs:>9.3f} {theirs / ours:>6.3f} "
        f"{least[1] / least[0]:>6.3f} {apart:>9.1e}\n"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, a line for each case and number of threads."""
    text, form = __doc__, argparse.RawDescriptionHelpFormatter
    arguments = argparse.ArgumentParser(description=text, formatter_class=form)
    arguments.add_argument("checkout", type=Path, metavar="CHECKOUT")
    arguments.add_argument("--data", type=Path, default=os.environ.get("TUX_TEST_DATA", ""))
    arguments.add_argument("--cases", type=names_among(CASES), default=list(CASES))
    arguments.add_argument("--threads", default="1,2")
    arguments.add_argument("--runs", type=int, default=5)
    given = arguments.parse_args(argv)
    ours = Path(__file__).resolve().parent.parent
    head = f"{'case':<13} {'threads':>7} {'ms':>9} {'other':>9} {'ratio':>6} {'least':>6} "
    sys.stdout.write(f"{head}{'result':>9}\n")
    for case in given.cases:
        if not (given.data / CASES[case].split()[1]).exists():
            sys.stdout.write(f"{case:<13} no {CASES[case].split()[1]} in {given.data}\n")
            continue
        for threads in map(int, given.threads.split(",")):
            checkouts = [ours, given.checkout.resolve()]
            sys.stdout.write(measure(checkouts, case, given.data, threads, given.runs))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
