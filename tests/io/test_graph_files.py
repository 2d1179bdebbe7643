"""Graphs in DIMACS, GML, GraphML and Pajek: what is read of each, what is refused, and how all the
formats of graphs are used.
"""

import re

import networkx as nx
import pytest
from support.messages import message
from support.oracles.edge_pairs import ONE, pairs, pairs_once

from tux.base.errors import DataError, UsageError
from tux.inputs.untyped import read_graph
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.samples.samples import read_samples

DIMACS = [
    ("p sp 3 2\na 1 2 7\na 3 1 4\n", [(1, 2, 7), (3, 1, 4)]),
    ("c road\nc\nc more\np sp 3 2\nc\na 1 2 0.5\n\na 2 3 1e2\n", [(1, 2, 0.5), (2, 3, 100)]),
    ("p max 4 2\nn 1 s\nn 4 t\na 1 2 5\na 2 4 3\n", [(1, 2, 5), (2, 4, 3)]),
    ("p edge 3 2\ne 1 2 3\ne 3 2 1\n", [(1, 2, 3), (2, 3, 1)]),
    ("\r\nc x\r\np  sp\t2 1\r\n a  1\t2  3 \r\n", [(1, 2, 3)]),
    ("p sp 2 2\na 1 2 3\na 1 2 4\n", [(1, 2, 3), (1, 2, 4)]),
]
PLAIN = [
    ("p edge 3 2\ne 1 2\ne 2 3\n", [(1, 2), (2, 3)]),
    ("p col 3 2\nn 1 5\ne 2 1\ne 3 2\n", [(1, 2), (2, 3)]),
    ("p edge 3 4\ne 1 2\ne 2 1\ne 2 3\ne 3 2\n", [(1, 2), (2, 3)]),  # each twice
    ("p edge 3 2\ne 1 2\ne 2 1\ne 2 3\ne 3 2\n", [(1, 2), (2, 3)]),  # but counted once
    ("p edge 3 4\ne 1 2\ne 2 3\n", [(1, 2), (2, 3)]),  # listed once, but counted twice
    ("p sp 3 2\na 1 2\na 2 3\n", [(1, 2), (2, 3)]),
    ("c PACE\np tw 3 2\n1 2\n2 3\n", [(1, 2), (2, 3)]),
    ("p td 3 2\nc no\n 3 2\n1 2\n", [(2, 3), (1, 2)]),
]


@pytest.mark.parametrize("ending", ["x.gr", "x.col", "x"])
@pytest.mark.parametrize(("text", "edges"), DIMACS + PLAIN)
def test_dimacs(file, text, edges, ending):
    path = file(text, ending)
    assert detect_format(path) is Format.DIMACS
    fields = {"w": "f4"} if len(edges[0]) > 2 else {}
    assert pairs_once(path, **fields) == edges
    both = read_edges(path, ONE, {})
    assert len(both) == len(edges) * (1 if re.search(r"p +(sp|max)", text) else 2)


def test_dimacs_tells_repeated_edges_and_keeps_lone_vertices(file):
    edges = read_edges(file("p col 5 2\ne 1 2\ne 2 1\n"), ONE, {}, undirected="once")
    assert edges.ids["v"].values.tolist() == [1, 2, 3, 4, 5] and len(edges) == 1
    assert edges.notes == ("repeated edges, in either direction, are left out: 1",)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("p cnf 3 2\n1 -2 0\n2 3 0\n", 1, "problem 'cnf'"),
        ("p min 3 2\na 1 2 0 4 1\n", 1, "problem 'min'"),
        ("p sp 3 2\na 1 2 7\na 4 1 4\n", 3, "vertex '4', but vertices are 1 to 3"),
        ("p sp 3 2\na 0 2 7\na 2 1 4\n", 2, "vertex '0'"),
        ("p sp 3 2\na 1 2 7\na 2 x 4\n", 3, "vertex 'x'"),
        ("p sp 3 2\na 1 2 7\na 2 1\n", 3, "2 numbers of an edge instead of 3"),
        ("p sp 3 2\na 1 2 7\na 2 1 nan\n", 3, "'nan' of an edge is not finite"),
        ("c\np sp 3 2\na 1 2 7\nz 2 1\n", 4, "'z' begins no line"),
        ("p sp 3 2\na 1 2 7\ne 2 1 3\n", 3, "'e' begins no line"),
        ("p sp 3 2\na 1 2 7\n2 1 3\n", 3, "'2' begins no line"),
        ("p tw 3 2\n1 2\ne 2 3\n", 3, "vertex 'e'|3 numbers"),
        ("p tw 3 2\n1 2\n2 4\n", 3, "vertex '4'"),
        ("p sp 3 3\na 1 2 7\na 2 1 3\n", None, "2 edges, but line 1 says 3"),
        ("p col 4 5\ne 1 2\ne 2 3\n", None, "2 edges, but line 1 says 5"),
        ("p sp 9999999999999 1\na 1 2 7\n", 1, "no sizes"),
        ("p sp 900000000 1\na 1 2 7\n", None, "said to be 900,000,000"),
        ("p sp 3 0\nc none\n", None, "holds no edge"),
    ],
)
def test_dimacs_that_is_none(file, text, line, says):
    path = file(text)
    with pytest.raises(DataError, match=says) as caught:
        read_edges(path, ONE, {})
    assert line is None or caught.value.where == f"{path}:{line}"


