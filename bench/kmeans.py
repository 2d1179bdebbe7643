"""K-means beside scikit-learn's KMeans, and faiss for points, in one run: seconds of the first
centers and of an iteration, on the same threads and data; inertia from the same centers.

usage: python -m bench.kmeans [--data DIR] [--sets NAME,..] [--clusters N] [--iterations N]
[--runs N] [--threads N] [--points N] [--features N] [--spread X] [--seeds N]

DIR (default $TUX_TEST_DATA) holds libsvm/*.gz and corpora/kos/docword.kos.txt.gz. Sets are sparse
(kos as tf-idf, farm-ads-vect, a9a), or `points`, generated ones. Both go on until no sample moves,
or for --iterations (default 20) moves of the centers; an iteration's seconds are those beyond a run
of one move. The median of --runs (default 5) of each, in turn, is shown. `same`: the relative
difference of the inertia after --iterations from the same centers, scikit-learn in 64 bits. With
--seeds: the mean inertia after the first move, over so many seeds. faiss (left out if it is not
installed) begins with samples that it draws evenly, and trains with all samples.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.arguments import names_among
from tux.apps.kmeans import PointKMeans, SparseKMeans
from tux.arrays.edges import EdgeData
from tux.arrays.points import points
from tux.options.options import RunOptions
from tux.runs.session import Result, run
from tux.synthetic.clusters import clusters

SETS = ("kos", "farm-ads-vect", "a9a", "points")
write = sys.stdout.write


def matrix(name: str, args: argparse.Namespace) -> Any:
    """Return the samples of a set, float32: a CSR matrix without empty columns, or an array."""
    from sklearn.datasets import load_svmlight_file
    from sklearn.feature_extraction.text import TfidfTransformer

    if name == "points":
        return clusters(args.points, args.features, args.clusters, args.spread).x
    if name == "kos":
        with gzip.open(args.data / "corpora" / "kos" / "docword.kos.txt.gz", "rt") as file:
            document, word, count = np.loadtxt(file, skiprows=3, dtype=np.int64).T
        from scipy.sparse import coo_matrix

        x = TfidfTransformer().fit_transform(coo_matrix((count, (document - 1, word - 1))).tocsr())
    else:
        x, _ = load_svmlight_file(str(args.data / "libsvm" / f"{name}.gz"))
    x = x.astype(np.float32)
    x.eliminate_zeros()
    return x[:, np.unique(x.indices)].tocsr()


def to_edges(x: Any) -> EdgeData:
    """Convert the samples to the form that tux takes."""
    if isinstance(x, np.ndarray):
        return points(x, kind="sample")
    row, vertices = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), np.arange(x.shape[0])
    return EdgeData.of(
        ("sample", "feature"), row, x.indices, {"value": x.data}, vertices={"sample": vertices}
    )


def train_moves(
    x: Any, data: EdgeData, args: argparse.Namespace, moves: int, seed: int = 0
) -> Result:
    """Train with so many moves at most, and return the result."""
    kind = PointKMeans if isinstance(x, np.ndarray) else SparseKMeans
    program = kind(n_clusters=args.clusters, tol=0.0)
    options = RunOptions(epochs=moves, seed=seed, threads=args.threads, deadline=3600.0)
    return run(program, data, options=options)


def column(fitted: Result, name: str) -> list[float]:
    """Return a number of all epochs."""
    return [record[name] for record in fitted.records]


def centers(fitted: Result) -> np.ndarray:
    """Return the centers, (clusters, features) float64."""
    assert fitted.worker is not None
    tau, graph = fitted.worker.tables["tau"].arrays, fitted.worker.graph
    if "feature" not in graph.vertices:
        return np.asarray(tau["center"][0], np.float64)
    s, order = fitted.worker.tables["feature"].arrays["s"], graph.vertices["feature"].order
    center = np.empty((len(order), s.shape[1]))
    center[order] = s[: len(order)]
    return center.T / tau["size"][0][:, None]


def peer(x: Any, args: argparse.Namespace, moves: int, **given: Any) -> tuple[float, Any]:
    """Run scikit-learn's fit; return its seconds and its model."""
    from sklearn.cluster import KMeans

    model = KMeans(args.clusters, n_init=1, max_iter=moves, tol=0, **given)
    with threadpool_limits(args.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(x)
        return time.perf_counter() - start, model


def names_of_peers(x: Any) -> list[str]:
    """Return the names of tux and of what it is compared with."""
    is_there = isinstance(x, np.ndarray) and importlib.util.find_spec("faiss")
    return ["tux", "lloyd", "elkan", *(["faiss"] if is_there else [])]


def faiss_seconds(x: np.ndarray, args: argparse.Namespace, moves: int, seed: int) -> float:
    """Return the seconds of faiss's training. ImportError."""
    import faiss

    faiss.omp_set_num_threads(args.threads)
    model = faiss.Kmeans(
        x.shape[1],
        args.clusters,
        niter=moves,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=len(x),
    )
    start = time.perf_counter()
    model.train(x)
    return time.perf_counter() - start


def time_runs(
    x: Any, data: EdgeData, args: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Return (seconds to the first move, seconds of an iteration) of each run, by name."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names_of_peers(x)}
    train_moves(x, data, args, 1)  # compiles
    for turn in range(args.runs):
        seconds = column(train_moves(x, data, args, args.iterations, turn), "seconds")
        more = max(len(seconds) - 1, 1)
        found["tux"].append((seconds[0], (seconds[-1] - seconds[0]) / more))
        for name in [each for each in found if each not in ("tux", "faiss")]:
            given = {"algorithm": name, "random_state": turn}
            first, _ = peer(x, args, 1, **given)
            whole, model = peer(x, args, args.iterations, **given)
            found[name].append((first, (whole - first) / max(model.n_iter_ - 1, 1)))
        if "faiss" in found:
            first = faiss_seconds(x, args, 1, turn)
            whole = faiss_seconds(x, args, args.iterations, turn)
            found["faiss"].append((first, (whole - first) / max(args.iterations - 1, 1)))
    return found


def compare_set(name: str, args: argparse.Namespace) -> None:
    """Measure a data set, and print its lines."""
    x = matrix(name, args)
    data = to_edges(x)
    found = time_runs(x, data, args)
    ours = [statistics.median(each) for each in zip(*found["tux"], strict=True)]
    for label, pairs in found.items():
        first, each = (statistics.median(part) for part in zip(*pairs, strict=True))
        write(f"{name:<14} {label:<6} first {first:8.3f}  iteration {each:8.4f}")
        write(f"  tux / it {ours[0] / first:5.2f} {ours[1] / each:5.2f}\n")
    begun = centers(train_moves(x, data, args, 1))
    last = column(train_moves(x, data, args, args.iterations), "inertia")
    _, model = peer(x.astype(np.float64), args, max(len(last) - 1, 1), init=begun)
    write(f"{name:<14} same  {last[-1] / model.inertia_ - 1:.1e}\n")
    if args.seeds:
        mine = [column(train_moves(x, data, args, 1, s), "inertia")[-1] for s in range(args.seeds)]
        theirs = [peer(x, args, 1, random_state=s)[1].inertia_ for s in range(args.seeds)]
        share = statistics.mean(mine) / statistics.mean(theirs)
        write(f"{name:<14} mean inertia after the first centers, tux / scikit-learn {share:.4f}\n")
    sys.stdout.flush()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = os.environ.get("TUX_TEST_DATA", "")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--sets", type=names_among(SETS), default=",".join(SETS))
    for name, default in {
        "clusters": 100,
        "iterations": 20,
        "runs": 5,
        "threads": 1,
        "points": 1_000_000,
        "features": 32,
        "seeds": 0,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--spread", type=float, default=5.0)
    args = parser.parse_args()
    for name in args.sets:
        if name != "points" and args.data is None:
            parser.error("--data names no folder")
        compare_set(name, args)


if __name__ == "__main__":
    main()
