"""A model that goes on with 1% of new data, beside one that is trained anew on all: seconds of
training, quality, and how far old vectors turn.

usage: python -m bench.updates [--data FOLDER] [--apps als,mf,...] [--repeats N]

FOLDER holds real data: ratings/ml-1m, corpora/kos, libsvm/a9a, labelled/PPI. The new data are half
of them whole users, and half single ratings of others, of ml-1m; documents, samples, and vertices
with their edges of the others. `old` is the model before; `anew` one of all data; `update` goes on
from `old` (`--from`). `share`: seconds of training of `update` by those of `anew`, medians of N
turns (default 5), each with another seed. Quality, means of the turns: recall@20 of a tenth of the
ratings, perplexity by document completion of held-out documents, AUC of the test set, micro F1 of
half of the vertices, or of the edges of new vertices the share whose ends are closer than a vertex
drawn at random. `kept`: that of `update` by that of `anew`; of perplexity, the reverse.
`cosine`: between the vectors of a vertex in `old` and `update` of the last turn, the least and the
1% quantile.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import tux
from bench.arguments import names_among
from bench.machine import machine

SHARE = 0.01


class UpdateCase(NamedTuple):
    """A program with data before, new data, and all; `judge` tells the quality of a run, and
    `vectors` names the type and field that should not turn, if there are vectors.
    """

    program: Any
    old: Any
    new: Any
    whole: Any
    judge: Callable[[Any], float]
    vectors: tuple[str, str] | None
    less_is_better: bool = False
    options: dict[str, Any] = {}


def read_ratings(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read training and held-out ratings, (n, 3) each."""
    found = []
    for name in ("train", "probe"):
        with gzip.open(data / f"ratings/ml-1m/ml-1m.{name}.dat.gz", "rt") as file:
            found.append(np.array([line.split("::") for line in file], np.int64))
    return found[0], found[1]


def as_table(ratings: np.ndarray) -> dict[str, np.ndarray]:
    """Return ratings as a table."""
    user, item, value = ratings.T
    return {"user": user, "item": item, "value": value.astype(np.float32)}


def recall(train: np.ndarray, test: np.ndarray) -> Callable[[Any], float]:
    """Return a function that judges a model of factors, perhaps with biases of items, by
    recall@20, ratings of `train` left out.
    """

    def judge(run: Any) -> float:
        users, items = run.vertices["user"], run.vertices["item"]
        scores = users["f"] @ items["f"].T + (items["b"] if "b" in items.fields else 0)
        rows, columns = users.positions(train[:, 0]), items.positions(train[:, 1])
        known = (rows >= 0) & (columns >= 0)
        scores[rows[known], columns[known]] = -np.inf
        top = np.argpartition(-scores, 20, axis=1)[:, :20]
        chosen = np.zeros(scores.shape, bool)
        np.put_along_axis(chosen, top, True, axis=1)
        user, item = users.positions(test[:, 0]), items.positions(test[:, 1])
        there = (user >= 0) & (item >= 0)
        _, asked = np.unique(test[:, 0], return_inverse=True)
        hits = np.bincount(asked[there], chosen[user[there], item[there]], asked.max() + 1)
        return float((hits / np.minimum(np.bincount(asked), 20)).mean())

    return judge


def ratings_case(program: Any, data: Path) -> UpdateCase:
    """Return a case of MovieLens 1M."""
    train, test = read_ratings(data)
    rng = np.random.default_rng(1)
    users = rng.choice(np.unique(train[:, 0]), round(SHARE / 2 * 6040), replace=False)
    is_new = np.isin(train[:, 0], users) | (rng.random(len(train)) < SHARE / 2)
    tables = [as_table(each) for each in (train[~is_new], train[is_new], train)]
    if isinstance(program, tux.BPR):  # which reads pairs
        for table in tables:
            del table["value"]
    return UpdateCase(program, *tables, recall(train, test), ("user", "f"))


def documents_case(data: Path) -> UpdateCase:
    """Return a case of the blog entries of Daily Kos, of which a tenth is held out."""
    with gzip.open(data / "corpora/kos/docword.kos.txt.gz", "rt") as file:
        entries = np.array([line.split() for line in file.readlines()[3:]], np.int64)
    rng = np.random.default_rng(1)
    drawn = rng.random(entries[:, 0].max() + 1)
    held, is_new = drawn > 0.9, drawn < 0.9 * SHARE

    def table(chosen: np.ndarray) -> dict[str, np.ndarray]:
        document, word, count = entries[chosen[entries[:, 0]]].T
        return {"document": document, "word": word, "count": count}

    train = ~held
    tables = table(train & ~is_new), table(is_new), table(train)

    def judge(run: Any) -> float:
        return float(run.history["test_perplexity"][-1])

    program = tux.LDA(topics=50)
    return UpdateCase(
        program, *tables, judge, ("word", "n"), True, {"test": table(held), "eval_every": 1000}
    )


def read_samples(path: Path) -> tuple[Any, np.ndarray]:
    """Read samples in libsvm's format: a matrix (n, 124) float32 and labels (n,)."""
    with gzip.open(path, "rt") as file:
        rows = [line.split() for line in file]
    entries = [entry.partition(":") for row in rows for entry in row[1:]]
    values = np.array([float(value) for _, _, value in entries], np.float32)
    columns = np.array([int(column) for column, _, _ in entries])
    bounds = np.cumsum([0, *(len(row) - 1 for row in rows)])
    matrix = sparse.csr_array((values, columns, bounds), shape=(len(rows), 124))
    return matrix, np.array([float(row[0]) for row in rows], np.float32)


