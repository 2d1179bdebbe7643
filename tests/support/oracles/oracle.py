"""The results that the engine must give, in plain numpy and networkx: slow, and with none of the
engine's machinery.
"""

import networkx as nx
import numpy as np


def graph(edges):
    """Return the networkx graph of edges between vertices of one type, by dense index; all
    vertices, each edge once per occurrence.
    """
    (kind, _) = edges.ends
    out = nx.MultiDiGraph()
    out.add_nodes_from(range(len(edges.ids[kind])))
    out.add_edges_from(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    return out


def degrees(edges):
    """Count the edges that leave and that enter each vertex, by dense index."""
    n = len(edges.ids[edges.ends[0]])
    return np.bincount(edges.src, minlength=n), np.bincount(edges.dst, minlength=n)


def pagerank(edges, damping):
    """Return the PageRank by dense index."""
    found = nx.pagerank(nx.DiGraph(graph(edges)), alpha=damping, tol=1e-13, max_iter=500)
    return np.array([found[i] for i in range(len(found))])


def components(edges, labels):
    """Return the least of `labels` in each vertex's component, by dense index."""
    out = labels.copy()
    for part in nx.weakly_connected_components(graph(edges)):
        out[list(part)] = labels[list(part)].min()
    return out


def pairs_touched(block_of, over, other):
    """Return the number of blocks that have an edge to each vertex of the other end. `block_of` is
    the block of each vertex of the enumerated end.
    """
    pairs = {(block_of[a], b) for a, b in zip(over.tolist(), other.tolist(), strict=True)}
    return np.bincount([b for _, b in pairs], minlength=other.max() + 1)


def moments(values):
    """Return number, mean and standard deviation."""
    return len(values), np.mean(values, dtype=float), np.std(values, dtype=float)


class SgdFactors:
    """Matrix factorization by SGD as apps/mf/sgd.py describes it, in double precision and with
    whole gradients.

    Factors P (users, rank), Q (items, rank); summed squared gradients (n, 2) for the warm group of
    dimensions and the rest, or (n, 3) with those of biases. The latter are (n,), and none without
    them; `mean` is then that of the ratings, and `bias_step` the first step of a bias.
    """

    def __init__(self, factors, squares, *, step, reg, warm, mean=0.0, biases=None, bias_step=0.0):
        self.factors, self.squares = (
            [array.astype(float) for array in pair] for pair in (factors, squares)
        )
        self.step, self.reg, self.warm = step, reg, warm
        self.mean, self.bias_step = mean, bias_step
        self.biases = None if biases is None else [array.astype(float) for array in biases]
        self.sse = 0.0

    def train(self, edges, first_epoch):
        """Train one epoch over `edges`, (user, item, value) each, in their order."""
        rank = self.factors[0].shape[1]
        groups = [slice(0, min(self.warm, rank))] + (
            [] if first_epoch or self.warm >= rank else [slice(self.warm, rank)]
        )
        active = slice(0, groups[-1].stop)
        self.sse = 0.0
        for user, item, value in edges:
            at = (user, item)
            x, y = (array[i].copy() for array, i in zip(self.factors, at, strict=True))
            err = value - self.mean - x[active] @ y[active]
            if self.biases is not None:
                err -= sum(array[i] for array, i in zip(self.biases, at, strict=True))
                self.move_biases(at, err)
            self.sse += err**2
            for side, gradient in enumerate((self.reg * x - err * y, self.reg * y - err * x)):
                for g, group in enumerate(groups):
                    squares = self.squares[side][at[side]]
                    size = group.stop - group.start
                    self.factors[side][at[side], group] -= (
                        self.step / np.sqrt(squares[g] / size) * gradient[group]
                    )
                    squares[g] += np.sum(gradient[group] ** 2)

    def move_biases(self, at, err):
        """Make a step of the biases of a user and an item, `at`."""
        for biases, squares, i in zip(self.biases, self.squares, at, strict=True):
            gradient = self.reg * biases[i] - err
            biases[i] -= self.bias_step / np.sqrt(squares[i, 2]) * gradient
            squares[i, 2] += gradient**2
