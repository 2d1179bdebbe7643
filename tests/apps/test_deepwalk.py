"""DeepWalk: the step of skip-gram against its formula, negatives, and vectors that tell
communities apart on any number of workers.
"""

import math
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team

from tux.apps.deepwalk import skipgram as skipgram
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.arrays.edge_facts import EdgeFacts
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.cli.main import main
from tux.graph.topology import Topology
from tux.options.options import RunOptions
from tux.program.stage import Cluster
from tux.rows.rng import Stream
from tux.runs.session import run

# The functions, one by one.


def nodes(n, d, seed=0):
    """Return edges to n vertices with rows u and c."""
    rng = np.random.default_rng(seed)
    return [
        Row(node=Row(u=rng.normal(0, 0.4, d).astype("f4"), c=rng.normal(0, 0.4, d).astype("f4")))
        for _ in range(n)
    ]


def sigma(x):
    return 1 / (1 + math.exp(-x))


def expected_centre(u, contexts, negatives, a):
    """Compute one centre in double precision: all products, then the changes of each row in turn.
    `u` and the rows are changed.
    """
    old = u.copy()
    steps = [
        a * (label - sigma(old @ v))
        for label, rows in ((1, contexts), (0, negatives))
        for v in rows
    ]
    for g, v in zip(steps, [*contexts, *negatives], strict=True):
        u += g * v
        v += g * old


def double_rows(edges, field):
    """Return rows in double precision; rows that are the same object stay so."""
    known = {}
    return [
        known.setdefault(id(edge.node), getattr(edge.node, field).astype(float)) for edge in edges
    ]


def test_sigmoids_are_near_the_function():
    x = np.linspace(-14, 14, 2001).astype("f4")
    found = x.copy()
    skipgram.sigmoids(found, len(x) - 1)
    assert np.abs(found[:-1] - [sigma(each) for each in x[:-1].tolist()]).max() < 6e-5
    assert found[-1] == x[-1] and (np.diff(found[:-1]) >= -1e-7).all()


@pytest.mark.parametrize(("m", "n"), [(1, 5), (3, 2), (4, 8), (7, 1)])
def test_a_centre_is_the_formula(m, n):
    path, noise = nodes(9, 6), nodes(11, 6, seed=1)
    noise[4].node = path[1].node  # a context that is a negative too gets both changes
    rng = np.random.default_rng(2)
    near, far = rng.permutation(np.arange(1, 9))[:m], rng.permutation(11)[:n]
    near[0], far[0] = 1, 4
    u, rows = double_rows(path, "u")[0], double_rows(path + noise, "c")
    expected_centre(u, [rows[k] for k in near], [rows[9 + k] for k in far], 0.2)
    at = [np.concatenate([each, np.zeros(4, int)]) for each in (near, far)]
    skipgram.centre(
        path[0].node.u,
        path,
        at[0],
        m,
        noise,
        at[1],
        n,
        np.float32(0.2),
        np.zeros(m + n + 8, "f4"),
        np.empty(6, "f4"),
    )
    np.testing.assert_allclose(path[0].node.u, u, atol=3e-5)
    np.testing.assert_allclose([edge.node.c for edge in path + noise], rows, atol=3e-5)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_learn_goes_through_a_walk(share):
    """Windows, labels, negatives and the falling step, for the numbers that the stream gives."""
    p = Row(known=0, window=3, negatives=2, dimensions=5, learning_rate=np.float32(0.1))
    path, noise = nodes(8, 5), nodes(7, 5, seed=1)
    path[6].node = path[2].node  # a walk that comes by twice
    u, c, others = double_rows(path, "u"), double_rows(path, "c"), double_rows(noise, "c")
    skipgram.learn(
        path, noise, p, Stream(np.array([9], np.uint64)), np.float32(0.25), np.float32(share)
    )
    rng, a = Stream(np.array([9], np.uint64)), (0.1 - 0.25 * (0.1 - 1e-4)) / share
    for i in range(8):
        reach = 1 + rng.below(3)
        near = [c[j] for j in range(8) if j != i and abs(j - i) <= reach]
        first = rng.below(7)
        expected_centre(u[i], near, [others[(first + k) % 7] for k in range(2 * len(near))], a)
    for edges, rows, field in ((path, u, "u"), (path, c, "c"), (noise, others, "c")):
        np.testing.assert_allclose([getattr(edge.node, field) for edge in edges], rows, atol=2e-4)
    assert all(
        np.array_equal(edge.node.u, fresh.node.u)
        for edge, fresh in zip(noise, nodes(7, 5, seed=1), strict=True)
    )


def test_learn_leaves_a_walk_of_one_alone():
    path, noise = nodes(1, 4), nodes(3, 4, seed=1)
    before = [row.node.c.copy() for row in noise]
    p = Row(known=0, window=3, negatives=2, dimensions=4, learning_rate=np.float32(0.1))
    skipgram.learn(path, noise, p, Stream(np.zeros(1, np.uint64)), np.float32(0), np.float32(1))
    assert all(np.array_equal(row.node.c, old) for row, old in zip(noise, before, strict=True))
    assert np.array_equal(path[0].node.u, nodes(1, 4)[0].node.u)


