"""The programs that come with tux, each with tiny data that every form of input can hold, and a
short run: for the tests of `tests/foreign/`, which give these data in each form to each program,
and each model to other people's programs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tux

RATINGS = np.array(
    [
        [5, 3, 1, 4, 2],
        [4, 0, 1, 5, 0],
        [1, 2, 5, 0, 4],
        [0, 2, 4, 1, 5],
        [5, 4, 0, 4, 1],
        [2, 0, 4, 0, 5],
    ]
)
COUNTS = np.array(
    [
        [2, 1, 1, 1, 1, 1],
        [3, 2, 0, 0, 0, 1],
        [0, 0, 2, 3, 1, 0],
        [0, 1, 2, 2, 0, 0],
        [2, 3, 0, 0, 1, 0],
        [0, 0, 1, 2, 3, 1],
    ]
)
SAMPLES = np.array(
    [
        [1, 2, 1, 1],
        [0, 2, 0, 1],
        [3, 0, 0, 1],
        [0, 1, 2, 0],
        [2, 0, 1, 0],
        [0, 1, 2, 0],
        [2, 0, 0, 1],
        [0, 3, 1, 1],
    ]
)
LABELS = np.array([1, -1, 1, -1, 1, -1, 1, -1])
WORDS = ["ash", "bay", "cow", "dog", "elm", "fox"]
FEATURES = ["f1", "f2", "f3", "f4"]
NODES = 10
LINKS = np.array(
    sorted({tuple(sorted((v, (v + by) % NODES))) for v in range(NODES) for by in (1, 3)})
)
"""A ring of ten, with chords over three; each link once, from the lower end."""


def _adjacency() -> np.ndarray:
    matrix = np.zeros((NODES, NODES), int)
    matrix[LINKS[:, 0], LINKS[:, 1]] = 1
    return matrix


class AppWithData(NamedTuple):
    """A program, and its data: `columns` as a table has them, `matrix` as a matrix has them. In
    both, and row by row, ids come first in their order. `ends` are the types of vertices.
    """

    name: str
    program: Callable[[], Any]
    ends: tuple[str, str]
    columns: dict[str, np.ndarray]
    matrix: np.ndarray
    epochs: int = 2

    @property
    def of_documents(self) -> bool:
        """True if it reads documents."""
        return self.ends[1] == "word"

    @property
    def of_samples(self) -> bool:
        """True if it reads samples with labels."""
        return self.ends[1] == "feature"

    @property
    def of_graphs(self) -> bool:
        """True if the vertices are of one type."""
        return self.ends[0] == self.ends[1]


def _triples(matrix: np.ndarray, names: tuple[str, str, str]) -> dict[str, np.ndarray]:
    row, column = np.nonzero(matrix)
    return dict(zip(names, (row, column, matrix[row, column]), strict=True))


_RATINGS = _triples(RATINGS, ("user", "item", "rating"))
_COUNTS = _triples(COUNTS, ("document", "word", "count"))
_COUNTS["word"] = np.array(WORDS, object)[_COUNTS["word"]]
_SAMPLES = dict(zip(FEATURES, SAMPLES.T.astype(float), strict=True)) | {"label": LABELS}
_LINKS = {"source": LINKS[:, 0], "target": LINKS[:, 1]}
_WALKING = {"num_walks": 2, "walk_length": 5}

_DOCUMENT = ("document", "word")
_NODE = ("node", "node")
APPS = {
    app.name: app
    for app in (
        AppWithData("MF", lambda: tux.MF(rank=3), ("user", "item"), _RATINGS, RATINGS),
        AppWithData("LDA", lambda: tux.LDA(topics=2, sampler="sparse"), _DOCUMENT, _COUNTS, COUNTS),
        AppWithData("WarpLDA", lambda: tux.WarpLDA(topics=2), _DOCUMENT, _COUNTS, COUNTS),
        AppWithData(
            "BlockPG", lambda: tux.BlockPG(l1=0.1), ("sample", "feature"), _SAMPLES, SAMPLES, 4
        ),
        AppWithData(
            "DeepWalk",
            lambda: tux.DeepWalk(dimensions=4, window=2, pool=8, **_WALKING),
            _NODE,
            _LINKS,
            _adjacency(),
            1,
        ),
        AppWithData("Walks", lambda: tux.Walks(**_WALKING), _NODE, _LINKS, _adjacency(), 1),
    )
}

LIKE = {
    app.name: app
    for app in (
        AppWithData("ALS", lambda: tux.ALS(rank=3), ("user", "item"), _RATINGS, RATINGS),
        AppWithData("BPR", lambda: tux.BPR(rank=3), ("user", "item"), _RATINGS, RATINGS),
        AppWithData("Linear", lambda: tux.Linear(), ("sample", "feature"), _SAMPLES, SAMPLES, 4),
        AppWithData(
            "GBDT",
            lambda: tux.GBDT(max_iter=2, max_depth=2),
            ("sample", "feature"),
            _SAMPLES,
            SAMPLES,
        ),
    )
}
"""Apps that read the same as one of `APPS` with the same vertices."""


def train(app: AppWithData, data: Any, out: Any, **options: Any) -> Any:
    """Return a short run of an app in this process, without compiled functions."""
    how = {"epochs": app.epochs, "seed": 1, "jit": False, "threads": 1, "out": out}
    return tux.run(app.program(), data, progress=False, **how | options)


def import_or_skip(library: str) -> Any:
    """Import a library that may be missing; the test is skipped then."""
    return pytest.importorskip(library, reason=f"{library} is not installed")


def columns_of_csv(app: AppWithData, path: Any) -> Any:
    """Return a CSV file with the columns of an app's data, made at the first call."""
    if not path.exists():
        rows = zip(*(column.tolist() for column in app.columns.values()), strict=True)
        lines = [app.columns, *rows]
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    return path
