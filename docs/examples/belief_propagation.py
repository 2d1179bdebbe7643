"""Belief propagation by sums and products: how probable each state of each node is, where

    p(x) ~ exp(sum_i theta_i(x_i) + sum of the couplings of links (i, j) with x_i = x_j)

Each node sends each neighbour j a message, by what its other neighbours have sent:

    m_ij(x) = log sum_y exp(coupling [x = y] - m_ji(y)) b_i(y),    b_i ~ exp(theta_i + sum_k m_ki)

Pearl, "Probabilistic reasoning in intelligent systems", 1988; Yedidia, Freeman and Weiss,
"Constructing free-energy approximations and generalized belief propagation algorithms", IEEE
Transactions on Information Theory 51, 2005. The beliefs b are exact on a tree; with cycles they
are approximations, and may not settle. The file has two nodes and a coupling on each line, the
table of nodes has theta_0, theta_1, ...:

    tux run docs/examples/belief_propagation.py links.csv --vertices node=nodes.csv --out beliefs
"""

from math import exp, log

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    Program,
    Vertex,
    data,
    delta,
    master,
    metric,
    mirror,
    param,
    total,
    value,
)


def send(giver, taker, back, message, link, p):
    """Compute the message from giver to taker anew; the taker gathers how it changes."""
    for x in range(p.states):
        new = 0.0
        for y in range(p.states):
            new += exp(link.coupling * (x == y) - back[y]) * giver.belief[y]
        new = log(new)
        taker.change[x] += new - message[x]
        message[x] = new


def send_forth(src, dst, link, p):
    send(src, dst, link.back, link.forth, link, p)


def send_back(src, dst, link, p):
    send(dst, src, link.forth, link.back, link, p)


def believe(node, tau, p):
    node.messages[:] += node.change
    scores = node.theta + node.messages
    top = np.max(scores)
    whole = np.sum(np.exp(scores - top))
    for x in range(p.states):
        belief = exp(scores[x] - top) / whole
        tau.most = max(tau.most, abs(belief - node.belief[x]))
        node.belief[x] = belief


class BeliefPropagation(Program):
    """Probabilities of the states of each node of a Potts model."""

    states: int = param(0, "states of a node; 0: as many as the table has", low=0)
    tolerance: float = param(1e-9, "end when no probability changes by more", low=0)

    node = Vertex(
        theta=data("f8", "states"),
        belief=value("f8", "states"),
        messages=master("f8", "states", kept=False),
        change=delta("f8", "states"),
    )
    link = Edge(
        "node",
        "node",
        coupling=data("f8"),
        forth=mirror("f8", "states"),
        back=mirror("f8", "states"),
    )
    tau = Context(moved=metric("most", most=total(combine="max")))
    epochs = 1000

    def setup(self):
        return [Apply("node", believe)]

    def stages(self):
        update = Apply("node", believe)
        return [Exchange(send_forth), update, Exchange(send_back), update]

    def converged(self, metrics):
        return metrics["moved"] <= self.tolerance
