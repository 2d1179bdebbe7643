"""The gain from threads of a worker: training seconds of the same run with 1 thread and with more,
in turns, and whether both end in the same bytes.

usage: python -m bench.threads [--data DIR] [--sets NAME,..] [--threads T] [--repeats N]
       python -m bench.threads APP FILE --epochs E [--set NAME=VALUE ..] [--threads T] [--repeats N]

DIR (default $TUX_TEST_DATA) holds the real data; sets whose file is not there are left out. Or one
app runs on a file, such as one of `tux generate`. Medians of N rounds (default 5), the first of
which is not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.arguments import names_among
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.program.program import Program
from tux.program.sources import find
from tux.runs.begin import load_for


class Workload(NamedTuple):
    """A program's `app` as `tux.program.sources.find` takes it, and its data: a file below DIR, or
    a function that makes them.
    """

    app: str
    data: str | Callable[[], EdgeData]
    epochs: int
    parameters: dict[str, Any]


def _links() -> EdgeData:
    """Make 10 million random links of a million pages."""
    rng = np.random.default_rng(1)
    src, dst = (rng.integers(0, 1_000_000, 10_000_000) for _ in range(2))
    return from_arrays(src, dst, ends=("page", "page"))


PAGES = str(Path(__file__).parent.parent / "docs" / "pagerank.py")
SETS = {
    "mf ml-1m": Workload("mf", "ratings/ml-1m/ml-1m.train.dat.gz", 20, {"rank": 64}),
    "lda kos": Workload("lda", "corpora/kos/docword.kos.txt.gz", 20, {"sampler": "sparse"}),
    "lda ap": Workload("lda", "corpora/ap/ap.dat.gz", 10, {"sampler": "sparse", "topics": 1000}),
    "warplda kos": Workload("lda", "corpora/kos/docword.kos.txt.gz", 40, {"sampler": "warp"}),
    "warplda ap": Workload("lda", "corpora/ap/ap.dat.gz", 20, {"sampler": "warp", "topics": 1000}),
    "blockpg a9a": Workload("blockpg", "libsvm/a9a.gz", 40, {}),
    "blockpg farm-ads": Workload("blockpg", "libsvm/farm-ads-vect.gz", 23, {}),
    "pagerank 10 M": Workload(PAGES, _links, 10, {}),
}


def train_and_digest(
    program: Program, inputs: Inputs, epochs: int, threads: int
) -> tuple[float, str]:
    """Train; return the training seconds, and the digest of what the masters hold."""
    graph = LocalGraph.whole(program, inputs.train, inputs.test, 0)
    worker = Worker(program, graph, seed=0, threads=threads)
    *_, last = Training(worker).epochs(epochs, every=epochs)
    digest = hashlib.blake2b(digest_size=8)
    for name in (*worker.program.vertices, "tau"):
        table = worker.tables[name] if name == "tau" else worker.masters(name)
        for field in sorted(table.arrays):
            digest.update(np.ascontiguousarray(table.arrays[field]).tobytes())
    return float(last["seconds"]), digest.hexdigest()


def compare(title: str, of: Workload, data: Any, threads: int, repeats: int) -> None:
    """Print a line: seconds with 1 thread and with `threads`, and their ratio."""
    program = find(of.app).program(**of.parameters)
    inputs, program = load_for(program, data, None, RunOptions(), NullWatcher())
    seconds: dict[int, list[float]] = {1: [], threads: []}
    digests = set()
    for _ in range(repeats + 1):
        for count in seconds:
            spent, digest = train_and_digest(program, inputs, of.epochs, count)
            seconds[count].append(spent)
            digests.add(digest)
    one, more = (statistics.median(each[1:]) for each in seconds.values())
    same = "same bytes" if len(digests) == 1 else "OTHER BYTES"
    sys.stdout.write(f"{title:<18} {one:>9.3f} {more:>9.3f} {one / more:>6.2f}  {same}\n")
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("app", nargs="?")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--data", default=os.environ.get("TUX_TEST_DATA", ""))
    parser.add_argument("--sets", type=names_among(SETS), default=",".join(SETS))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args(argv)
    if asked.threads < 2:
        parser.error("--threads: at least 2, which are compared with 1")
    sys.stdout.write(f"{'':<18} {'1, s':>9} {asked.threads:>6}, s {'ratio':>6}\n")
    if asked.app:
        values = {name: _number(text) for name, text in (each.split("=") for each in asked.set)}
        of = Workload(asked.app, asked.file, asked.epochs, values)
        compare(asked.app, of, asked.file, asked.threads, asked.repeats)
        return
    for name in asked.sets:
        of = SETS[name]
        data = Path(asked.data, of.data) if isinstance(of.data, str) else of.data()
        if not isinstance(data, Path) or data.exists():
            compare(name, of, data, asked.threads, asked.repeats)


def _number(text: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


if __name__ == "__main__":
    main()