#  0 - 1 - 2 - 3, 1 - 3, 4 alone; weights by edge
SRC, DST, WEIGHTS = np.array([0, 1, 2, 1]), np.array([1, 2, 3, 3]), np.array([1, 2, 4, 8.0])


@pytest.mark.parametrize(
    ("directed", "weights", "come"),
    [
        (False, None, [2, 4, 3, 3, 1]),
        (True, None, [1, 2, 2, 3, 1]),
        (False, WEIGHTS, [1 + 8 / 30, 1 + 88 / 30, 1 + 48 / 30, 1 + 96 / 30, 1]),
        (True, WEIGHTS, [1, 1 + 4 / 15, 1 + 8 / 15, 1 + 48 / 15, 1]),
    ],
)
def test_negatives_come_by_how_often_walks_do(directed, weights, come):
    """The table's slots, added up, are the shares; and what is drawn from it is."""
    made = skipgram.table(Topology.of(SRC, DST, 5, directed=directed, weights=weights))
    shares = made["keep"].astype(float)
    np.add.at(shares, made["other"], 1 - made["keep"].astype(float))
    wanted = np.array(come) ** 0.75 / (np.array(come) ** 0.75).sum()
    np.testing.assert_allclose(shares / 5, wanted, rtol=1e-5)
    noise = np.full(20_000, -1)
    skipgram.fill(noise, Row(**made), Stream(np.array([1], np.uint64)))
    np.testing.assert_allclose(np.bincount(noise, minlength=5) / 20_000, wanted, atol=0.015)


def test_negatives_of_a_graph_without_edges():
    made = skipgram.table(Topology.of(np.empty(0, int), np.empty(0, int), 3, directed=False))
    assert (made["keep"] == 1).all()


# Runs.

SMALL = {
    "dimensions": 16,
    "window": 4,
    "num_walks": 12,
    "walk_length": 12,
    "pool": 60,
    "learning_rate": 0.1,
}


def communities(n=40, seed=0):
    """Return two dense halves of n vertices with few edges between: (edges, half of each id)."""
    rng = np.random.default_rng(seed)
    half = np.arange(2 * n) // n
    a, b = rng.integers(0, 2 * n, (2, 24 * n))
    keep = (a != b) & ((half[a] == half[b]) | (rng.random(len(a)) < 0.04))
    return EdgeData.of(
        ("node", "node"), a[keep], b[keep], {}, vertices={"node": np.arange(2 * n)}
    ), half


EDGES, HALF = communities()


def told_apart(u, edges=EDGES, half=HALF):
    """Return the share of vertices whose nearest by angle is of their half."""
    half = half[np.asarray(edges.ids["node"].values)]
    u = u / np.linalg.norm(u, axis=1, keepdims=True)
    near = u @ u.T
    np.fill_diagonal(near, -2)
    return (half[near.argmax(axis=1)] == half).mean()


@pytest.mark.long
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.long), 2, 4])
@pytest.mark.parametrize("slack", [0, 2])
def test_communities_are_told_apart(k, slack):
    team = Team(DeepWalk(**SMALL, batch_size=8 * k), EDGES, k=k, slack=slack, jit=True).train(1)
    u = team.gather("node", "u")
    assert told_apart(u) > 0.95
    assert np.linalg.norm(u, axis=1).max() < 10
    assert sum(records[-1]["edges_per_second"] > 0 for records in team.records) == k


@pytest.mark.long
def test_vectors_that_race_tell_communities_apart(all_threads):
    options = RunOptions(threads=4, racing=True)
    worker = run(DeepWalk(**SMALL, batch_size=40), EDGES, options=options).worker
    rows = worker.graph.vertices["node"].row_of
    assert told_apart(worker.tables["node"].arrays["u"][rows]) > 0.95
    assert len(all_threads) > 20


def test_untrained_vectors_do_not_tell_them_apart():
    rng = np.random.default_rng(0)
    assert told_apart(rng.uniform(-1, 1, (80, 16))) < 0.7


TINY = {"dimensions": 5, "window": 2, "num_walks": 2, "walk_length": 5, "pool": 12, "batch_size": 3}


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_odd_graphs(k, directed):
    """A loop, an edge three times, a sink, two components, and vertices without edges, whose
    vectors stay as they were.
    """
    edges = EdgeData.of(
        ("node", "node"),
        [0, 0, 0, 1, 2, 7, 5, 5],
        [1, 1, 1, 2, 2, 8, 5, 6],
        {},
        vertices={"node": [100, 50]},
    )
    program = DeepWalk(**{**TINY, "num_walks": 20, "learning_rate": 0.5}, directed=directed)
    team = Team(program, edges, k=k, jit=True).train(1)
    u, start = team.gather("node", "u"), Team(program, edges, k=1).gather("node", "u")
    assert np.isfinite(u).all()
    alone = [i for i, name in enumerate(edges.ids["node"].values) if name in (100, 50)]
    moved = (u != start).any(axis=1)
    assert not moved[alone].any() and moved.sum() >= (3 if directed else 7)


