"""DeepWalk: vertices as points, close where random walks from one come by the other.

Walks from every vertex are read as sentences of a text, and skip-gram with negative sampling learns
a vector of each vertex from what is near it (Perozzi, Al-Rfou and Skiena, KDD 2014); with p or q
other than 1 walks are those of node2vec (Grover and Leskovec, KDD 2016).
"""

from __future__ import annotations

from tux.apps.deepwalk.embedding import Embedding, EmbeddingInput
from tux.apps.deepwalk.fold_in import find, find_by_weight
from tux.apps.deepwalk.skipgram import fill, learn, table
from tux.apps.deepwalk.walking import WalkProgram, step
from tux.base.random import uniform
from tux.program.fields import shared
from tux.program.params import param
from tux.program.types import Edge, Vertex
from tux.stages import Generate, MiniBatch, Score

# mini-batches in a round of walks of two workers; times the pairs of workers, and with slack two or
# three times as many, as rows are older
BLOCKS = 5
# vertices on the walks of a mini-batch of a larger graph, so that what is pulled fits into memory
TOKENS = 600_000


def small_vectors(p):
    """Return the distribution of the first vectors: so close to 0 that all products are small."""
    return uniform(-0.5 / p.dimensions, 0.5 / p.dimensions)


def make(start, path, noise, at, topology, p, rng, id):
    """Make a walk, step by step, and at its last place the pool of negatives; none from a vertex of
    the model with which the run begins.
    """
    if id >= p.known:
        step(start, path, at, topology, p, rng)
        if at == len(path) - 1:
            fill(noise, topology, rng)


class DeepWalkInput(EmbeddingInput):
    """A graph with the table that negatives are drawn from."""

    def extra_tables(self, program, topology):
        """Return Walker's table of negatives."""
        return table(topology)

    def specialise(self, program, facts):
        """Return the program itself; on a larger graph, a copy with a mini-batch whose vertices fit
        into memory.
        """
        most = max(1, TOKENS // program.walk_length)
        if program.batch_size or len(facts.ids["node"]) <= BLOCKS * most:
            return program
        return program.replace_parameters(batch_size=most)


class DeepWalk(WalkProgram, Embedding):
    """Vectors of a graph's vertices, from random walks."""

    dimensions: int = param(128, "length of a vertex's vector", low=1)
    window: int = param(10, "steps on a walk within which two vertices are near", low=1)
    negatives: int = param(5, "vertices drawn at random for each that is near", low=1)
    pool: int = param(100, "vertices among which a walk's negatives are", low=1)
    learning_rate: float = param(
        0.0275, "learning rate at the start", low=1e-4, dtype="f4", former="step"
    )
    batch_size: int = param(
        0,
        "vertices whose walks lie between two exchanges of changes; 0: a fifth of all or less",
        low=0,
        former="batch",
    )
    epochs, epochs_from = 1, 4
    input = DeepWalkInput(labels=True)
    node = Vertex(
        remote=True,
        u=shared("dimensions", init=small_vectors, combine="sqrt_mean", wire="i1"),
        c=shared("dimensions", combine="sqrt_mean", wire="i1"),
    )
    link = Edge("node", "node")

    def setup_from(self):
        return []

    def stages(self, cluster):
        length = self.walk_length
        if cluster.from_model:  # of a walk, the first vertex alone learns
            length = min(length, self.window + 1)
        how = {"rounds": self.num_walks, "racing": True, "path": length, "noise": "pool"}
        walks = Generate(make, learn, "node", **how)
        blocks = BLOCKS * max(1, cluster.workers // 2)
        if cluster.from_model:  # few vertices walk
            blocks = cluster.workers
        elif cluster.slack:
            blocks = max(2 * blocks, 3 * BLOCKS)
        return [MiniBatch(walks, vertices=self.batch_size, blocks=0 if self.batch_size else blocks)]

    def fold_in(self, role):
        found = find_by_weight if self.weighted else find
        return [Score(found, role, width="dimensions", name="u")]