def gml(body: str) -> str:
    """Return GML of a body, with line ends for semicolons."""
    return f"graph [\n{body}\n]\n".replace("; ", "\n")


NODES = "".join(f'node [ id {at} label "{name}" ]\n' for at, name in enumerate("abc"))
GML = [
    (
        gml(f"{NODES}edge [ source 0 target 1 ]; edge [ source 1 target 2 ]"),
        [("a", "b"), ("b", "c")],
    ),
    (gml(f"directed 1\n{NODES}edge [ source 2 target 0 ]"), [("c", "a")]),
    (gml("node [ id 5 ]; node [ id 7 ]; edge [ source 7 target 5 ]"), [(5, 7)]),
    (
        gml('node [ id 0 label "34" ]; node [ id 1 label "7" ]; edge [ source 0 target 1 ]'),
        [(34, 7)],
    ),
    (gml('node [ id 0 label "x" ]; node [ id 1 label "x" ]; edge [ source 0 target 1 ]'), [(0, 1)]),
    (gml('node [ id 0 label "" ]; node [ id 1 label "y" ]; edge [ source 0 target 1 ]'), [(0, 1)]),
    ('Creator "M. N."\n' + gml(f"{NODES}edge [ source 0 target 2 value 3 ]"), [("a", "c")]),
    (gml(f'comment "graph ["\n{NODES}edge [ source 0 target 0 ]'), [("a", "a")]),
    (gml(f"multigraph 1\n{NODES}edge [ source 0 target 1 ]; edge [ source 0 target 1 ]"), None),
    ("# a comment\n" + gml(f"{NODES}edge\n[\nsource 0\ntarget 1\n]"), [("a", "b")]),
    (gml('node [ id 1 label "007" ]; node [ id 2 label "8" ]; edge [ source 1 target 2 ]'), None),
]


@pytest.mark.parametrize(("text", "edges"), GML)
def test_gml(file, text, edges):
    path = file(text)
    assert detect_format(path) is Format.GML
    edges = edges or ([("a", "b")] * 2 if "multi" in text else [("007", "8")])
    # an undirected edge has no first end
    assert [*map(sorted, pairs_once(path))] == [*map(sorted, edges)] or pairs_once(path) == edges
    both = len([edge for edge in edges if edge[0] != edge[1]]) + len(edges)
    assert len(read_edges(path, ONE, {})) == (len(edges) if "directed 1" in text else both)


