"""Scores by a model for any number of questions: of held-out edges, or of vertices by theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.parallel import cores
from tux.engine.start_model import StartModel, Stored
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.program.base_program import other_types
from tux.program.program import Program
from tux.program.stage import Stage


class Scorer:
    """A worker that scores. The model has vertices `ids`, by type, which come first in those of
    each question, and columns `stored`; fields that it does not have stay as they begin.

    The last of `stages`, a `tux.stages.Score`, runs for each question. Those before it run once, on
    the vertices that the model has, and change none of its fields. `how`: the worker's `jit` and
    `check`.
    """

    def __init__(
        self,
        program: Program,
        ids: Mapping[str, Ids],
        stored: Stored,
        stages: Sequence[Stage],
        *,
        seed: int = 0,
        threads: int | None = None,
        **how: bool,
    ) -> None:
        self._program, self._ids = program, ids
        *self._before, self._last = stages
        self._start = StartModel({name: len(each) for name, each in ids.items()}, stored)
        self._how: dict[str, Any] = {"seed": seed, "threads": threads or cores(), **how}
        self._kept: Worker | None = None

    def score(self, asked: EdgeData) -> np.ndarray:
        """Return the scores of the held-out edges `asked`, or of the vertices of one end.

        Rows are laid out for the first question and kept for others, with the compiled code, but
        for those of types of which the model has no vertices, which each question brings. Where it
        also brings new vertices of another type, or data fields of known ones, nothing is kept.
        """
        step: Any = self._last.step(self._worker_for(asked))
        step.run()
        return np.asarray(step.scores)

    def _worker_for(self, asked: EdgeData) -> Worker:
        """Return a worker that has the model and what is asked."""
        for kind, known in self._ids.items():
            if len(known) and (len(asked.ids[kind]) > len(known) or asked.vertex_fields.get(kind)):
                return self._make_worker(asked)
        if self._kept is None:
            self._kept = self._make_worker(self._without_question(asked), common={})
        return self._kept.asked_about(self._lay_out(asked, self._kept), self._start)

    def _without_question(self, asked: EdgeData) -> EdgeData:
        """Return what is asked without all of its edges and new vertices."""
        none = {
            kind: {name: column[:0] for name, column in fields.items()}
            for kind, fields in asked.vertex_fields.items()
        }
        return replace(asked.bare(), ids=self._ids, vertex_fields=none)

    def _make_worker(self, asked: EdgeData, **how: Any) -> Worker:
        """Lay out the vertices of the model and what is `asked`, and run the stages before the
        last.
        """
        graph = self._lay_out(asked)
        worker = Worker(self._program, graph, start=self._start, **self._how, **how)
        worker.run(worker.prepare(self._before))
        return worker

    def _lay_out(self, asked: EdgeData, kept: Worker | None = None) -> LocalGraph:
        """Make the graph of a question; the vertices that the model has lie as they do in the
        worker that is `kept`.
        """
        none, ids = np.empty(0, np.int32), dict(self._ids)
        types = {"": self._program.edge, **other_types(self._program)}
        edges = {name: EdgeData(edge.ends, ids, none, none, {}) for name, edge in types.items()}
        known = edges.pop("").join(edges)
        held = {} if kept is None else kept.graph.vertices
        same = {kind: each for kind, each in held.items() if len(ids[kind])}
        return LocalGraph.whole(self._program, known, asked, self._how["seed"], same)
