"""BPR beside implicit, and WARP beside LightFM, in one run: seconds of an epoch, and precision at
10 on MovieLens 1M.

usage: python -m bench.pairs [--data DIR] [--threads T] [--repeats N] [--rank K] [--epochs E]
                             [--losses bpr,warp]

DIR (default $TUX_TEST_DATA) holds ratings/ml-1m. The systems take their turns in each of N rounds
(default 5), and medians are shown. All have the same rank, epochs and learning rate (.05); the
penalty is .01 for BPR and 0 for WARP, which draws up to 10 items. The first epoch is left out of
the seconds. LightFM has no threads where it was built without OpenMP.

Precision is the share of held-out items among the best 10 that training does not have, as a mean
over users with held-out items, computed by one function for all.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.als import TEST, TRAIN, limit_threads, write
from bench.arguments import names_among
from tux.apps.bpr.bpr import BPR
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.predict.topk import group_by_query, recommend
from tux.runs.begin import load_for

RATE = 0.05
PENALTY = {"bpr": 0.01, "warp": 0.0}
DRAWS = 10
TOP = 10


class Ranked(NamedTuple):
    """Seconds of an epoch, and factors of users and items, whose last column has the biases."""

    seconds: float
    users: np.ndarray
    items: np.ndarray


System = Callable[[Inputs, int, int, int, int], Ranked]
"""Trains by rank, epochs, threads and seed."""


def with_biases(users: np.ndarray, items: np.ndarray, biases: np.ndarray) -> Any:
    """Return factors to which biases of items are appended."""
    ones = np.ones((len(users), 1), np.float32)
    return np.hstack([users, ones]), np.hstack([items, biases[:, None].astype(np.float32)])


def by_tux(loss: str) -> System:
    """Return the function that trains by tux."""

    def train(inputs: Inputs, rank: int, epochs: int, threads: int, seed: int) -> Ranked:
        program = BPR(loss=loss, rank=rank, learning_rate=RATE, reg=PENALTY[loss])
        graph = LocalGraph.whole(program, inputs.train, None, seed)
        worker = Worker(program, graph, seed=seed, threads=threads)
        took = [record["seconds"] for record in Training(worker).epochs(epochs)]
        fields = []
        for kind, name in (("user", "f"), ("item", "f"), ("item", "b")):
            fields.append(worker.tables[kind].arrays[name][graph.vertices[kind].row_of])
        return Ranked((took[-1] - took[0]) / (epochs - 1), *with_biases(*fields))

    return train


def matrix(inputs: Inputs) -> Any:
    """Return the training pairs as a sparse matrix, users by items."""
    import scipy.sparse

    edges = inputs.train
    shape = len(edges.ids["user"]), len(edges.ids["item"])
    ones = np.ones(len(edges), np.float32)
    return scipy.sparse.coo_matrix((ones, (edges.src, edges.dst)), shape=shape)


def by_implicit(inputs: Inputs, rank: int, epochs: int, threads: int, seed: int) -> Ranked:
    """Train by implicit. An epoch is the difference of two runs."""
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    pairs, took = matrix(inputs).tocsr(), []
    for number in (1, epochs):
        model: Any = BayesianPersonalizedRanking(
            factors=rank, learning_rate=RATE, regularization=PENALTY["bpr"], iterations=number,
            num_threads=threads, random_state=seed + 1,
        )  # fmt: skip
        with limit_threads(threads):
            start = time.perf_counter()
            model.fit(pairs, show_progress=False)
            took.append(time.perf_counter() - start)
    return Ranked((took[1] - took[0]) / (epochs - 1), model.user_factors, model.item_factors)


def by_lightfm(inputs: Inputs, rank: int, epochs: int, threads: int, seed: int) -> Ranked:
    """Train by LightFM."""
    from lightfm import LightFM

    model: Any = LightFM(
        no_components=rank, loss="warp", learning_rate=RATE, max_sampled=DRAWS, random_state=seed
    )
    pairs, took = matrix(inputs), []
    for number in (1, epochs - 1):
        start = time.perf_counter()
        model.fit_partial(pairs, epochs=number, num_threads=threads)
        took.append(time.perf_counter() - start)
    of = model.user_embeddings, model.item_embeddings, model.item_biases
    return Ranked(took[1] / (epochs - 1), *with_biases(*of))


PEERS: dict[str, tuple[str, System]] = {
    "bpr": ("implicit", by_implicit),
    "warp": ("lightfm", by_lightfm),
}


def precision(inputs: Inputs, ranked: Ranked) -> float:
    """Return the precision at TOP, as a mean over users."""
    assert inputs.test is not None
    train, test, most = inputs.train, inputs.test, len(ranked.users)
    known = (test.src < most) & (test.dst < len(ranked.items))
    asked = np.unique(test.src[known])
    seen = group_by_query(train.src, train.dst, most)
    users, items = (np.ascontiguousarray(each, np.float32) for each in ranked[1:])
    found, _ = recommend(users, items, TOP, exclude=seen)
    held = set(zip(test.src[known].tolist(), test.dst[known].tolist(), strict=True))
    hits = [sum((u, i) in held for i in found[u].tolist()) for u in asked.tolist()]
    return float(np.mean(hits)) / TOP


def compare(inputs: Inputs, loss: str, given: argparse.Namespace) -> None:
    """Print the lines of a loss."""
    peer, system = PEERS[loss]
    systems = {"tux": by_tux(loss), peer: system}
    told: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    for seed in range(given.repeats):
        for name, train in [*systems.items()]:
            try:
                ranked = train(inputs, given.rank, given.epochs, given.threads, seed)
            except ImportError as error:
                write(f"{name} is missing: {error}\n")
                del systems[name], told[name]
                continue
            told[name].append((ranked.seconds, precision(inputs, ranked)))
    for name, each in told.items():
        seconds, share = (statistics.median(column) for column in zip(*each, strict=True))
        write(f"{loss:<5} {name:<9} {seconds:>8.4f} {share:>7.4f}\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = Path(os.environ.get("TUX_TEST_DATA", "data"))
    arguments.add_argument("--data", type=Path, default=folder)
    for flag, default in (("threads", 2), ("repeats", 5), ("rank", 64), ("epochs", 30)):
        arguments.add_argument(f"--{flag}", type=int, default=default)
    arguments.add_argument("--losses", type=names_among(PEERS), default=[*PEERS])
    given = arguments.parse_args(argv)
    if absent := [name for name in (TRAIN, TEST) if not (given.data / name).is_file()]:
        write(f"no {absent[0]} in {given.data}\n")
        return
    inputs, _ = load_for(BPR(), given.data / TRAIN, given.data / TEST, RunOptions(), NullWatcher())
    write(f"rank {given.rank}, {given.epochs} epochs, {given.threads} threads; median of ")
    write(f"{given.repeats}\n{'loss':<5} {'system':<9} {'s/epoch':>8} {'p@10':>7}\n")
    for loss in given.losses:
        compare(inputs, loss, given)


if __name__ == "__main__":
    main()