def graphml(body: str, default: str = "undirected") -> str:
    """Return GraphML of a body."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="d0" for="edge" attr.name="weight" attr.type="double"/>\n'
        f'<graph edgedefault="{default}">{body}</graph></graphml>\n'
    )


def link(one: str, other: str, weight: str = "") -> str:
    """Return an edge of GraphML."""
    data = f'<data key="d0">{weight}</data>' if weight else ""
    return f'<edge source="{one}" target="{other}">{data}</edge>'


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        (graphml(link("n0", "n1")), [("n0", "n1")]),
        (graphml(link("n0", "n1") + link("n1", "n2"), "directed"), [("n0", "n1"), ("n1", "n2")]),
        (graphml('<node id="1"/><node id="2"/>' + link("1", "2")), [(1, 2)]),
        (graphml(link("a", "b") * 2, "directed"), [("a", "b")] * 2),
        (graphml(link("a", "a"), "directed"), [("a", "a")]),
        (graphml(link("007", "8"), "directed"), [("007", "8")]),
        (graphml(link("é", "日"), "directed"), [("é", "日")]),
        (graphml(link("a &amp; b", "c"), "directed"), [("a & b", "c")]),
        ("<!-- by hand -->\n" + graphml(link("a", "b")).split("\n", 1)[1], [("a", "b")]),
        ("\ufeff" + graphml(link("1", "-2"), "directed"), [(1, -2)]),
        ("<graphml>" + graphml(link("x", "y")).split('xmlns">', 1)[1], [("x", "y")]),
    ],
)
def test_graphml(file, text, edges):
    path = file(text)
    assert detect_format(path) is Format.GRAPHML
    assert pairs_once(path) == edges
    assert len(read_edges(path, ONE, {})) == len(edges) * (1 if '"directed"' in text else 2)


def test_graphml_numbers_and_their_default(file):
    text = graphml(link("a", "b", "2.5") + link("b", "c"), "directed")
    with pytest.raises(DataError, match=message("the-edge-has-no", "'b'", "'c'", "weight")):
        pairs_once(file(text), value="f4")
    text = text.replace('"double"/>', '"double"><default>4</default></key>')
    assert pairs_once(file(text), value="f4") == [("a", "b", 2.5), ("b", "c", 4.0)]


BOMB = '<!DOCTYPE g [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (graphml(link("a", "b")).replace("?>\n", f"?>\n{BOMB}", 1), "document type of its own"),
        (graphml(link("a", "b")).replace("?>\n", "?><!doctype g>", 1), "document type of its own"),
        (graphml(link("a", "b"))[:-12], "cannot be read as a GraphML graph"),
        (graphml("<hyperedge/>"), "hyperedges"),
        (graphml('<edge source="a"/>'), "without a source or a target"),
        (graphml('<node id="a"/>'), "holds no edge"),
        (gml("node [ id 0 ]; edge [ source 0 target 1 ]"), "undefined target"),
        (gml("node [ id 0 ]; node [ id 0 ]"), "duplicated"),
        (gml(f"{NODES}edge [ source 0 target 1 ]; edge [ source 1 target 0 ]"), "an edge twice"),
        ("graph [\nnode [ id 0\n", "cannot be read as a GML graph"),
        (gml("node [ id 0 ]; node [ id 1 ]"), "holds no edge"),
        ("graph [" + "a [" * 5000, "cannot be read as a GML graph"),
    ],
)
def test_damaged_graphs(file, text, says):
    with pytest.raises(DataError, match=says):
        read_edges(file(text), ONE, {})


PAJEK = [
    ('*Vertices 2\n1 "a"\n2 "b"\n*Arcs\n1 2 3\n', [("a", "b", 3)], 1),
    ("*Vertices 3\n*Edges\n1 2\n2 3\n", [(1, 2), (2, 3)], 2),
    ('*Vertices 3\n1 "a"\n2 "a"\n3 "b"\n*Edges\n1 2\n', [(1, 2)], 2),
    ("*vertices 3\n*arcslist\n1 2 3\n", [(1, 2), (1, 3)], 1),
    ("*Vertices 3\n*Edgeslist\n2 1 3\n", [(1, 2), (2, 3)], 2),
    ("*Vertices 2\n*Matrix\n0 2\n1 0\n", [(1, 2, 2), (2, 1, 1)], 1),
    ('*Network "x"\n*Vertices 2\n1 one 0.5 0.5 ic Red\n2 two\n*arcs\n2 1\n', [("two", "one")], 1),
    ("% made by hand\n*Vertices 2\r\n\r\n*Arcs\r\n1 2 -1.5\r\n", [(1, 2, -1.5)], 1),
    ('*Vertices 2 1\n1 "a b"\n2 "c"\n*Edges :1 "likes"\n1 2 4 l "x"\n', [("a b", "c", 4)], 2),
    ('*Vertices 2\n1 "10"\n2 "20"\n*Arcs\n2 1\n', [(20, 10)], 1),
    ("*Vertices 2\n*Arcs\n1 2 3\n2 1\n", [(1, 2, 3), (2, 1, 1)], 1),
]


@pytest.mark.parametrize(("text", "edges", "times"), PAJEK)
def test_pajek(file, text, edges, times):
    path = file(text, "x.net")
    assert detect_format(path) is Format.PAJEK
    fields = {"w": "f4"} if len(edges[0]) > 2 else {}
    assert pairs_once(path, **fields) == edges
    assert len(read_edges(path, ONE, {})) == times * len(edges)


def test_pajek_of_arcs_and_edges_keeps_lone_vertices(file):
    path = file("*Vertices 4\n*Arcs\n1 2\n*Edges\n2 3\n")
    edges = read_edges(path, ONE, {})
    assert pairs(edges) == [(1, 2), (2, 3), (3, 2)] and len(edges.ids["v"]) == 4


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("*Vertices 2\n*Arcs\n1 3\n", 3, "vertex '3', but vertices are 1 to 2"),
        ("*Vertices 2\n*Arcs\n1\n", 3, "one end"),
        ("*Vertices 2\n*Arcs\n1 2 x\n", 3, "value 'x'"),
        ('*Vertices 2\n3 "c"\n', 2, "no vertex of 1 to 2"),
        ("*Vertices 2\n*Partition\n1\n", 2, "section"),
        ("*Network x\n1 2\n*Vertices\n", 3, "no number of vertices"),
        ("*Vertices 2\n*Vertices 3\n", 2, "second"),
        ("*Vertices 2\n*Matrix\n0 1 1\n", 3, "row 1 of 3 numbers"),
        ("*Vertices 2\n*Edges\n", None, "holds no edge"),
        ("*Vertices 999999999\n*Edges\n1 2\n", None, "said to have 999,999,999"),
    ],
)
def test_pajek_that_is_none(file, text, line, says):
    path = file(text)
    with pytest.raises(DataError, match=says) as caught:
        read_edges(path, ONE, {})
    assert line is None or caught.value.where == f"{path}:{line}"


def test_what_networkx_writes_comes_back(file, tmp_path):
    graph = nx.karate_club_graph()
    wanted = {frozenset(edge) for edge in graph.edges}
    writers = {
        "a.gml": nx.write_gml,
        "a.graphml": nx.write_graphml,
        "a.net": nx.write_pajek,
        "a.adjlist": nx.write_adjlist,
        "a.edgelist": nx.write_edgelist,
    }
    for name, write in writers.items():
        write(graph, tmp_path / name)
        edges = pairs_once(tmp_path / name)
        assert {frozenset(edge) for edge in edges} == wanted and len(edges) == len(wanted), name


MADE = [
    ("p sp 3 2\na 1 2 7\na 2 3 4\n", "x.gr"),
    ("*Vertices 3\n*Edges\n1 2 7\n2 3 4\n", "x.net"),
    (
        gml(f"{NODES}edge [ source 0 target 1 value 7 ]; edge [ source 1 target 2 value 4 ]"),
        "x.gml",
    ),
    (graphml(link("a", "b", "7") + link("b", "c", "4")), "x.graphml"),
    ("1 2\n2 3\n", "x.adjlist"),
    ("1 2 {'weight': 7}\n2 3 {'weight': 4}\n", "x.edgelist"),
]


@pytest.mark.parametrize(("text", "name"), MADE)
def test_how_each_is_used(file, text, name):
    path = file(text, name)
    with pytest.raises(UsageError, match=message("has-no-columns-to-name")):
        read_edges(path, ONE, {}, columns="a,b")
    if "adj" in name:
        with pytest.raises(DataError, match=message("has-no-an-adjacency-list")):
            read_edges(path, ONE, {"weight": "f4"})
    else:
        assert [edge[2] for edge in pairs_once(path, weight="i4")] == [7, 4]
        called = {
            "x.gml": {"w": "value"},
            "x.graphml": {"w": "weight"},
            "x.edgelist": {"w": "weight"},
        }
        assert read_edges(path, ONE, {"w": "f4"}).columns == called.get(name, {})
    with pytest.raises(DataError, match="no labels"):
        read_samples(path)
    graph = read_graph(path, detect_format(path), bipartite=False)
    assert len(graph.edges) == 2 and len(graph.edges.ids["vertex"]) == 3
    if name not in ("x.adjlist", "x.edgelist"):
        with pytest.raises(DataError, match="no edges from user to item"):
            read_edges(path, ("user", "item"), {})
        graph = read_graph(path, detect_format(path))
        assert not graph.bipartite and "of one type" in graph.why


@pytest.mark.parametrize(("text", "name"), MADE)
def test_several_are_not_one(folder, text, name):
    with pytest.raises(DataError, match=message("is-one-of-files-but", "2")):
        read_edges(folder({"1" + name: text, "2" + name: text}), ONE, {})


def test_vertices_of_two_types_by_networkx(tmp_path):
    graph = nx.Graph()
    graph.add_nodes_from(["ana", "bob"], bipartite=0)
    graph.add_nodes_from(["x", "y"], bipartite=1)
    graph.add_edges_from([("x", "ana"), ("bob", "y")])
    nx.write_gml(graph, tmp_path / "a.gml")
    edges = read_edges(tmp_path / "a.gml", ("user", "item"), {})
    assert edges.ids["user"].values.tolist() == ["ana", "bob"] and len(edges) == 2
