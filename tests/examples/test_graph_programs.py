"""The graph programs of docs/examples, against networkx: the same on any number of workers, with
any cut and any slack, compiled and as plain Python.
"""

import math
from collections import Counter
from itertools import product
from runpy import run_path
from types import SimpleNamespace as Row

import networkx as nx
import numpy as np
import pytest
from support.machines.team import by_id, train_team

from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.arrays.networks import to_networkx
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.partition import PARTITIONERS
from tux.program.sources import find
from tux.runs.verify import verify

SETTINGS = pytest.mark.parametrize(
    ("k", "slack", "by", "jit"),
    [
        (1, 0, "random", False),
        *product((2, 3), (0, 2), ("random", "bicut"), (False,)),
        (1, 0, "random", True),
        (2, 0, "bicut", True),
        (3, 2, "random", True),
    ],
    ids=lambda each: str(each),
)


def example(name):
    """Return the class of a program."""
    return find(f"docs/examples/{name}.py").program


#  Two groups, 0-9 and 10-19, that few edges join; a path and two loops apart; two lone vertices.
#
#  (dense 0-9) - - (dense 10-19)     20 - 21 - 22     30 (loop)     40   41
def pairs():
    """Return links (m, 2), of which some occur twice and some are loops."""
    rng = np.random.default_rng(5)
    groups = [rng.integers(0, 10, (30, 2)), rng.integers(10, 20, (30, 2))]
    bridges, path, loops = [[3, 12], [15, 7]], [[20, 21], [21, 22]], [[30, 30], [4, 4]]
    links = np.concatenate([*groups, bridges, path, loops])
    return np.concatenate([links, links[:5]])


def graph(end, links=None, **fields):
    links = pairs() if links is None else links
    return EdgeData.of((end, end), *links.T, fields, vertices={end: [40, 41]})


# ---- components


@pytest.mark.slow(after=3)
@SETTINGS
def test_components(k, slack, by, jit):
    edges = graph("node")
    team = train_team(example("components")(), edges, 1, k=k, slack=slack, by=by, jit=jit)
    ids = edges.ids["node"].values
    component = {v: ids[c] for v, c in by_id(team, "node", "component").items()}
    for found in nx.weakly_connected_components(to_networkx(edges)):
        (number,) = {component[v] for v in found}
        assert number in found


# ---- shortest paths


def roads(links=None):
    """Return roads with lengths; many of the roads back have other lengths."""
    links = pairs() if links is None else links
    links = np.concatenate([links, links[20:, ::-1]])
    return graph("place", links, length=np.random.default_rng(6).uniform(0, 9, len(links)))


@pytest.mark.slow(after=3)
@SETTINGS
def test_shortest_paths(k, slack, by, jit):
    edges, program = roads(), example("shortest_paths")(source=3)
    team = train_team(program, edges, 100, k=k, slack=slack, by=by, jit=jit)
    truth = nx.single_source_bellman_ford_path_length(to_networkx(edges), 3, weight="length")
    found = by_id(team, "place", "distance")
    assert found == pytest.approx({v: truth.get(v, math.inf) for v in found}, rel=1e-9)
    assert math.isinf(found[40]) and math.isinf(found[20]) and found[3] == 0
    assert team.history("changed")[-1] == 0


def test_lengths_may_be_negative_but_not_those_of_a_cycle():
    edges = graph("place", np.array([[1, 2], [2, 3], [1, 3], [3, 4]]), length=[5, -4, 2, 1])
    program = example("shortest_paths")(source=1)
    team = train_team(program, edges, 100)
    assert by_id(team, "place", "distance") == {
        1: 0, 2: 5, 3: 1, 4: 2, 40: math.inf, 41: math.inf,
    }  # fmt: skip
    assert program.report.remarks(program, team.records[0]) == []
    edges = graph("place", np.array([[1, 2], [2, 1]]), length=[3, -4])
    team = train_team(program, edges, 9)
    assert "distances still change" in program.report.remarks(program, team.records[0])[0]


# ---- core numbers


def peel_cores(links):
    """Return the core numbers of links, some of which may be repeated, by the definition."""
    links, core = [(u, v) for u, v in links if u != v], Counter()
    for k in range(1, len(links) + 1):
        while True:
            degree = Counter(v for link in links for v in link)
            rest = [(u, v) for u, v in links if min(degree[u], degree[v]) >= k]
            if len(rest) == len(links):
                break
            links = rest
        core.update(dict.fromkeys({v for link in links for v in link}, 1))
    return core


@pytest.mark.slow(after=3)
@SETTINGS
def test_core_numbers(k, slack, by, jit):
    edges, program = graph("node"), example("core_numbers")()
    team = train_team(program, edges, 100, k=k, slack=slack, by=by, jit=jit)
    truth, found = peel_cores(pairs().tolist()), by_id(team, "node", "core")
    assert found == {v: truth[v] for v in found} and found[40] == found[30] == 0
    assert team.history("vertices") == [
        sum(core >= level for core in truth.values()) for level in range(1, max(found.values()) + 2)
    ]


