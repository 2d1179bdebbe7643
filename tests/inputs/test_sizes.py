"""The number of edges that a run reports."""

import numpy as np

from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.inputs.load import load
from tux.inputs.sizes import EdgeTotals, describe_edges, sizes_of

WORDS = EdgeData.of(
    ("document", "word"),
    np.array([0, 0, 1]),
    np.array(["a", "b", "b"]),
    {"count": np.array([1, 4, 6], np.int32)},
)


def test_a_row_that_stands_for_several_is_counted_as_often():
    program = LDA(topics=2)
    sizes = load(program, WORDS, WORDS).sizes
    assert (sizes["edges"], sizes["repeated"], sizes["test"]["repeated"]) == (3, 11, 11)
    assert describe_edges(sizes, program) == "11 occurrences"


def test_rows_are_counted_where_it_is_not_known_how_often_they_are_there():
    sizes = sizes_of(WORDS.bare(), None, EdgeTotals(3), "count")
    assert describe_edges(sizes, LDA(topics=2)) == "3 pairs of document and word"
    assert describe_edges({"edges": 3}, MF()) == "3 ratings"
    assert describe_edges({"edges": 1}, "it cannot be loaded") == "1 edge"
    assert describe_edges({"edges": 0}, MF()) == ""
