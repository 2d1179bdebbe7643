"""Adjacency lists, and edges with dicts of their data, as networkx writes them."""

import gzip

import numpy as np
import pytest
from support.oracles.edge_pairs import ONE, pairs, pairs_once

from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format

ADJACENCY = [
    ("1 2 3 4\n2 3\n", [(1, 2), (1, 3), (1, 4), (2, 3)]),
    ("# /usr/bin/x.py\n# GMT\n#\na b\nb c a\n", [("a", "b"), ("b", "c"), ("b", "a")]),
    ("1\t2\t3\r\n2\t1\r\n", [(1, 2), (1, 3), (2, 1)]),
    ("0 1\n1\n2\n", [(0, 1)]),
    ("007 8\n8 9 7\n", [("007", "8"), ("8", "9"), ("8", "7")]),
    ("  1   2 \n\n% c\n2 3 3\n", [(1, 2), (2, 3), (2, 3)]),
    ("x,y z\n", [("x,y", "z")]),
    ("18446744073709551615 1\n", [(18446744073709551615, 1)]),
    ('é "日"\n', [("é", '"日"')]),
    ("1 2 3", [(1, 2), (1, 3)]),
    ("\ufeff\ufeff a\nb c\n", [("\ufeff", "a"), ("b", "c")]),  # one is a mark of byte order
]


@pytest.mark.parametrize("name", ["x.adjlist", "x.ADJLIST.gz"])
@pytest.mark.parametrize(("text", "edges"), ADJACENCY)
def test_adjacency_lists(file, text, edges, name):
    path = file(gzip.compress(text.encode()) if name.endswith("gz") else text, name)
    assert detect_format(path) is Format.ADJLIST
    assert pairs_once(path) == edges == pairs(read_edges(path, ONE, {}))


def test_a_vertex_alone_in_an_adjacency_list(file):
    edges = read_edges(file("1 2\n7\n", "x.adjlist"), ONE, {})
    assert sorted(edges.ids["v"].values.tolist()) == [1, 2, 7]
    of_two = read_edges(file("1 2\n7\n", "x.adjlist"), ("user", "item"), {})
    assert of_two.ids["user"].values.tolist() == [1, 7] and len(of_two.ids["item"]) == 1


DICTS = [
    ("1 2 {'weight': 3.0}\n2 3 {'weight': 1}\n", [(1, 2, 3), (2, 3, 1)]),
    ("1,2,{'weight': 3.0}\n", [(1, 2, 3)]),
    ("a\tb\t{'value': -2e-1}\r\n", [("a", "b", -0.2)]),
    ("1 2 {'color': 'red', 'weight': 2}\n", [(1, 2, 2)]),
    ("1 2 {'weight': np.float64(3.5)}\n", [(1, 2, 3.5)]),
    ("1 2 {'a': {'weight': 7}, 'weight': 3}\n", [(1, 2, 3)]),
    ("1 2 {'a': \"'weight': 7\", 'weight': 3}\n", [(1, 2, 3)]),
    ("1 2 {'a': [1, 2], 'b': (1, {}), 'weight': 4}\n", [(1, 2, 4)]),
    ("# c\n1 2 {\"w\": 5, 'weight': 6}\n", [(1, 2, 5)]),
    ("1 2 {'it\\'s': 'x}', 'weight': 8}\n", [(1, 2, 8)]),
    ("007 é {'weight': 1}\n", [("007", "é", 1)]),
]


@pytest.mark.parametrize(("text", "edges"), DICTS)
def test_edges_with_dicts(file, text, edges):
    path = file(text)
    assert detect_format(path) is Format.EDGE_DATA
    assert pairs_once(path, w="f4") == [(a, b, np.float32(w)) for a, b, w in edges]
    assert pairs_once(path) == [edge[:2] for edge in edges]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("1 2 {}", "the edge has no 'weight'"),
        ("1 2 {'weight': None}", "weight is 'None', no finite number"),
        ("1 2 {'weight': 'x'}", "no finite number"),
        ("1 2 {'weight': inf}", "weight is 'inf', no finite number"),
        ("1 2 {'weight': __import__('os')}", "no finite number"),
        ("1 2", "no edge with a dict"),
        ("1 2 3 {'weight': 1}", "no edge with a dict"),
        ("1 2 {'weight': 1", "no edge with a dict"),
    ],
)
def test_rows_that_are_no_edges_with_dicts(file, row, says):
    good = "".join(f"{at} {at + 1} {{'weight': {at}}}\n" for at in range(30))
    path = file(f"{good}{row}\n")
    with pytest.raises(DataError, match=says) as caught:
        read_edges(path, ONE, {"weight": "f4"})
    assert caught.value.where == f"{path}:31"
    edges = read_edges(path, ONE, {"weight": "f4"}, on_bad_row="skip")
    assert len(edges) == 30 and edges.skipped == 1 and says in edges.first_skipped
