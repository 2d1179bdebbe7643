"""The formats of files, and what a file of edges declares of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Literal, NamedTuple

from tux.arrays.edges import EdgeData
from tux.arrays.packed import ENDINGS
from tux.io.edges.request import EdgeRequest
from tux.io.formats.foreign_kinds import Beginning

Form = Literal["docword", "lda-c", "svm", "text"]


class Format(Enum):
    """The kind of a file."""

    MAT = "mat"  # MATLAB
    METIS = "metis"
    PARQUET = "parquet"
    NPZ = "npz"  # numpy's arrays, perhaps a sparse matrix of scipy
    NPY = "npy"  # one array of numpy, which only points may be
    MARKET = "market"  # Matrix Market
    DIMACS = "dimacs"
    GML = "gml"
    PAJEK = "pajek"
    GRAPHML = "graphml"
    ADJLIST = "adjlist"  # a vertex and its neighbours on each line
    EDGE_DATA = "edge-data"  # of networkx: two ends and a dict on each line
    DOCWORD = "docword"  # UCI
    LDA_C = "lda-c"
    SVM = "svm"  # libsvm
    TEXT = "text"  # any other: a table as text, or text whose form only the caller can know

    @property
    def bags(self) -> Form | None:
        """The form of a file whose rows are bags of columns; None of another file, and of text."""
        return BAGS.get(self)


BAGS: dict[Format, Form] = {
    Format.DOCWORD: "docword",
    Format.LDA_C: "lda-c",
    Format.SVM: "svm",
}


class FileStart(NamedTuple):
    """The beginning of a file, by which its format is recognised."""

    path: str
    ending: str  # see `name_ending`
    head: bytes  # its first bytes, unpacked
    lines: Beginning


class EdgeFormat(NamedTuple):
    """A format whose files hold a whole graph or matrix, and are no tables. The file that reads it
    declares it; `tux.io.formats.edge_formats` lists all.

    `alone`: why several such files are not one. `begins`: whether a file begins so, if its first
    lines or its name can tell. `one_type`: why the vertices are of one type, if they always are.
    `shape`: of a matrix, its numbers of rows and columns, by the names of the file and the matrix;
    its rows are known by their numbers.
    """

    format: Format
    title: str  # for messages
    alone: str
    read: Callable[[EdgeRequest], EdgeData]
    begins: Callable[[FileStart], bool] = lambda start: False
    one_type: str = ""
    shape: Callable[[str, str | None], tuple[int, int]] | None = None


def name_ending(path: str | os.PathLike[str]) -> str:
    """Return the end of a file's name in small letters, without that of its packing: ".svm" for
    train.SVM.gz.
    """
    name = os.fspath(path).lower()
    name = name.removesuffix(next((end for end in ENDINGS if name.endswith(end)), ""))
    return os.path.splitext(name)[1]
