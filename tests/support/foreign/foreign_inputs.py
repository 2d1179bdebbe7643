"""Each form of input: how the data of an app take it, or why they cannot.

`docs/formats.md` is made of these, by `tests/foreign_page.py`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp
from support.foreign.foreign_apps import LABELS, WORDS, AppWithData, import_or_skip


class FormRefusal(NamedTuple):
    """A form that an app does not read: `why` in a few words, and words of its message."""

    why: str
    words: str


GIVEN = "as given"


class Form(NamedTuple):
    """A form of input. `make` returns data and options of a run, and may write files into a
    folder. `ids`: which ids come back for the rows and the columns, from which number they count
    or "as given"; those of documents' words are the words. `refused`, by app or by the kind of
    data that it reads.
    """

    make: Callable[[AppWithData, Path], tuple[Any, dict[str, Any]]]
    ids: tuple[int | str, int | str]
    refused: Mapping[str, FormRefusal] = {}

    def refusal(self, app: AppWithData) -> FormRefusal | None:
        """Return why an app does not read this form; None if it does."""
        return self.refused.get(app.ends[1])


# ---- in memory


def _pandas(app, at):
    return import_or_skip("pandas").DataFrame(app.columns), {}


def _polars(app, at):
    return import_or_skip("polars").DataFrame(app.columns), {}


def _arrow(app, at):
    return pa.table(app.columns), {}


def _duck(app, at):
    return import_or_skip("duckdb").from_arrow(pa.table(app.columns)), {}


def columns(app, at):
    """Return a dict of arrays of numpy: what the others are compared with."""
    return dict(app.columns), {}


def _tuple(app, at):
    return tuple(app.columns.values()), {}


def _sparse(app, at):
    matrix = sp.csr_array(app.matrix)
    beside = LABELS if app.of_samples else WORDS if app.of_documents else None
    return (matrix if beside is None else (matrix, beside)), {}


def _network(app, at):
    graph = nx.Graph()
    if app.of_graphs:
        graph.add_edges_from(
            zip(*(column.tolist() for column in app.columns.values()), strict=True)
        )
        return graph, {}
    rows, others, numbers = _entries(app)
    one, other = app.ends
    graph.add_nodes_from(((one, row) for row in dict.fromkeys(rows)), bipartite=0)
    graph.add_nodes_from(((other, each) for each in dict.fromkeys(others)), bipartite=1)
    for row, each, number in zip(rows, others, numbers, strict=True):
        graph.add_edge((one, row), (other, each), weight=number)
    return graph, {}


def _entries(app):
    """Return row, column and number of each entry, as lists; words for the columns of documents."""
    row, column = np.nonzero(app.matrix)
    names = [WORDS[k] for k in column] if app.of_documents else column.tolist()
    return row.tolist(), names, app.matrix[row, column].tolist()


def _texts(app, at):
    return _documents(app), {}


def _documents(app):
    """Return rows as texts; rows of other data than documents have words, too."""
    lines = (np.repeat(np.arange(app.matrix.shape[1]), row) for row in app.matrix)
    return [" ".join(WORDS[k % len(WORDS)] for k in line) or "none at all" for line in lines]


# ---- files


def _csv(app, at):
    pa.csv.write_csv(pa.table(app.columns), at / "data.csv")
    return at / "data.csv", {}


def _plain(app, at):
    rows = zip(*(column.tolist() for column in app.columns.values()), strict=True)
    return _lines(at / "data.txt", (" ".join(map(str, row)) for row in rows)), {}


def _parquet(app, at):
    pa.parquet.write_table(pa.table(app.columns), at / "data.parquet")
    return at / "data.parquet", {}


def _lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _bags(app, first):
    """Yield of each row its pairs ``column:number``."""
    for row in app.matrix:
        (there,) = np.nonzero(row)
        yield [f"{column + first}:{row[column]}" for column in there]


def _vocabulary(app, at):
    return {"vocab": _lines(at / "vocab.txt", WORDS)} if app.of_documents else {}


def _docword(app, at):
    row, column = np.nonzero(app.matrix)
    sizes = *app.matrix.shape, len(row)
    numbers = app.matrix[row, column]
    entries = (f"{i + 1} {j + 1} {n}" for i, j, n in zip(row, column, numbers, strict=True))
    return _lines(at / "docword.txt", [*sizes, *entries]), _vocabulary(app, at)


def _lda_c(app, at):
    lines = (" ".join([str(len(bag)), *bag]) for bag in _bags(app, 0))
    return _lines(at / "data.ldac", lines), _vocabulary(app, at)


def _svm(app, at):
    labels = [f"{label:+d}" for label in LABELS] if app.of_samples else [""] * len(app.matrix)
    bags = zip(labels, _bags(app, 1), strict=True)
    return _lines(at / "data.svm", (" ".join([label, *bag]).strip() for label, bag in bags)), (
        _vocabulary(app, at)
    )


def _npz(app, at):
    sp.save_npz(at / "data.npz", sp.csr_array(app.matrix))
    if not app.of_samples:
        return at / "data.npz", {}
    return at / "data.npz", {"labels": _lines(at / "labels.txt", LABELS)}


def _market(app, at):
    scipy.io.mmwrite(at / "data.mtx", sp.coo_array(app.matrix))
    return at / "data.mtx", {}


def _matlab(app, at):
    scipy.io.savemat(at / "data.mat", {"network": sp.csc_array(app.matrix.astype(float))})
    return at / "data.mat", {}


def _metis(app, at):
    matrix = app.matrix if app.of_graphs else np.ones((3, 3), int) - np.eye(3, dtype=int)
    both = matrix | matrix.T
    lines = (" ".join(str(k + 1) for k in np.flatnonzero(row)) for row in both)
    return _lines(at / "data.graph", [f"{len(both)} {both.sum() // 2}", *lines]), {}


def _words(app, at):
    return _lines(at / "data.txt", _documents(app)), {"form": "text"}


NO_NAMES = FormRefusal("columns need names", "5 parts of samples")
NO_FILES = FormRefusal("these are names of files", "no such file")
FILES = dict.fromkeys(("item", "node", "feature"), NO_FILES)
BAGS = {"node": FormRefusal("two types of vertices", "which are not both of type node")}
NO_TEXT = FormRefusal("no documents", "reads edges, not documents")


def refuse_unlabelled(what: str) -> dict[str, FormRefusal]:
    """Return the refusal of apps of samples, which need labels, of a form that has none."""
    return {"feature": FormRefusal("no labels", f"{what} file, which has no labels")}


FORMS = {
    "pandas: `DataFrame`": Form(_pandas, (GIVEN, GIVEN)),
    "polars: `DataFrame`": Form(_polars, (GIVEN, GIVEN)),
    "pyarrow: `Table`": Form(_arrow, (GIVEN, GIVEN)),
    "DuckDB: a relation": Form(_duck, (GIVEN, GIVEN)),
    "numpy: a dict of columns": Form(columns, (GIVEN, GIVEN)),
    "numpy: a tuple of columns": Form(_tuple, (GIVEN, GIVEN), {"feature": NO_NAMES}),
    "scipy.sparse: a matrix": Form(_sparse, (0, 0)),
    "networkx: a graph": Form(
        _network, (GIVEN, GIVEN), {"feature": FormRefusal("no labels", "is nothing that ")}
    ),
    "a list of texts": Form(_texts, (0, GIVEN), FILES),
    "CSV, with a header": Form(_csv, (GIVEN, GIVEN)),
    "text, without a header": Form(
        _plain,
        (GIVEN, GIVEN),
        {"feature": FormRefusal("columns need names", "is no line of column names")},
    ),
    "Parquet": Form(_parquet, (GIVEN, GIVEN)),
    "UCI docword": Form(_docword, (1, 1), BAGS | refuse_unlabelled("docword")),
    "lda-c": Form(
        _lda_c,
        (1, 0),
        BAGS
        | {
            "feature": FormRefusal(
                "features begin at 1", "feature 0, but features are numbered from 1"
            )
        },
    ),
    "libsvm": Form(_svm, (1, 1), BAGS),
    "`.npz` of scipy": Form(_npz, (0, 0)),
    "Matrix Market": Form(_market, (1, 1), refuse_unlabelled("Matrix Market")),
    "MATLAB's `.mat`": Form(_matlab, (0, 0), refuse_unlabelled("MATLAB")),
    "METIS": Form(
        _metis,
        (1, 1),
        refuse_unlabelled("METIS")
        | {
            "item": FormRefusal("one type of vertices", "no edges from user to item"),
            "word": FormRefusal("one type of vertices", "no edges from document to word"),
        },
    ),
    "plain text, a document a line": Form(
        _words,
        (1, GIVEN),
        {"item": NO_TEXT, "node": NO_TEXT, "feature": FormRefusal("no labels", "no form 'text'")},
    ),
}
"""By the name in the table."""

MEMORY = 9
"""The number of the first forms, which are in memory."""


def expected_ids(form: Form, app: AppWithData) -> dict[str, list[Any]]:
    """Return the ids of a model of data in this form, by vertex type. Samples are numbered by their
    rows, from 0 in memory, from 1 in files.
    """
    rows, columns = app.matrix.shape
    first, other = form.ids
    if app.of_samples:
        names = list(app.columns)[:columns]
        found = names if other == GIVEN else _count_from(other, columns)
        return {"feature": found}
    found = {app.ends[0]: _count_from(0 if first == GIVEN else first, rows)}
    if not app.of_graphs:
        found[app.ends[1]] = _count_from(0 if other == GIVEN else other, columns)
    return found


def _count_from(first: Any, count: int) -> list[int]:
    return list(range(first, first + count))
