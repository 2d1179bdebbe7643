"""The programs of docs/gallery.md that `test_graph_programs.py` does not cover, against networkx
and scipy, on one to three workers; and the page itself.
"""

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from support.machines.team import by_id, train_team

from bench.line_counts import code_lines
from tux.arrays.edges import EdgeData
from tux.partition import PARTITIONERS
from tux.program.sources import find

PAGE = Path("docs/gallery.md").read_text(encoding="utf-8")
SHORT = PAGE.split("## Short ones")[1].split("\n## ")[0]
GALLERY = sorted(set(re.findall(r"\]\((examples/\w+\.py|pagerank\.py)\)", SHORT)))
WORKERS = pytest.mark.parametrize(
    ("k", "slack", "jit"),
    [
        pytest.param(1, 0, True, marks=pytest.mark.slow),
        (1, 0, False),
        (2, 0, False),
        (3, 2, False),
    ],
)


def example(name):
    """Return the class of a program."""
    return find(f"docs/examples/{name}.py").program


#  Two dense groups, 0-9 and 10-19, that two edges join; a path 20 - 21 - 22; two lone vertices.
def links():
    """Return different pairs (m, 2) of different vertices, the smaller one first."""
    rng = np.random.default_rng(7)
    groups = [rng.integers(0, 10, (30, 2)), rng.integers(10, 20, (30, 2))]
    pairs = np.concatenate([*groups, [[3, 12], [7, 15]], [[20, 21], [21, 22]]])
    return np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)


def directed_links():
    """Return links of which every other one leads back."""
    pairs = links()
    pairs[::2] = pairs[::2, ::-1]
    return np.concatenate([pairs, pairs[::3, ::-1]])


def edges_of(end, pairs):
    return EdgeData.of((end, end), *pairs.T, {}, vertices={end: [40, 41]})


def graph_of(pairs, kind=nx.Graph):
    graph = kind(pairs.tolist())
    graph.add_nodes_from([40, 41])
    return graph


@pytest.mark.slow(after=1)
@WORKERS
def test_personal_pagerank(k, slack, jit):
    program = example("personal_pagerank")(source=3)
    team = train_team(program, edges_of("page", directed_links()), 1000, k=k, slack=slack, jit=jit)
    graph = graph_of(directed_links(), nx.DiGraph)
    truth = nx.pagerank(graph, personalization={3: 1}, tol=1e-14, max_iter=1000)
    assert by_id(team, "page", "rank") == pytest.approx(truth, abs=1e-9)


@WORKERS
def test_katz(k, slack, jit):
    program = example("katz")(alpha=0.08, beta=0.5)
    team = train_team(program, edges_of("page", directed_links()), 1000, k=k, slack=slack, jit=jit)
    graph = graph_of(directed_links(), nx.DiGraph)
    truth = nx.katz_centrality(graph, alpha=0.08, beta=0.5, tol=1e-13, normalized=False)
    assert by_id(team, "page", "score") == pytest.approx(truth, rel=1e-9)


@pytest.mark.long(after=1)
@pytest.mark.slow(after=3)
@WORKERS
@pytest.mark.parametrize("width", [5, 256])
def test_triangles(k, slack, jit, width):
    """Blocks of five vertices, of which the last is not full; or one for all."""
    program = example("triangles")(width=width)
    team = train_team(program, edges_of("node", links()), 100, k=k, slack=slack, jit=jit)
    graph = graph_of(links())
    assert by_id(team, "node", "triangles") == nx.triangles(graph)
    assert by_id(team, "node", "clustering") == pytest.approx(nx.clustering(graph))
    assert by_id(team, "node", "degree") == dict(graph.degree)
    assert len(team.records[0]) == -(-len(graph) // width)


@WORKERS
def test_colouring(k, slack, jit):
    """The colours are those of the greedy algorithm in the same order."""
    pairs = links()
    edges = edges_of("node", np.concatenate([pairs, pairs[:, ::-1], [[4, 4]]]))
    by = PARTITIONERS["source"](edges.src, edges.dst, k, 0)
    team = train_team(example("colouring")(), edges, 100, k=k, slack=slack, by=by, jit=jit)
    place, graph = by_id(team, "node", "place"), graph_of(pairs)
    truth = nx.greedy_color(graph, lambda *_: sorted(graph, key=place.get))
    assert by_id(team, "node", "colour") == truth
    assert team.history("colours")[-1] == max(truth.values()) + 1


@WORKERS
def test_independent_set(k, slack, jit):
    pairs = np.concatenate([links(), [[4, 4]]])
    team = train_team(
        example("independent_set")(), edges_of("node", pairs), 100, k=k, slack=slack, jit=jit
    )
    graph = graph_of(links())
    chosen = {node for node, state in by_id(team, "node", "state").items() if state == 1}
    assert not graph.subgraph(chosen).edges and nx.is_dominating_set(graph, chosen)
    assert {40, 41} <= chosen and team.history("size")[-1] == len(chosen)
    assert sum(by_id(team, "node", "state").values()) == len(chosen) + 2 * (
        len(graph) - len(chosen)
    )


@WORKERS
def test_assignment(k, slack, jit):
    """Seven persons, nine tasks; whole benefits, so the auction finds the best."""
    benefits = np.random.default_rng(3).integers(0, 30, (7, 9))
    person, task = (each.ravel() for each in np.indices(benefits.shape))
    ends = ("person", "task")
    edges = EdgeData.of(ends, person, task, {"benefit": benefits.ravel().astype("f8")})
    by = PARTITIONERS["source"](edges.src, edges.dst, k, 0, bipartite=True)
    program = example("assignment")(increment=0.1)
    team = train_team(program, edges, 10_000, k=k, slack=slack, by=by, jit=jit)
    owner = team.gather("task", "owner")
    best = benefits[linear_sum_assignment(benefits, maximize=True)].sum()
    assert sorted(owner[owner >= 0]) == list(range(7))
    assert benefits[owner, np.arange(9)][owner >= 0].sum() == best
    assert team.history("benefits")[-1] == best


def test_a_single_pair_is_assigned():
    """A person who wants only one task bids the least that is possible."""
    edges = EdgeData.of(("person", "task"), [0], [0], {"benefit": np.array([2.0])})
    team = train_team(example("assignment")(), edges, 10)
    assert team.gather("task", "owner").tolist() == [0]
    assert team.gather("task", "price").tolist() == [0.01]


# ---- the page


def test_the_gallery_has_ten_programs_or_more():
    assert len(GALLERY) >= 10


@pytest.mark.parametrize("name", GALLERY)
def test_programs_of_the_gallery_are_short(name):
    assert code_lines((Path("docs") / name).read_text(encoding="utf-8")) <= 60


def test_the_lines_of_the_programs_of_tux2_are_counted():
    rows = re.findall(r"\]\((examples/tux2_\w+\.py)\).*\| (\d+) \|", PAGE)
    assert len(rows) == 3
    for name, lines in rows:
        assert code_lines((Path("docs") / name).read_text(encoding="utf-8")) == int(lines)


def test_the_gallery_shows_each_example():
    """The page names each file of the folder; longer examples are in its second table."""
    assert set(re.findall(r"examples/(\w+)\.py", PAGE)) == {
        path.stem for path in Path("docs/examples").glob("*.py")
    }
