"""The programs of the soak, each with data that it makes: what is run, for how long, and how its
result is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from faults.room import ReferenceRuns
from soak.formulas import (
    Formula,
    judge_clusters,
    judge_factors,
    judge_lasso,
    judge_points,
    judge_ridge,
    judge_squares,
    judge_topics,
    judge_trees,
)
from tux.predict.column_files import writer
from tux.synthetic.clicks import clicks, write_clicks
from tux.synthetic.clusters import clusters
from tux.synthetic.corpus import corpus, write_corpus
from tux.synthetic.graph import graph
from tux.synthetic.ratings import ratings, write_ratings

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "x" * 4200  # a column that no program reads: 33 MB of it, which are loaded in shares

Words = list[object]


def write_rated(folder: Path) -> Words:
    """Write ratings of items by users, a tenth of them held out."""
    train, test = folder / "ratings.csv", folder / "held-out.csv"
    write_ratings(ratings(300, 100, 8000, test_share=0.1), train, test)
    return [train, "--test", test]


def write_wide(folder: Path) -> Words:
    """Write ratings with a column of notes, so large that workers load it in shares."""
    _, _, test = write_rated(folder)
    heads, *rows = (folder / "ratings.csv").read_text(encoding="utf-8").splitlines()
    lines = [f"{heads},note", *(f"{row},{NOTE}" for row in rows)]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [folder / "wide.csv", "--test", test]


def write_documents(folder: Path) -> Words:
    """Write documents of known topics."""
    write_corpus(corpus(200, 400, 10, 20_000), path := folder / "documents.csv")
    return [path]


def write_samples(folder: Path) -> Words:
    """Write samples with labels, a fifth of them held out."""
    train, test = folder / "train.svm", folder / "test.svm"
    write_clicks(clicks(1500, 300, 15, 30, test_share=0.2), train, test)
    return [train, "--test", test]


def write_unjudged(folder: Path) -> Words:
    """Write samples with labels, of which none is held out."""
    return write_samples(folder)[:1]


def write_points(folder: Path) -> Words:
    """Write points around centers."""
    columns = clusters(4000, 6, 12, 4.0).columns()
    del columns["cluster"]
    return _write(folder / "points.csv", columns)


def write_links(folder: Path) -> Words:
    """Write links of power-law degrees."""
    source, target = graph(800, 6000)
    return _write(folder / "links.csv", {"source": source, "target": target})


def write_friends(folder: Path) -> Words:
    """Write such links, each in both directions and once, none from a vertex to itself."""
    source, target = graph(800, 6000)
    pairs = np.array([source, target])[:, source != target]
    both = np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1)
    return _write(folder / "friends.csv", {"source": both[0], "target": both[1]})


def write_roads(folder: Path, side: int = 50) -> Words:
    """Write the roads of a town whose streets are a square grid: their lengths are whole numbers,
    so that all sums are exact.
    """
    place = np.arange(side * side).reshape(side, side)
    source = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
    target = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
    length = np.random.default_rng(1).integers(1, 9, len(source))
    both = {"source": [source, target], "target": [target, source], "length": [length, length]}
    return _write(folder / "roads.csv", {name: np.concatenate(two) for name, two in both.items()})


def _write(path: Path, columns: dict[str, Any]) -> Words:
    """Write columns as a table."""
    writer(path)(columns)
    return [path]


class SoakCase(NamedTuple):
    """A program, and how its result is judged. `data(folder)` writes its data, and returns the
    words of the command that name them. At slack 0 and on one number of workers the bytes must be
    the right ones. Else the `metric` of the last epoch may differ from the right one by the share
    `noise`; if the case is `exact`, the bytes of the model must be the right ones even then. If it
    has `close`, numbers of the model may differ by such a share. Metrics that its `formula` gives
    of the files of the model must be those of the records, always.

    Without `moves` a run cannot go on on another number of workers.
    """

    name: str
    program: str
    data: Callable[[Path], Words]
    flags: Mapping[str, object]
    metric: str = ""
    noise: float = 0.1
    close: float = 0.0
    formula: Formula | None = None
    exact: bool = False
    moves: bool = True
    slacks: tuple[int, ...] = (0, 0, 1, 3)
    partitioners: tuple[str, ...] = ("bicut", "aweto")

    def runs(self, folder: Path) -> ReferenceRuns:
        """Write the data into a new folder, and return the runs on them."""
        folder.mkdir()
        return ReferenceRuns(folder, [self.program, *self.data(folder)], {**self.flags})


def _case(
    name: str, data: Callable[[Path], Words], flags: str = "", *, of: str = "", **more: Any
) -> SoakCase:
    """Return the case of an app, `of` that name if it has another one, or of a program of the
    documents.
    """
    paths = [DOCS / f"{name}.py", DOCS / "examples" / f"{name}.py"]
    program = of or next((str(path) for path in paths if path.exists()), name)
    words = flags.split()
    named = dict(zip(words[::2], words[1::2], strict=True))
    return SoakCase(name, program, data, named, **more)


_CUT: dict[str, Any] = {"partitioners": ("bicut", "random", "dbh", "hybrid")}
_WHOLE: dict[str, Any] = {"partitioners": ()}
_RMSE: dict[str, Any] = {"metric": "test_rmse", "formula": judge_factors}
_RIDGE: dict[str, Any] = {"metric": "objective", "formula": judge_ridge}
_TOPICS: dict[str, Any] = {"metric": "loglik_per_token", "formula": judge_topics}
_AT_ONCE: dict[str, Any] = {"exact": True, "slacks": (0,)}

CASES = [
    _case("mf", write_rated, "--rank 8 --epochs 80", of="mf", **_RMSE, **_CUT),
    _case("wide", write_wide, "--rank 8 --epochs 60", of="mf", **_RMSE, **_CUT),
    _case(
        "als",
        write_rated,
        "--rank 6 --epochs 60",
        of="als",
        metric="train_rmse",
        formula=judge_squares,
    ),
    _case("bpr", write_rated, "--rank 6 --epochs 60", metric="violations", noise=0.5),
    _case("lda", write_documents, "--topics 10 --epochs 60", **_TOPICS),
    _case("warplda", write_documents, "--topics 10 --epochs 60", **_TOPICS),
    _case(
        "kmeans",
        write_samples,
        "--n-clusters 12 --tol 0",
        of="kmeans",
        metric="inertia",
        formula=judge_clusters,
    ),
    _case(
        "kmeans_points",
        write_points,
        "--n-clusters 12 --tol 0",
        metric="inertia",
        formula=judge_points,
        **_WHOLE,
    ),
    _case(
        "gbdt",
        write_samples,
        "--max-iter 40 --max-depth 3",
        metric="objective",
        formula=judge_trees,
        **_WHOLE,
    ),
    _case("linear", write_samples, "--l2 1 --tol 0 --epochs 60", **_RIDGE),
    _case("adam", write_samples, "--solver adam --l2 1 --epochs 60", of="linear", **_RIDGE),
    _case(
        "blockpg",
        write_samples,
        "--l1 1 --tol 0 --epochs 60",
        metric="objective",
        formula=judge_lasso,
    ),
    _case("deepwalk", write_links, "--dimensions 16 --num-walks 3 --epochs 6", **_WHOLE),
    _case("walks", write_links, "--num-walks 20", exact=True, moves=False, **_WHOLE),
    _case("pagerank", write_links, "--tolerance 0 --epochs 80", close=1e-5, **_CUT),
    _case("hits", write_links, "--tolerance 0 --epochs 60", close=1e-4, **_CUT),
    _case("components", write_roads, exact=True, **_CUT),
    _case("shortest_paths", write_roads, "--source 0", exact=True, **_CUT),
    _case("core_numbers", write_friends, exact=True, **_CUT),
    _case("label_propagation", write_friends, partitioners=("source",), **_AT_ONCE),
    _case("colouring", write_friends, partitioners=("source",), **_AT_ONCE),
    _case("independent_set", write_friends, **_AT_ONCE, **_CUT),
    _case("triangles", write_friends, "--width 16", **_AT_ONCE, **_CUT),
    _case("lbfgs", write_unjudged, "--tolerance 0 --epochs 60", **_RIDGE, **_CUT),
]
"""All cases."""