@pytest.mark.long
def test_weights_are_read_where_they_are_asked_for(tmp_path):
    """Walks of a heavy triangle and a light one that touch at 0: only with weights do 1 and 2
    come closer to 0 than 3 and 4.
    """
    file = tmp_path / "edges.txt"
    file.write_text("0 1 90\n1 2 90\n2 0 90\n0 3 1\n3 4 1\n4 0 1\n")
    options = {**SMALL, "num_walks": 60}
    visits = []
    for weighted in (False, True):
        result = run(DeepWalk(**options, weighted=weighted), file)
        sums = result.worker.graph.topology.sums
        assert (len(sums) > 0) == weighted
        visits.append(result.worker.graph.topology.more["keep"])
    assert not np.array_equal(*visits)


@pytest.mark.slow
def test_batches_suit_the_graph():
    def batch(n, **parameters):
        edges = EdgeData.of(("node", "node"), [0], [1], {}, vertices={"node": np.arange(n)})
        program = DeepWalk(**parameters)
        return program.input.specialise(program, EdgeFacts.of(edges)).parameters["batch_size"]

    assert (
        batch(40_000) == 0
        and batch(1_000_000) == 15_000
        and batch(1_000_000, walk_length=80) == 7_500
    )
    assert batch(1_000_000, batch_size=7) == 7
    program = DeepWalk()
    assert program.stages(Cluster())[0].size.blocks == 5
    assert program.stages(Cluster(workers=4, slack=3))[0].size.blocks == 20


@pytest.mark.long
def test_small_graphs_bear_stale_rows():
    """Four workers, four clocks apart, by the default size of a mini-batch."""
    u = Team(DeepWalk(**SMALL), EDGES, k=4, slack=4, jit=True).train(1).gather("node", "u")
    assert told_apart(u) > 0.95 and np.linalg.norm(u, axis=1).max() < 10


@pytest.mark.slow
def test_scores_by_labels_are_means_of_as_many_splits_as_asked_for(tmp_path, capsys):
    graph, labels = tmp_path / "edges.txt", tmp_path / "labels.txt"
    graph.write_text(
        "".join(f"{a} {b}\n" for a, b in np.random.default_rng(0).integers(0, 20, (60, 2)))
    )
    labels.write_text("".join(f"{a} {a % 3}\n" for a in range(20)))
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
    scores = []
    for repeats in ("1", "2"):
        assert (
            main(
                [
                    "run",
                    "deepwalk",
                    str(graph),
                    *flags,
                    "--labels",
                    str(labels),
                    "--judge-repeats",
                    repeats,
                ]
            )
            == 0
        )
        scores.append([line for line in capsys.readouterr().out.splitlines() if "_f1_" in line])
    assert len(scores[0]) == len(scores[1]) == 6 and scores[0] != scores[1]
    assert main(["run", "deepwalk", str(graph), "--judge-repeats", "0"]) == 2


def test_labels_that_cannot_be_read_are_told_before_the_walks(tmp_path):
    """And so are those of other vertices."""
    graph, strangers = tmp_path / "edges.txt", tmp_path / "labels.txt"
    graph.write_text("0 1\n1 2\n2 0\n")
    strangers.write_text("# none\n")
    for labels in (tmp_path / "nowhere.txt", strangers):
        with pytest.raises(DataError, match="no such file|holds no label"):
            run(DeepWalk(**SMALL), graph, options=RunOptions(labels=labels, out=tmp_path / "early"))
        assert not (tmp_path / "early").exists()
    strangers.write_text("17 a\n18 b\n")
    with pytest.raises(DataError, match="17|none|known"):
        run(DeepWalk(**SMALL), graph, options=RunOptions(labels=strangers, out=tmp_path / "late"))
    assert not (tmp_path / "late").exists()


def train_vectors(program, edges, jit=True):
    """Return vectors by dense index, after an epoch on one worker."""
    team = Team(program, edges, k=1, jit=jit).train(1)
    return team.gather("node", "u"), team.gather("node", "c")


@pytest.mark.long
@pytest.mark.parametrize("more", [{}, pytest.param({"p": 0.5, "q": 2.0}, marks=pytest.mark.long)])
def test_compiled_or_not_is_the_same(more):
    edges = EdgeData.of(("node", "node"), [0, 1, 2, 2], [1, 2, 3, 2], {}, vertices={"node": [9]})
    for one, other in zip(
        train_vectors(DeepWalk(**TINY, **more), edges),
        train_vectors(DeepWalk(**TINY, **more), edges, jit=False),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(one).max() > 0
