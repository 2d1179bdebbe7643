"""Vectors of a graph's vertices, whatever has learned them: edges kept back to judge them by, their
scores, and formats for other programs.
"""

from __future__ import annotations

import numpy as np

from tux.apps.deepwalk.scoring import score_embedding
from tux.apps.deepwalk.walking import WalkInput
from tux.arrays.ids import Ids
from tux.io.vertices.labels import read_vertex_labels
from tux.io.vertices.word2vec import export_arrays
from tux.program.params import param
from tux.program.program import Program
from tux.program.report import Report


class EmbeddingInput(WalkInput):
    """A graph of which a share of the edges, the program's parameter `hold`, can be kept back."""

    def hold_out(self, program):
        """Return the share of the edges that is kept back."""
        return program.hold


class EmbeddingReport(Report):
    """Scores and formats of the vectors `u` of vertices of type `node`."""

    def judge(self, program, model, truth):
        """Return F1 of a linear classifier by labels, and how well edges kept back are told from
        pairs without an edge.
        """
        vectors, pieces = model.fields["node"]["u"], list(model.edges)
        ends = tuple(
            np.concatenate([piece[end] for piece in pieces] or [np.empty(0, np.int64)])
            for end in range(2)
        )
        labels = None
        if truth.labels is not None:
            labels = read_vertex_labels(truth.labels, Ids(model.ids["node"]))
        held = None
        if truth.held_out is not None:
            src, dst = truth.held_out.src, truth.held_out.dst
            trained = (src < len(vectors)) & (dst < len(vectors))
            held = src[trained], dst[trained]
        return score_embedding(
            vectors, labels, held, ends, truth.seed, shuffles=truth.repeats, progress=truth.progress
        )

    def exports(self):
        """Return the forms of export of ids and vectors: files that others read, or a picture."""
        return dict.fromkeys(("word2vec", "word2vec-binary", "npz", "picture"), vectors_of)


class Embedding(Program):
    """A program whose vertices of type `node` have a vector `u`."""

    hold: float = param(0.0, "share of the edges to keep back, and to judge by", low=0, high=0.9)
    report = EmbeddingReport()


def vectors_of(program, model):
    """Return ids and vectors."""
    return export_arrays(model.ids["node"], model.fields["node"]["u"])
