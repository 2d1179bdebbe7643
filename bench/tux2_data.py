"""The data of the figures of bench/tux2.py, and their runs: files of a folder where there are some,
else generated data of a size.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tux.apps.blockpg.blockpg import BlockPG
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.inputs.samples import samples_to_edges
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples
from tux.options.options import RunOptions
from tux.program.program import Program
from tux.runs.session import run
from tux.synthetic.clicks import clicks
from tux.synthetic.corpus import corpus
from tux.synthetic.ratings import ratings

NEVER = 100_000  # epochs between evaluations


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


FILES = {
    "ratings": "ratings/ml-1m/ml-1m.train.dat.gz",
    "clicks": "libsvm/generated-20k-50k.gz",
    "corpus": "corpora/kos/docword.kos.txt.gz",
}
"""The files of a data folder, by what is generated where one is not there."""


def file_of(given: argparse.Namespace, kind: str) -> Path | None:
    """Return a file of the data folder; None if it is not there."""
    path = Path(given.data, FILES[kind]) if given.data else None
    return path if path and path.exists() else None


def ratings_of(given: argparse.Namespace) -> EdgeData:
    """Return ratings whose ids count from 0: MovieLens 1M, or `--ratings` generated ones."""
    if path := file_of(given, "ratings"):
        edges = read_edges(path, ("user", "item"), {"value": np.dtype("f4")})
        ends, values = (edges.src, edges.dst), edges.fields["value"]
    else:
        size = given.ratings
        users, items = max(size // 150, round(2 * size**0.5)), max(size // 250, round(size**0.5))
        drawn = ratings(users, items, size).arrays()
        ends, values = (drawn["user"], drawn["item"]), drawn["rating"]
    users, items = (np.unique(end, return_inverse=True)[1] for end in ends)
    return from_arrays(users, items, ends=("user", "item"), value=np.asarray(values))


def clicks_of(given: argparse.Namespace) -> EdgeData:
    """Return samples: the generated ones of the folder, or `--entries` / 5 entries of others."""
    if path := file_of(given, "clicks"):
        return samples_to_edges(read_samples(path), BlockPG())
    samples = max(50, given.entries // 200)
    made = clicks(samples, 5 * samples // 2, 40, max(5, samples // 100))
    return samples_to_edges(made.split()[0], BlockPG())


def corpus_of(given: argparse.Namespace) -> EdgeData:
    """Return documents: those of Daily Kos, or `--tokens` generated tokens."""
    if path := file_of(given, "corpus"):
        return read_bags(path).edges
    size = given.tokens
    made = corpus(max(size // 136, 10), max(min(size // 20, 6906), 50), given.topics, size)
    return EdgeData.of(("document", "word"), made.document, made.word, {"count": made.count})


def records_of(program: Program, edges: EdgeData, epochs: int, **options: Any) -> list[Any]:
    """Return the records of a run in which nothing is judged before its end. Workers have a thread
    each.
    """
    given = {"threads": 1, "deadline": 3600.0, "eval_every": NEVER, **options}
    return run(program, edges, options=RunOptions(epochs=epochs, **given)).records


def mean_of(records: list[Any], name: str) -> float:
    """Return the mean cost of an epoch."""
    return float(sum(record[name] for record in records) / len(records))


def epoch_seconds(records: list[Any]) -> float:
    """Return the seconds of the mean epoch after the first."""
    last, first = records[-1]["seconds"], records[0]["seconds"]
    return float(last - first) / (len(records) - 1) if len(records) > 1 else float(last)
