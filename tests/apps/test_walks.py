"""Random walks: steps as often as enumeration says, walks that end where nothing leads on, and
the same ones on any number of workers.
"""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.links import DirectedLinks
from support.programs.programs import random_pairs, start

from tux import Edge, Program, Vertex, param, shared
from tux.apps.deepwalk.walking import step
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.engine.training import Training
from tux.graph.topology import Topology
from tux.program.fields import data
from tux.rows.rng import Stream
from tux.stages import Generate, MiniBatch

# 0 <-> 1 -> 2 both ways and one way, a loop at 3, an edge twice, a triangle, 6 a sink if directed,
# 7 alone
SRC, DST = np.array(
    [
        [0, 1],
        [1, 0],
        [1, 2],
        [2, 0],
        [2, 3],
        [3, 3],
        [3, 0],
        [0, 4],
        [0, 4],
        [4, 2],
        [4, 5],
        [5, 0],
        [3, 5],
        [5, 6],
    ]
).T
WEIGHTS = np.array([1, 2, 3, 1, 0.5, 2, 1, 1, 1, 4, 1, 2, 1, 0.25])
N = 8


def matrix(directed, weighted):
    """Return the weights of steps, by brute force: A[u, v] of the step from u to v."""
    found = np.zeros((N, N))
    for u, v, w in zip(SRC, DST, WEIGHTS if weighted else np.ones(len(SRC)), strict=True):
        for a, b in [(u, v)] if directed else [(u, v), (v, u)]:
            found[a, b] = 0.0 if a == b else found[a, b] + w if weighted else 1.0
    return found


def walk_parameters(p=1.0, q=1.0, weighted=False):
    return Row(p=p, q=q, weighted=weighted)


def walks(p, *, directed, starts, length):
    """Return the walks of `starts` in plain Python, (walks, length); -1 follows their ends."""
    topology = Topology.of(SRC, DST, N, directed=directed, weights=WEIGHTS if p.weighted else None)
    rng = Stream(np.array([5], np.uint64))
    out = np.full((len(starts), length), -1, np.int32)
    for path, v in zip(out, starts, strict=True):
        for at in range(length):
            step(v, path, at, topology, p, rng)
    return out


def fits_shares(counts, shares):
    """Compare counts (groups, k) with shares (groups, k) by Pearson's test. Return whether p >
    .001, by Wilson and Hilferty's approximation.
    """
    expected = shares * counts.sum(axis=1, keepdims=True)
    assert not counts[shares == 0].any()
    use = (expected > 0) & (counts.sum(axis=1, keepdims=True) > 100)
    statistic = ((counts - expected)[use] ** 2 / expected[use]).sum()
    freedom = use.sum() - use.any(axis=1).sum()
    assert freedom > 3
    return statistic < freedom * (1 - 2 / (9 * freedom) + 3.09 * np.sqrt(2 / (9 * freedom))) ** 3


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_the_first_order(directed, weighted):
    a = matrix(directed, weighted)
    found = walks(
        walk_parameters(weighted=weighted),
        directed=directed,
        starts=np.tile(np.arange(N), 250),
        length=12,
    )
    counts = np.zeros((N, N))
    here, there = found[:, :-1].ravel(), found[:, 1:].ravel()
    np.add.at(counts, (here[there >= 0], there[there >= 0]), 1)
    shares = a / np.maximum(a.sum(axis=1, keepdims=True), 1e-300)
    assert fits_shares(counts, shares)
    if weighted:
        assert not fits_shares(counts, (a > 0) / np.maximum((a > 0).sum(axis=1, keepdims=True), 1))


