"""Features of items: WARP of tux and of LightFM in one run on MovieLens 1M. Seconds of an epoch,
precision at 10, and what both say of items that training has no pair of.

usage: python -m bench.features [--data DIR] [--threads T] [--repeats N] [--rank K] [--epochs E]

DIR (default $TUX_TEST_DATA) holds ratings/ml-1m, which has no genres. So features are made: half of
the users are used for nothing but to find 18 groups of items (k-means on vectors of their
ratings), of which each item has the nearest ones, one to three. All else is about the other half.
A tenth of the items is cold: their pairs are held out. LightFM has the features beside one of each
item alone, and learns without cold items, of which it then has the features alone; both have the
same rank, learning rate (.05) and draws (10). tux has a penalty of .01,
by which vectors follow features; LightFM has none, as it shares vectors in another way.

Columns: seconds of an epoch; precision at 10 of held-out pairs of other items; precision at 10
among cold items alone, of users with held-out pairs of them. `popular`: cold items by how popular
the other items of their groups are.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tux
from bench.als import TEST, TRAIN, write
from tux.arrays.edges import EdgeData
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.inputs.load import load

GROUPS, TOP, RATE, DRAWS, REG = 18, 10, 0.05, 10, 0.01


class FilmPairs(NamedTuple):
    """Pairs (n, 2) of positions: to train on, held out of warm items, and of cold ones; the groups
    of items, (items, GROUPS) of 0 and 1; and which items are cold.
    """

    users: int
    train: np.ndarray
    warm: np.ndarray
    cold: np.ndarray
    groups: np.ndarray
    is_cold: np.ndarray


def read_films(folder: Path, seed: int) -> FilmPairs:
    """Read the ratings, and divide them."""
    train = load(tux.MF(), str(folder / TRAIN)).train
    test = load(tux.MF(), str(folder / TEST)).train
    rng = np.random.default_rng(seed)
    ids = train.ids["item"].values
    pairs = np.column_stack([train.ids["user"].values[train.src], train.dst])
    held = np.column_stack(
        [test.ids["user"].values[test.src], np.searchsorted(ids, test.ids["item"].values)[test.dst]]
    )
    held = held[np.isin(test.ids["item"].values, ids)[test.dst]]
    half = rng.random(pairs[:, 0].max() + 1) < 0.5
    groups = groups_of(pairs[half[pairs[:, 0]]], len(ids))
    names = np.flatnonzero(~half)
    mine, theirs = (each[~half[each[:, 0]]] for each in (pairs, held))
    for each in (mine, theirs):
        each[:, 0] = np.searchsorted(names, each[:, 0])
    is_cold = rng.random(len(ids)) < 0.1
    cold = np.concatenate([mine[is_cold[mine[:, 1]]], theirs[is_cold[theirs[:, 1]]]])
    mine, theirs = mine[~is_cold[mine[:, 1]]], theirs[~is_cold[theirs[:, 1]]]
    return FilmPairs(len(names), mine, theirs, cold, groups, is_cold)


def groups_of(pairs: np.ndarray, items: int) -> np.ndarray:
    """Return the groups of items, found by the pairs of some users."""
    counts = *pairs.T, np.ones(len(pairs))
    run = tux.run(tux.ALS(rank=16, implicit=True), counts, seed=0, progress=False)
    f = np.zeros((items, 16))
    f[np.asarray(run.vertices["item"].ids)] = run.vertices["item"]["f"]
    f /= np.maximum(np.linalg.norm(f, axis=1, keepdims=True), 1e-9)
    model = tux.KMeans(GROUPS, random_state=0).fit(f)
    near = model.transform(f)
    order = np.sort(near, axis=1)
    return (near <= 1.1 * order[:, :1]) & (near <= order[:, 2:3])


def by_tux(films: FilmPairs, given: argparse.Namespace, seed: int) -> tuple[float, np.ndarray]:
    """Train by tux; return seconds of an epoch, and the scores (users, items)."""
    program = tux.FeatureBPR(
        loss="warp", rank=given.rank, learning_rate=RATE, reg=REG, max_sampled=DRAWS
    )
    vertices = {"user": np.arange(films.users), "item": np.arange(len(films.groups))}
    pairs = EdgeData.of(("user", "item"), *films.train.T, {}, vertices=vertices)
    data = {"pair": pairs, "item_features": np.nonzero(films.groups)}
    worker = Worker(
        program,
        LocalGraph.whole(program, load(program, data).train, None, seed),
        seed=seed,
        threads=given.threads,
    )
    took = [record["seconds"] for record in Training(worker).epochs(given.epochs)]
    f, b = (
        {
            kind: worker.tables[kind].arrays[name][worker.graph.vertices[kind].row_of]
            for kind in kinds
        }
        for name, kinds in (("f", ("user", "item")), ("b", ("item",)))
    )
    return (took[-1] - took[0]) / (given.epochs - 1), f["user"] @ f["item"].T + b["item"]


def matrices_for_lightfm(films: FilmPairs) -> tuple[Any, Any]:
    """Return the pairs of items that are not cold, (users, warm items), and what all items have:
    each warm one a column of its own, and all their groups; rows sum to 1.
    """
    import scipy.sparse

    warm = np.flatnonzero(~films.is_cold)
    place = np.zeros(len(films.groups), np.int64)
    place[warm] = np.arange(len(warm))
    own = np.ones(len(warm)), (warm, np.arange(len(warm)))
    alone = scipy.sparse.csr_matrix(own, shape=(len(films.groups), len(warm)))
    features = scipy.sparse.hstack([alone, films.groups], format="csr")
    features = scipy.sparse.csr_matrix(features.multiply(1 / features.sum(axis=1)), dtype="f4")
    ends = films.train[:, 0], place[films.train[:, 1]]
    ones = np.ones(len(films.train), np.float32)
    return scipy.sparse.coo_matrix((ones, ends), shape=(films.users, len(warm))), features


def by_lightfm(films: FilmPairs, given: argparse.Namespace, seed: int) -> tuple[float, np.ndarray]:
    """Train by LightFM; return as `by_tux`."""
    from lightfm import LightFM

    pairs, features = matrices_for_lightfm(films)
    model: Any = LightFM(
        no_components=given.rank, loss="warp", learning_rate=RATE, max_sampled=DRAWS,
        random_state=seed,
    )  # fmt: skip
    took = []
    for number in (1, given.epochs - 1):
        start = time.perf_counter()
        model.fit_partial(
            pairs,
            item_features=features[~films.is_cold],
            epochs=number,
            num_threads=given.threads,
        )
        took.append(time.perf_counter() - start)
    biases, f = model.get_item_representations(features)
    return took[1] / (given.epochs - 1), model.user_embeddings @ f.T + biases


def by_popularity(films: FilmPairs) -> np.ndarray:
    """Return scores of cold items by the popularity of the other items of their groups."""
    counts = np.bincount(films.train[:, 1], minlength=len(films.groups)).astype(float)
    warm = films.groups[~films.is_cold]
    of_group = warm.T @ counts[~films.is_cold] / np.maximum(warm.sum(axis=0), 1)
    scores = films.groups @ of_group / np.maximum(films.groups.sum(axis=1), 1)
    return np.broadcast_to(scores, (films.users, len(scores)))


def precision(scores: np.ndarray, among: np.ndarray, held: np.ndarray) -> float:
    """Return the precision at TOP among some items of each user (or all of them), (users, items) or
    (items,) bool, as a mean over users with held-out pairs.
    """
    left = np.where(among, scores, -np.inf)
    best = np.argpartition(-left, TOP, axis=1)[:, :TOP]
    has = np.zeros(scores.shape, bool)
    has[held[:, 0], held[:, 1]] = True
    asked = np.unique(held[:, 0])
    return float(np.take_along_axis(has, best, axis=1)[asked].mean())


def judge(films: FilmPairs, scores: np.ndarray) -> tuple[float, float]:
    """Return the precision of other items, and of cold items alone."""
    new = np.broadcast_to(~films.is_cold, scores.shape).copy()
    new[films.train[:, 0], films.train[:, 1]] = False
    return precision(scores, new, films.warm), precision(scores, films.is_cold, films.cold)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = Path(os.environ.get("TUX_TEST_DATA", "data"))
    arguments.add_argument("--data", type=Path, default=folder)
    for flag, default in (("threads", 2), ("repeats", 3), ("rank", 64), ("epochs", 20)):
        arguments.add_argument(f"--{flag}", type=int, default=default)
    given = arguments.parse_args(argv)
    if absent := [name for name in (TRAIN, TEST) if not (given.data / name).is_file()]:
        write(f"no {absent[0]} in {given.data}\n")
        return
    told: dict[str, list[tuple[float, float, float]]] = {"tux": [], "lightfm": [], "popular": []}
    for seed in range(given.repeats):
        films = read_films(given.data, seed)
        told["popular"].append((0.0, 0.0, judge(films, by_popularity(films))[1]))
        for name, train in (("tux", by_tux), ("lightfm", by_lightfm)):
            try:
                seconds, scores = train(films, given, seed)
            except ImportError as error:
                write(f"{name} is missing: {error}\n")
                continue
            told[name].append((seconds, *judge(films, scores)))
    write(f"{'system':<9} {'s/epoch':>8} {'p@10':>7} {'cold p@10':>10}\n")
    for name, each in told.items():
        if each:
            seconds, warm, cold = (statistics.median(column) for column in zip(*each, strict=True))
            write(f"{name:<9} {seconds:>8.4f} {warm:>7.4f} {cold:>10.4f}\n")


if __name__ == "__main__":
    main()