def test_core_numbers_are_those_of_networkx_where_no_link_stands_twice():
    links = np.unique(np.sort(pairs(), axis=1), axis=0)
    simple = nx.Graph(links[links[:, 0] != links[:, 1]].tolist())
    truth = {30: 0, 40: 0, 41: 0} | nx.core_number(simple)
    once, twice = (
        train_team(example("core_numbers")(), graph("node", each), 100, k=2)
        for each in (links, np.concatenate([links, links[:, ::-1]]))
    )
    assert by_id(once, "node", "core") == truth
    assert by_id(twice, "node", "core") == {v: 2 * core for v, core in truth.items()}


# ---- label propagation


def both_ways():
    return graph("node", np.concatenate([pairs(), pairs()[:, ::-1]]))


def source_whole(edges, k, by):
    """Return the worker of each edge, all that leave a vertex on one."""
    if by == "bicut":
        return PARTITIONERS[by](edges.src, edges.dst, k, 0, bipartite=True, favourite="source")
    return PARTITIONERS["source"](edges.src, edges.dst, k, 0)


def winning_labels(edges, label):
    """Yield the label that wins the vote of each vertex, given the labels of all vertices."""
    votes = [Counter() for _ in label]
    for u, v in zip(edges.src, edges.dst, strict=True):
        votes[u][label[v]] += 1
    for counts, own in zip(votes, label, strict=True):
        best = [each for each, n in counts.items() if n == max(counts.values())] or [own]
        yield own if own in best else min(best)


@pytest.mark.slow(after=3)
@pytest.mark.long(after=9)
@SETTINGS
def test_label_propagation(k, slack, by, jit):
    edges, program = both_ways(), example("label_propagation")(probability=1.0)
    by = source_whole(edges, k, by)
    team = train_team(program, edges, 6, k=k, slack=slack, by=by, jit=jit)
    label = list(range(len(edges.ids["node"])))
    for _ in range(6):
        label = list(winning_labels(edges, label))
    assert team.gather("node", "label").tolist() == label


def test_labels_settle_alike_on_any_number_of_workers():
    edges, labels = both_ways(), []
    for k, slack in [(1, 0), (2, 0), (3, 2)]:
        by = source_whole(edges, k, "random")
        team = train_team(example("label_propagation")(), edges, 100, k=k, slack=slack, by=by)
        assert team.history("unsettled")[-1] == 0
        labels.append(team.gather("node", "label").tolist())
    assert labels[0] == labels[1] == labels[2] == list(winning_labels(edges, labels[0]))


@pytest.mark.parametrize(
    ("own", "others", "chosen"),
    [(7, [], 7), (7, [3, 2, 3], 3), (7, [9, 8], 8), (7, [3, 7], 7), (7, [3, 3, 7], 3)],
)
def test_a_vote(own, others, chosen):
    src = Row(label=own, chosen=0)
    functions = run_path("docs/examples/label_propagation.py")
    functions["vote"](src, [Row(dst=Row(label=label)) for label in others])
    assert src.chosen == chosen


# ---- hubs and authorities


@pytest.mark.long(after=3)
@SETTINGS
def test_hits(k, slack, by, jit):
    edges, program = graph("page"), example("hits")(tolerance=1e-12)
    team = train_team(program, edges, 1000, k=k, slack=slack, by=by, jit=jit)
    hubs, authorities = nx.hits(to_networkx(edges))
    for field, truth in (("hub", hubs), ("authority", authorities)):
        found = by_id(team, "page", field)
        assert sum(x**2 for x in found.values()) == pytest.approx(1)
        share = {v: x / sum(found.values()) for v, x in found.items()}
        assert share == pytest.approx(truth, abs=1e-9)


# ---- verification, as each program's user does it


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "edges"),
    [
        (example("shortest_paths")(source=3), roads()),
        (example("label_propagation")(), both_ways()),
    ],
    ids=["shortest_paths", "label_propagation"],
)
def test_verified(program, edges):
    found = verify(program, edges, options=RunOptions(seed=1))
    assert found.several and not found.refused and not found.failed
    assert [each for each in found.differences if not each.is_rounding] == []


@pytest.mark.long
def test_components_from_the_command_line(tmp_path, capsys):
    (tmp_path / "edges.txt").write_text("b a\nc b\nx y\nz z\n")
    argv = ["run", "docs/examples/components.py", str(tmp_path / "edges.txt"), "--workers", "2"]
    assert main([*argv, "--out", str(tmp_path / "out"), "--no-jit"]) == 0
    model = read_parquet(tmp_path / "out/model/node.parquet")
    component = dict(zip(model["id"], model["component"], strict=True))
    assert len({component[v] for v in "abc"}) == len({component[v] for v in "xy"}) == 1
    assert len(set(component.values())) == 3
    table = (tmp_path / "out/model/components.tsv").read_text()
    assert table == "component of\tvertices\na\t3\nx\t2\nz\t1\n"
    assert "components 3" in capsys.readouterr().out
