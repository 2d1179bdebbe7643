"""`docs/examples/belief_propagation.py`: against sums over all states of a tree, and against numpy
on a graph with cycles, on several workers.
"""

from itertools import product

import numpy as np
import pytest
from support.machines.team import train_team

from tux.arrays.edges import EdgeData
from tux.program.sources import find

BeliefPropagation = find("docs/examples/belief_propagation.py").program

#   0 - 1 - 2      3 - 4 in a part of its own; 5 has no link
#       |
#       6 - 7
TREE = [(0, 1), (2, 1), (6, 1), (6, 7), (3, 4)]
SQUARES = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (4, 1), (5, 2)]
STATES = 3


def draw_model(links, nodes, seed=0):
    """Return the links as edges with couplings, the couplings (m,) and theta (nodes, STATES)."""
    rng = np.random.default_rng(seed)
    theta, coupling = rng.normal(size=(nodes, STATES)), rng.normal(size=len(links))
    fields = {"vertices": {"node": range(nodes)}, "vertex_fields": {"node": {"theta": theta}}}
    return (
        EdgeData.of(("node", "node"), *zip(*links, strict=True), {"coupling": coupling}, **fields),
        coupling,
        theta,
    )


def sum_over_all(links, coupling, theta):
    """Return the marginal probabilities by the definition of p(x)."""
    marginals = np.zeros_like(theta)
    for x in product(range(STATES), repeat=len(theta)):
        energy = sum(c * (x[i] == x[j]) for (i, j), c in zip(links, coupling, strict=True))
        marginals[range(len(x)), x] += np.exp(energy + theta[range(len(x)), x].sum())
    return marginals / marginals.sum(axis=1, keepdims=True)


def settle(links, coupling, theta):
    """Return the beliefs after many rounds in which all messages are sent at once."""
    strength = dict(zip(links, coupling, strict=True))
    strength |= {(j, i): c for (i, j), c in strength.items()}
    m = {pair: np.ones(STATES) for pair in strength}
    for _ in range(200):
        old = dict(m)
        for i, j in m:
            others = [old[k, to] for k, to in old if to == i and k != j]
            b = np.exp(theta[i]) * np.prod(others, axis=0)
            m[i, j] = np.exp(strength[i, j] * np.eye(STATES)) @ b
            m[i, j] /= m[i, j].sum()
    beliefs = [
        np.exp(theta[i]) * np.prod([m[k, to] for k, to in m if to == i], axis=0)
        for i in range(len(theta))
    ]
    return [b / b.sum() for b in beliefs]


WORKERS = pytest.mark.parametrize(
    ("k", "slack", "jit"),
    [(1, 0, False), (2, 0, False), (3, 2, False), pytest.param(1, 0, True, marks=pytest.mark.slow)],
)


@WORKERS
def test_beliefs_on_a_tree_are_the_marginals(k, slack, jit):
    edges, *model = draw_model(TREE, 8)
    team = train_team(BeliefPropagation(states=STATES), edges, 30, k=k, slack=slack, jit=jit)
    np.testing.assert_allclose(team.gather("node", "belief"), sum_over_all(TREE, *model), rtol=1e-9)
    assert team.agrees("node", "belief")


@WORKERS
def test_beliefs_on_a_graph_with_cycles(k, slack, jit):
    edges, *model = draw_model(SQUARES, 6)
    team = train_team(BeliefPropagation(states=STATES), edges, 100, k=k, slack=slack, jit=jit)
    np.testing.assert_allclose(team.gather("node", "belief"), settle(SQUARES, *model), rtol=1e-6)
    assert team.history("moved")[-1] <= 1e-9
    assert len(team.history("moved")) < 100
