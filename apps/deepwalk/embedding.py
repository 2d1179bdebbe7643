"""What users do with vectors of a graph's vertices, whatever has learned them: judge them, and
take them elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tux.apps.deepwalk.scoring import hold_out, judged
from tux.arrays.ids import Ids
from tux.io.vertex_labels import read_vertex_labels
from tux.io.word2vec import arrays
from tux.program.params import param
from tux.program.program import Program


class Embedding(Program):
    """A program whose vertices of type `node` have a vector `u`."""

    labels = True
    hold: float = param(0.0, "share of the edges to keep back, and to judge by", low=0, high=0.9)

    def held_out(self, edges):
        if not self.hold:
            return edges, None
        n = len(edges.ids["node"])
        cut = hold_out(edges.src, edges.dst, n, share=self.hold)
        fields = {name: column[cut.kept] for name, column in edges.fields.items()}
        others = {
            name: np.ones(len(cut.src), column.dtype) for name, column in edges.fields.items()
        }
        known = replace(edges, src=edges.src[cut.kept], dst=edges.dst[cut.kept], fields=fields)
        return known, replace(
            known, src=cut.src.astype(np.int32), dst=cut.dst.astype(np.int32), fields=others
        )

    def judge(self, fields, ids, edges, asked):
        """F1 of a linear classifier by labels, and whether edges kept back are told from pairs
        without an edge.
        """
        vectors, pieces = fields["node"]["u"], list(edges)
        ends = tuple(
            np.concatenate([piece[end] for piece in pieces] or [np.empty(0, np.int64)])
            for end in range(2)
        )
        labels = (
            read_vertex_labels(asked.labels, Ids(ids["node"])) if asked.labels is not None else None
        )
        held = None
        if asked.held_out is not None:
            known = (asked.held_out.src < len(vectors)) & (asked.held_out.dst < len(vectors))
            held = asked.held_out.src[known], asked.held_out.dst[known]
        return judged(
            vectors, labels, held, ends, asked.seed, shuffles=asked.repeats, progress=asked.progress
        )

    def exports(self):
        return dict.fromkeys(("word2vec", "word2vec-binary", "npz", "picture"), vectors_of)


def vectors_of(fields, ids, parameters):
    """Ids and vectors."""
    return arrays(ids["node"], fields["node"]["u"])