@pytest.mark.long(after=3)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(0.25, 4.0), (4.0, 0.25), (0.5, 0.3), (3.0, 2.0)])
def test_steps_of_the_second_order(directed, weighted, p, q):
    a = matrix(directed, weighted)
    found = walks(
        walk_parameters(p, q, weighted),
        directed=directed,
        starts=np.tile(np.arange(N), 150),
        length=20,
    )
    counts, shares = np.zeros((N * N, N)), np.zeros((N * N, N))
    for row in found:
        for t, v, x in zip(row, row[1:], row[2:], strict=False):
            if x >= 0:
                counts[t * N + v, x] += 1
    for t in range(N):
        for v in range(N):
            biased = [a[v, x] * (1 / p if x == t else 1 if a[t, x] else 1 / q) for x in range(N)]
            shares[t * N + v] = np.array(biased) / max(sum(biased), 1e-300)
    assert fits_shares(counts, shares)
    assert not fits_shares(
        counts, np.where(shares > 0, 1, 0) / np.maximum((shares > 0).sum(axis=1, keepdims=True), 1)
    )


@pytest.mark.parametrize(
    "p",
    [
        walk_parameters(),
        walk_parameters(weighted=True),
        walk_parameters(0.5, 2.0),
        walk_parameters(2.0, 0.5, weighted=True),
    ],
)
def test_walks_end_where_nothing_leads_on(p):
    directed = walks(p, directed=True, starts=np.repeat([5, 6, 7], 40), length=6)
    assert (directed[40:80] == [6, -1, -1, -1, -1, -1]).all() and (
        directed[80:] == [7, -1, -1, -1, -1, -1]
    ).all()
    ended = [row.tolist() for row in directed[:40] if 6 in row]
    assert ended and all(set(row[row.index(6) + 1 :]) <= {-1} for row in ended)
    both = walks(p, directed=False, starts=np.repeat([5, 6], 40), length=6)
    assert (both >= 0).all()
    assert walks(p, directed=False, starts=[0], length=1).tolist() == [[0]]


# On the engine.


def count(path):
    for i in range(len(path)):
        path[i].node.seen += 1


class KeepsWalks(Program):
    """Counts visits, and keeps the walks: by (start, round, epoch)."""

    input = DirectedLinks()
    length: int = param(9)
    p: float = param(1.0)
    q: float = param(1.0)
    node = Vertex(remote=True, seen=shared("i8"))
    link = Edge("node", "node", weight=data("f4"))
    weighted = True

    def stages(self):
        kept = self.kept = getattr(self, "kept", {})

        class Keeping(Generate):
            def prepare_lists(self, worker, batch):
                made = super().prepare_lists(worker, batch)
                make = made.make

                def note_walks(block):
                    make(block)
                    for v, path in zip(
                        made.starts(block), made.lists_of(block)["path"], strict=True
                    ):
                        assert (
                            kept.setdefault((int(v), block.round, worker.epoch), path.tolist())
                            == path.tolist()
                        )

                made.make = note_walks
                return made

        return [MiniBatch(Keeping(step, count, "node", rounds=2, path="length"), vertices=6)]


LEFT, RIGHT = random_pairs(30, 30, 110, seed=4)
EDGES = from_arrays(
    LEFT,
    RIGHT,
    ends=("node", "node"),
    weight=np.random.default_rng(1).uniform(0.1, 3, len(LEFT)).astype("f4"),
)


def collect_walks(jit=True, **parameters):
    program = KeepsWalks(**parameters)
    list(Training(start(program, EDGES, jit=jit)).epochs(2))
    return program.kept


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize("parameters", [{}, {"p": 0.5, "q": 2.0}])
def test_the_same_walks_on_any_number_of_workers(parameters):
    alone = collect_walks(**parameters)
    assert len(alone) == 2 * 2 * len(EDGES.ids["node"])
    assert alone == collect_walks(jit=False, **parameters)
    # other walks in other rounds and epochs
    assert len({tuple(path) for (v, _, _), path in alone.items() if v == 3}) > 1
    for k in (2, 4):
        program = KeepsWalks(**parameters)
        Team(program, EDGES, k=k, slack=k // 4, jit=True).train(2)
        assert program.kept == alone


def test_an_edge_without_weight_is_refused():
    from tux.base.errors import DataError

    edges = EdgeData.of(("node", "node"), [0, 1], [1, 2], {"weight": np.array([1, 0], "f4")})
    with pytest.raises(DataError, match="weight 0"):
        start(KeepsWalks(), edges)