def samples_case(program: Any, vectors: tuple[str, str] | None, data: Path) -> UpdateCase:
    """Return a case of the census incomes of a9a."""
    x, y = read_samples(data / "libsvm/a9a.gz")
    new = np.random.default_rng(1).random(len(y)) < SHARE
    tables = (x[~new], y[~new]), (x[new], y[new]), (x, y)

    def judge(run: Any) -> float:
        return float(run.history["test_auc"][-1])

    options = {"test": read_samples(data / "libsvm/a9a.t.gz"), "eval_every": 1000}
    return UpdateCase(program, *tables, judge, vectors, options=options)


def judge_edges(edges: np.ndarray) -> Callable[[Any], float]:
    """Return a function that judges vectors by edges (n, 2): how often the cosine of both ends is
    larger than that of the first one and a vertex drawn at random; NaN where no vertex is there.
    """

    def judge(run: Any) -> float:
        nodes = run.vertices["node"]
        u = nodes["u"] / np.linalg.norm(nodes["u"], axis=1, keepdims=True)
        first, second = (nodes.positions(end) for end in edges.T)
        other = np.random.default_rng(1).integers(0, len(u), len(edges))
        found = (u[first] * u[second]).sum(axis=1) > (u[first] * u[other]).sum(axis=1)
        there = (first >= 0) & (second >= 0)
        return float(found[there].mean()) if there.any() else float("nan")

    return judge


def graph_case(data: Path, *, by_new: bool = False) -> UpdateCase:
    """Return a case of the protein interactions of node2vec; `by_new`: judged by the edges of new
    vertices.
    """
    with gzip.open(data / "labelled/PPI.ungraph.gz", "rt") as file:
        edges = np.array([line.split() for line in file if line[0] != "#"], np.int64)
    new = np.random.default_rng(1).random(edges.max() + 1) < SHARE
    first, then = edges[~new[edges].any(axis=1)], edges

    def judge(run: Any) -> float:
        found = [v for k, v in run.results.items() if "micro" in k and ("50" in k or "0.5" in k)]
        return float(found[0])

    tables = first, then, then
    if by_new:
        mine = np.concatenate([then[new[then[:, k]]][:, [k, 1 - k]] for k in (0, 1)])
        return UpdateCase(tux.DeepWalk(), *tables, judge_edges(mine), ("node", "u"))
    options = {"labels": str(data / "labelled/PPI.cmty.gz"), "judge_repeats": 10}
    return UpdateCase(tux.DeepWalk(), *tables, judge, ("node", "u"), options=options)


CASES: dict[str, Callable[[Path], UpdateCase]] = {
    "als": lambda data: ratings_case(tux.ALS(rank=32), data),
    "implicit": lambda data: ratings_case(tux.ALS(rank=32, implicit=True, alpha=1.0), data),
    "mf": lambda data: ratings_case(tux.MF(rank=32), data),
    "bpr": lambda data: ratings_case(tux.BPR(rank=32), data),
    "warp": lambda data: ratings_case(tux.BPR(rank=32, loss="warp"), data),
    "lda": documents_case,
    "linear": lambda data: samples_case(tux.Linear(), ("feature", "w"), data),
    "gbdt": lambda data: samples_case(tux.GBDT(), None, data),
    "deepwalk": graph_case,
    "deepwalk-new": lambda data: graph_case(data, by_new=True),
}


def least_cosines(case: UpdateCase, old: Any, new: Any) -> list[float]:
    """Return the least cosine between old and new vectors of a vertex, and the 1% quantile."""
    if case.vectors is None:
        return []
    kind, field = case.vectors
    before, after = (run.vertices[kind] for run in (old, new))
    same = after.positions(before.ids)
    a, b = before[field].reshape(len(same), -1), after[field][same].reshape(len(same), -1)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine = (a.astype(float) * b).sum(axis=1)[norms > 0] / norms[norms > 0]
    return [float(cosine.min()), float(np.quantile(cosine, 0.01))]


def compare(case: UpdateCase, repeats: int) -> str:
    """Train the three models in turn; return a row of the table."""
    seconds: dict[str, list[float]] = {"anew": [], "update": []}
    judged = []
    for turn in range(repeats + 1):  # the first compiles
        how = {**case.options, "seed": turn, "progress": False}
        old = tux.run(case.program, case.old, **how)
        runs = {
            "anew": tux.run(case.program, case.whole, **how),
            "update": tux.run(old.program, case.new, from_run=old, **how),
        }
        if turn:
            judged.append([case.judge(run) for run in (old, runs["anew"], runs["update"])])
            for name, run in runs.items():
                seconds[name].append(run.results["seconds"])
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    quality = [statistics.mean(each) for each in zip(*judged, strict=True)]
    kept = quality[1] / quality[2] if case.less_is_better else quality[2] / quality[1]
    cells = [
        *(f"{medians[name]:.3f}" for name in seconds),
        f"{medians['update'] / medians['anew']:.1%}",
        *(f"{each:.4f}" for each in quality),
        f"{kept:.4f}",
        *(f"{each:.3f}" for each in least_cosines(case, old, runs["update"])),
    ]
    return "".join(f"{each:>10}" for each in cells)


HEAD = ("anew, s", "update, s", "share", "old", "anew", "update", "kept", "cosine", "1%")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--apps", type=names_among([*CASES]), default=[*CASES])
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args(argv)
    print(machine())
    print(f"{'':<10}{''.join(f'{each:>10}' for each in HEAD)}")
    for name in asked.apps:
        print(f"{name:<10}{compare(CASES[name](asked.data), asked.repeats)}", flush=True)


if __name__ == "__main__":
    main()
