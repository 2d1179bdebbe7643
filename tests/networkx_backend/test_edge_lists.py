"""Graphs from tables and matrices: those of networkx, in its order."""

from random import Random

import networkx as nx
import numpy as np
import pytest
from support.networkx_cases.graphs import is_same

from tux.networkx_backend import edge_lists
from tux.networkx_backend.edge_lists import (
    from_numpy_array,
    from_pandas_edgelist,
    from_scipy_sparse_array,
)
from tux.networkx_backend.interface import backend

pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")


def table(names, seed=0, rows=40):
    """Return random edges with repeated ones, both ways round, and self-loops."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, 9, (2, rows))
    return pd.DataFrame(
        {
            "source": names(ends[0]),
            "target": names(ends[1]),
            "w": draw.random(rows),
            "k": draw.integers(0, 5, rows),
            "s": "text",
        }
    )


NAMES = {
    "small": lambda ends: ends,
    "negative": lambda ends: ends - 100,
    "narrow": lambda ends: ends.astype(np.int16),
    "unsigned": lambda ends: ends.astype(np.uint8),
    "far apart": lambda ends: ends * 10**15,
    "strings": lambda ends: [f"v{each}" for each in ends],
    "mixed": lambda ends: np.array([each if each % 2 else f"v{each}" for each in ends], object),
}


@pytest.mark.parametrize("kind", [None, nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("name", NAMES)
def test_tables(name, kind):
    edges = table(NAMES[name])
    for attributes in (None, "w", ["w", "k"], ("k",)):
        made = from_pandas_edgelist(edges, edge_attr=attributes, create_using=kind)
        expected = nx.from_pandas_edgelist(edges, edge_attr=attributes, create_using=kind)
        assert is_same(made, expected), attributes
    numbers = edges[["source", "target", "w", "k"]]
    expected = nx.from_pandas_edgelist(numbers, edge_attr=True, create_using=kind)
    assert is_same(from_pandas_edgelist(numbers, edge_attr=True, create_using=kind), expected)


def test_a_table_without_rows():
    edges = pd.DataFrame({"source": [], "target": []})
    assert len(from_pandas_edgelist(edges)) == 0


def test_predecessors_are_in_the_order_of_nodes():
    made = from_pandas_edgelist(table(NAMES["strings"]), create_using=nx.DiGraph)
    back, numbers = made.to_networkx(), {node: number for number, node in enumerate(made)}
    for node in back:
        assert list(back.pred[node]) == sorted(back.pred[node], key=numbers.__getitem__)
        found = backend.single_target_shortest_path_length(made, node)
        assert list(found.items()) == list(
            nx.single_target_shortest_path_length(back, node).items()
        )
    found = nx.community.fast_label_propagation_communities(back, seed=1)
    again = backend.fast_label_propagation_communities(made, seed=Random(1))
    assert list(again) == list(found)


def test_wrong_columns_are_those_of_networkx():
    edges = table(NAMES["small"])
    for kwargs in ({"edge_attr": "no"}, {"edge_attr": []}, {"source": "no"}):
        with pytest.raises((nx.NetworkXError, KeyError)) as expected:
            nx.from_pandas_edgelist(edges, **kwargs)
        with pytest.raises(type(expected.value)) as told:
            from_pandas_edgelist(edges, **kwargs)
        assert str(told.value) == str(expected.value)


def test_columns_of_text_are_left_to_networkx():
    with pytest.raises(NotImplementedError, match="'s'"):
        from_pandas_edgelist(table(NAMES["small"]), edge_attr="s")


@pytest.mark.parametrize("kind", [None, nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil"])
def test_matrices(form, kind):
    entries = np.random.default_rng(3).integers(0, 3, (8, 8))
    entries[4] = entries[:, 4] = 0  # an isolated node
    for dtype in (np.int64, np.float32):
        matrix = sparse.csr_array(entries.astype(dtype)).asformat(form)
        made = from_scipy_sparse_array(matrix, create_using=kind, edge_attribute="x")
        expected = nx.from_scipy_sparse_array(matrix, create_using=kind, edge_attribute="x")
        assert is_same(made, expected)


@pytest.mark.parametrize("kind", [None, nx.Graph, nx.DiGraph])
def test_arrays(kind):
    entries = np.random.default_rng(4).integers(0, 3, (8, 8))
    entries[4] = entries[:, 4] = 0
    letters = list("hgfedcba")
    for dtype in (np.int64, np.uint8, np.float32):
        for kwargs in ({}, {"edge_attr": "x"}, {"edge_attr": None}, {"nodelist": letters}):
            given = {"create_using": kind, **kwargs}
            made = from_numpy_array(entries.astype(dtype), **given)
            assert is_same(made, nx.from_numpy_array(entries.astype(dtype), **given)), given


def test_wrong_arrays_are_those_of_networkx():
    square = np.ones((2, 2))
    for given in ((np.ones(3),), (np.ones((2, 3)),), (square, False, None, "w")):
        kwargs = {"nodelist": ["a"]} if len(given) > 1 else {}
        with pytest.raises((nx.NetworkXError, ValueError)) as expected:
            nx.from_numpy_array(*given, **kwargs)
        with pytest.raises(type(expected.value)) as told:
            from_numpy_array(*given, **kwargs)
        assert str(told.value) == str(expected.value)


@pytest.mark.parametrize("nodes", [["a", "a"], ["a", None], ["a", ("b", {"size": 3})]])
def test_nodes_that_are_not_distinct_are_left_to_networkx(nodes):
    with pytest.raises(NotImplementedError, match="nodelist"):
        from_numpy_array(np.ones((2, 2)), nodelist=nodes)


def test_arrays_of_other_types_are_left_to_networkx():
    for dtype in (bool, complex, object, "U3", [("weight", float)]):
        with pytest.raises(NotImplementedError, match="numbers"):
            from_numpy_array(np.zeros((2, 2), dtype))


@pytest.mark.parametrize("kind", [None, nx.DiGraph])
def test_matrices_of_numpy(kind):
    for entries in ([[0, 2], [2, 0]], [[3]], [[0, 1.5], [0, 0]], np.empty((0, 0))):
        matrix = np.asarray(entries).view(np.matrix)
        made = from_numpy_array(matrix, create_using=kind)
        assert is_same(made, nx.from_numpy_array(matrix, create_using=kind))


def test_other_classes_of_arrays_are_left_to_networkx():
    entries = np.ones((2, 2))
    for given in (np.ma.masked_array(entries, entries > 0), sparse.csr_array(entries)):
        with pytest.raises(NotImplementedError, match="not an array"):
            from_numpy_array(given)


def test_nothing_is_no_node():
    edges = pd.DataFrame({"source": ["a", None], "target": ["b", "c"]}, dtype=object)
    for make in (from_pandas_edgelist, nx.from_pandas_edgelist):
        with pytest.raises(ValueError, match="None cannot be a node"):
            make(edges)
    lists = pd.DataFrame({"source": ["a", [1]], "target": ["b", "c"]}, dtype=object)
    for make in (from_pandas_edgelist, nx.from_pandas_edgelist):
        with pytest.raises(TypeError, match="unhashable|cannot use"):
            make(lists)


def test_each_nan_of_a_column_of_floats_is_a_node():
    edges = pd.DataFrame({"source": [1.0, float("nan"), 2], "target": [float("nan"), 1, 2]})
    made, expected = from_pandas_edgelist(edges), nx.from_pandas_edgelist(edges)
    assert str(list(made)) == str(list(expected))
    assert made.degrees().tolist() == [degree for _, degree in expected.degree()]


def test_columns_of_one_name_are_left_to_networkx():
    edges = pd.DataFrame([[0, 1, 2, 3]], columns=["source", "target", "w", "w"])
    for kwargs in ({"edge_attr": "w"}, {"edge_attr": True}, {"target": "w"}, {"source": "w"}):
        with pytest.raises(NotImplementedError, match="several columns"):
            from_pandas_edgelist(edges, **kwargs)
    assert list(from_pandas_edgelist(edges)) == [0, 1]


def test_a_matrix_that_is_not_square():
    with pytest.raises(nx.NetworkXError, match="not square"):
        from_scipy_sparse_array(sparse.csr_array(np.ones((2, 3))))


def test_other_classes_are_left_to_networkx():
    assert (
        edge_lists.why_not({}) is None and edge_lists.why_not({"create_using": nx.DiGraph}) is None
    )
    for kind in (nx.MultiGraph, nx.Graph(), nx.DiGraph()):
        assert "create_using" in edge_lists.why_not({"create_using": kind})
