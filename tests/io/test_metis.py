"""METIS and Matrix Market files: what they hold, and where and how they are wrong."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import mmwrite
from support.messages import message

from tux.arrays.networks import from_scipy
from tux.base.errors import DataError, UsageError
from tux.io.edges.metis import is_metis, read_metis
from tux.io.edges.read import read_edges
from tux.io.source import text as io_text

ONE = ("page", "page")
TWO = ("user", "item")


@pytest.fixture
def file(tmp_path):
    def write(text, name="g.graph"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def edges_of(path, ends=ONE, fields=(), **how):
    """Return edges by id, with their values."""
    data = read_edges(path, ends, {name: "f4" for name in fields}, **how)
    columns = [
        data.ids[ends[0]].decode(data.src),
        data.ids[ends[1]].decode(data.dst),
        *data.fields.values(),
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True))


# ---- METIS

PLAIN = "% a triangle, a tail and a hermit\n5 4\n2 3\n1 3 4\n1 2\n% halfway\n2\n\n"
EDGES = [(1, 2), (1, 3), (2, 3), (2, 4)]


@pytest.mark.parametrize("once", [True, False])
def test_the_drawn_graph(file, once):
    r"""
    1 --- 2 --- 4
     \   /            5
       3
    """
    back = [] if once else [(v, u) for u, v in EDGES]
    path = file(PLAIN)
    assert edges_of(path, undirected="once" if once else "both") == EDGES + back
    assert len(read_edges(path, ONE, {}).ids["page"]) == 5


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("5 4 1\n2 7 3 8\n1 7 3 9 4 6\n1 8 2 9\n2 6\n\n", True),
        ("5 4 001\n2 7 3 8\n1 7 3 9 4 6\n1 8 2 9\n2 6\n\n", True),
        ("5 4 10\n50 2 3\n51 1 3 4\n52 1 2\n53 2\n54\n", False),
        ("5 4 011 2\n50 60 2 7 3 8\n51 0 1 7 3 9 4 6\n52 0 1 8 2 9\n53 0 2 6\n54 0\n", True),
        ("5 4 111 1\n1 50 2 7 3 8\n1 51 1 7 3 9 4 6\n1 52 1 8 2 9\n1 53 2 6\n1 54\n", True),
        ("5 4 100\r\n1 2 3\r\n1 1\t3 4 \r\n  1 1 2\r\n1 2\r\n1\r\n", False),
    ],
)
def test_sizes_and_weights_of_vertices_are_passed_over_weights_of_edges_kept(file, text, weights):
    path = file(text)
    assert edges_of(path, undirected="once") == EDGES
    if weights:
        assert edges_of(path, fields=["value"], undirected="once") == [
            (u, v, w) for (u, v), w in zip(EDGES, [7, 8, 9, 6], strict=True)
        ]
    else:
        with pytest.raises(DataError, match="without numbers"):
            read_edges(path, ONE, {"value": "f4"})


def test_names_and_packing(tmp_path):
    with gzip.open(tmp_path / "g.metis.gz", "wt") as out:
        out.write(PLAIN)
    assert edges_of(tmp_path / "g.metis.gz", undirected="once") == EDGES
    assert (
        is_metis("a.graph.zst")
        and is_metis("b.graph")
        and not is_metis("graph")
        and not is_metis("g.graph.txt")
    )


@settings(deadline=None)
@given(
    st.integers(2, 9),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30),
    st.integers(40, 200),
)
def test_any_graph_in_any_pieces(tmp_path_factory, n, pairs, block):
    kept = sorted({(min(u, v, n), min(max(u, v), n)) for u, v in pairs if min(u, n) != min(v, n)})
    near = [[v if u == own else u for u, v in kept if own in (u, v)] for own in range(1, n + 1)]
    path = tmp_path_factory.mktemp("metis") / "g.graph"
    path.write_text(
        f"{n} {len(kept)}\n" + "".join(" ".join(map(str, line)) + "\n" for line in near)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io_text, "BLOCK", block)
        found = read_metis(path)
    assert found.sizes == (n, n) and found.values is None
    assert list(zip(found.src.tolist(), found.dst.tolist(), strict=True)) == kept


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("5\n", "first line has 1 number", 1),
        ("5 4 1 1 1\n", "first line has 5 numbers", 1),
        ("% no\n5 4 2\n", "2 is no format", 2),
        ("5 4 1111\n", "1111 is no format", 1),
        ("3000000000 4\n", "3,000,000,000 vertices", 1),
        ("2 1\n2\n1\n1\n", "more lines than the 2 vertices", 4),
        ("3 1\n2\n1\n", "2 lines of neighbours, but 3 vertices", 1),
        ("2 1\n2\nx\n", "'x' is no whole number", 3),
        ("2 1\n2\n-1\n", "'-1' is no whole number", 3),
        ("2 1\n2\n1.0\n", "'1.0' is no whole number", 3),
        ("2 1\n2\n99999999999999999999\n", "too large", 3),
        ("2 1\n% c\n3\n1\n", "vertex 1 has the neighbour 3, but vertices are 1 to 2", 3),
        ("2 1\n2\n0\n", "vertex 2 has the neighbour 0", 3),
        ("2 1\n1\n\n", "no self-loops", 2),
        ("2 1 1\n2 5\n1\n", "without the weight", 3),
        ("2 1 10 3\n1 1 1 2\n1 1\n", "2 numbers, but each vertex has 3", 3),
        ("2 2\n2\n1\n", "2 neighbours, but 2 edges", 1),
        ("3 1\n2\n3\n\n", "vertex 1 names 2 as its neighbour, but 2 does not name 1", None),
        ("2 1 1\n2 5\n1 6\n", "do not agree on the weight", 1),
        ("2 0\n\n\n", "holds no edge", None),
        ("% nothing\n", "holds no graph", None),
    ],
)
def test_what_is_wrong_is_told_with_its_line(file, text, words, line):
    path = file(text)
    with pytest.raises(DataError) as caught:
        read_edges(path, ONE, {})
    assert words in str(caught.value)
    assert f"{path}:{line}" in str(caught.value) if line else str(path) in str(caught.value)


def test_users_and_items_are_no_undirected_graph(file):
    with pytest.raises(DataError, match=message("holds-which-has-no-edges", "user", "item")):
        read_edges(file(PLAIN), TWO, {})
    with pytest.raises(UsageError, match="no columns"):
        read_edges(file(PLAIN), ONE, {}, columns="1,2")


# ---- Matrix Market


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_a_matrix_as_scipy_writes_it(tmp_path, pack, field):
    matrix = sparse.random_array((7, 5), density=0.4, rng=np.random.default_rng(1), format="coo")
    matrix.data = np.arange(1, matrix.nnz + 1) / (4 if field == "real" else 1)
    path = tmp_path / ("m.mtx.gz" if pack else "m.mtx")
    with gzip.open(path, "wb") if pack else open(path, "wb") as out:
        mmwrite(out, matrix, comment="made up", field=field)
    found = read_edges(path, TWO, {} if field == "pattern" else {"value": "f4"})
    expected = from_scipy(matrix, TWO, None if field == "pattern" else "value")
    assert np.array_equal(found.src, expected.src) and np.array_equal(found.dst, expected.dst)
    assert (
        found.ids["user"].values.tolist() == [1, 2, 3, 4, 5, 6, 7] and len(found.ids["item"]) == 5
    )
    assert all(
        np.array_equal(found.fields[name], expected.fields[name]) for name in expected.fields
    )


@pytest.mark.parametrize(("kind", "sign"), [("symmetric", 1), ("skew-symmetric", -1)])
def test_a_symmetric_matrix_has_edges_both_ways_or_once(file, kind, sign):
    path = file(
        f"%%MatrixMarket matrix coordinate real {kind}\n%\n3 3 2\n2 1 5\n3 2 2.5e0\n", "m.mtx"
    )
    once = [(2, 1, 5), (3, 2, 2.5)]
    assert edges_of(path, fields=["value"], undirected="once") == once
    assert edges_of(path, fields=["value"]) == once + [(v, u, sign * w) for u, v, w in once]
    with pytest.raises(DataError, match="symmetric matrix"):
        read_edges(path, TWO, {})


def test_a_diagonal_entry_is_one_edge(file):
    path = file("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", "m.txt")
    assert edges_of(path) == [(1, 1), (2, 1), (1, 2)]


def test_pieces_of_a_large_matrix(file, monkeypatch):
    monkeypatch.setattr(io_text, "BLOCK", 64)
    entries = [(i % 50 + 1, i % 7 + 1) for i in range(300)]
    path = file(
        "%%MatrixMarket matrix coordinate pattern general\n50 7 300\n"
        + "".join(f"{u} {v}\n" for u, v in entries),
        "m.mtx",
    )
    assert edges_of(path, TWO) == entries


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("%%MatrixMarket matrix array real general\n2 2\n", "array real general is not read", 1),
        ("%%MatrixMarket matrix coordinate complex general\n", "complex general is not read", 1),
        ("%%MatrixMarket\n", "of no kind", 1),
        ("%%MatrixMarket matrix coordinate real general\n%\n", "before its line of sizes", None),
        ("%%MatrixMarket matrix coordinate real general\n\n2 2\n", "no line of sizes", 3),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n",
            "2 numbers instead of 3",
            3,
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n% c\n3 1\n",
            "row '3' of a matrix of 2 x 2",
            4,
        ),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 0\n", "column '0' of", 3),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n",
            "'nan' is no finite number",
            3,
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n",
            "1 entries, but the line of sizes says 3",
            None,
        ),
        ("%%MatrixMarket matrix coordinate pattern general\n3 2 1\n1 1\n", "3 x 2 matrix", None),
    ],
)
def test_what_is_wrong_with_a_matrix(file, text, words, line):
    path = file(text, "m.mtx")
    with pytest.raises(DataError) as caught:
        read_edges(path, ONE, {})
    assert words in str(caught.value)
    assert f"{path}:{line}" in str(caught.value) if line else str(path) in str(caught.value)


def test_a_size_line_that_cannot_be_true_takes_no_memory(file):
    path = file(
        "%%MatrixMarket matrix coordinate pattern symmetric\n2000000000 2000000000 1\n2 1\n",
        "m.mtx",
    )
    with pytest.raises(
        DataError, match=message("is-said-to-be-x", "2,000,000,000", "2,000,000,000", "1")
    ):
        read_edges(path, ("page", "page"), {})
