"""A model in memory that answers questions: the best items for a user, similar vertices, new users,
scores. It does not change, and may be asked by several threads at a time.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import TuxError, UsageError
from tux.base.text import plural, plural_noun
from tux.inputs.edge_files import bare_pairs
from tux.io.source.input_files import Source
from tux.options.options import Reading
from tux.predict.coded import NONE, CodedItems, refuse_infinite
from tux.predict.export import read_model
from tux.predict.factors import Factors, factors_of
from tux.predict.neighbours import choose_vectors
from tux.predict.predict import TrainedModel, Warn, memory_model, reopen_program
from tux.predict.recommend import read_excluded
from tux.predict.rows import columns_of_new, fold_in_rows, new_to_fold_in, with_vertex_data
from tux.predict.topk import Excluded, unit_scales
from tux.program.input import Points, Samples
from tux.program.new_vertices import NewVertices
from tux.program.product import has_product, product_of
from tux.program.program import Program
from tux.program.report import Model
from tux.run_folder.folder import read_run
from tux.serve.known_ids import KnownIds
from tux.serve.questions import (
    FoldInQuestion,
    Question,
    RefusedRequest,
    ScoresQuestion,
    SimilarQuestion,
    TopQuestion,
    edges_of,
)

FEW_IDS = 100  # that are looked up at once

_FOLDING = Lock()  # new vertices are found one at a time, also where there are two models

Answer = dict[str, Any]


class UnitVectors(NamedTuple):
    """Vectors of a vertex type, (N, r), and the numbers by which they get the length 1, (N,)."""

    kind: str
    vectors: np.ndarray
    scales: np.ndarray
    coded: CodedItems


class AnsweringModel:
    """A model that answers. `exclude`: pairs that are known, and are not recommended unless a
    question allows it, as `tux.predict.recommend.top` takes them.

    Raises UsageError for a program about which nothing can be asked, and DataError for numbers that
    are not finite.
    """

    def __init__(
        self,
        trained: TrainedModel,
        model: Model,
        exclude: Source | None = None,
        warn: Warn = lambda text: None,
    ) -> None:
        self._trained, self._model, self.program = trained, model, trained.program
        types = trained.run.id_types
        self.known = {
            kind: KnownIds(model.ids[kind], types.get(kind, "")) for kind in self.program.vertices
        }
        self._vectors: dict[str, UnitVectors] = {}
        self._making = Lock()
        self._factors: Factors | None = None
        self._seen: Excluded | None = None
        if has_product(self.program):
            self._factors = factors_of(self.program, model.fields)
            refuse_infinite(self._factors.queries, self._factors.query_bias, self._factors.offset)
            self._items = CodedItems(self._factors.items, self._factors.item_bias)
        if exclude is not None:
            product_of(self.program)  # an error without one
            of = trained.run, self.program, dict(trained.ids)
            self._seen = read_excluded(exclude, *of, None, warn)
        self.folds = self._can_fold()
        self._warm_up(warn)

    def is_quick(self, asked: Question, numbers: int) -> bool:
        """Return whether an answer goes over few ids, and at most so many numbers of items."""
        if isinstance(asked, TopQuestion):
            size = 0 if self._factors is None else self._factors.items.size
            return size <= numbers and len(asked.exclude) <= FEW_IDS
        made = self._vectors.get(asked.of) if isinstance(asked, SimilarQuestion) else None
        return made is not None and made.vectors.size <= numbers

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of vertices by type."""
        return {kind: len(known) for kind, known in self.known.items()}

    def _can_fold(self) -> bool:
        """Return whether new vertices can be folded in by pairs."""
        program = self.program
        if isinstance(program.input, Samples | Points):
            return False
        try:
            new_to_fold_in(self._trained)
        except UsageError:
            return False
        return len(program.edge.columns) < 2

    def top(self, asked: TopQuestion) -> Answer:
        """Find the best items for a user. Raises RefusedRequest."""
        factors = self._product()
        user, item = self.program.edge.ends
        row = self._row(user, asked.id)
        banned = [self.known[item].rows_of(asked.exclude)] if asked.exclude else []
        if self._seen is not None and not asked.known:
            offsets, positions = self._seen
            banned.append(positions[offsets[row] : offsets[row + 1]])
        own = factors.offset
        if factors.query_bias is not None:
            own += float(factors.query_bias[row])
        found = self._best(factors.queries[row], asked.n, banned, own)
        return {"id": self.known[user].at(np.array([row]))[0], "of": item, **found}

    def similar(self, asked: SimilarQuestion) -> Answer:
        """Find the vertices that are most like one. Raises RefusedRequest."""
        kind, vectors, scales, coded = self._units(asked.of)
        row = self._row(kind, asked.id)
        unit = (vectors[row] * scales[row]).astype(np.float32)
        places, cosines = coded.best(unit, asked.n, np.array([row]))
        known = self.known[kind]
        return {
            "id": known.at(np.array([row]))[0],
            "of": kind,
            "ids": known.at(places),
            "cosines": cosines.clip(-1, 1).tolist(),
        }

    def fold_in(self, asked: FoldInQuestion) -> Answer:
        """Find the vector of a new vertex, and the best items for it. Raises RefusedRequest."""
        if not self.folds:
            name = type(self.program).__name__
            raise RefusedRequest(404, f"{name} has no new vertices that pairs could tell")
        ids, numbers = edges_of(asked.pairs)
        try:
            new = new_to_fold_in(self._trained, asked.of)
            with _FOLDING:
                return self._fold(asked, new, ids, numbers)
        except TuxError as error:
            raise RefusedRequest(400, f"{error.what}; {error.do}") from None

    def scores(self, asked: ScoresQuestion) -> Answer:
        """Compute the scores of pairs. Raises RefusedRequest."""
        factors = self._product()
        user, item = self.program.edge.ends
        rows = np.array([self._row(user, pair[0]) for pair in asked.pairs])
        places = np.array([self._row(item, pair[1]) for pair in asked.pairs])
        chosen = factors.queries[rows].astype(np.float64), factors.items[places]
        scores = np.einsum("ij,ij->i", *chosen) + factors.offset
        if factors.query_bias is not None:
            scores += factors.query_bias[rows]
        if factors.item_bias is not None:
            scores += factors.item_bias[places]
        return {"scores": scores.astype(np.float32).tolist()}

    def _fold(
        self,
        asked: FoldInQuestion,
        new: NewVertices,
        ids: list[int | str],
        numbers: list[float] | None,
    ) -> Answer:
        """Answer about a new vertex, by the ids and the numbers of its edges."""
        rows = self.known[new.other].rows_of(ids)
        there = rows >= 0
        if not there.any():
            raise RefusedRequest(404, f"the model knows none of these {plural_noun(new.other)}")
        found = fold_in_rows(self._trained, new, self._edges_of(new, rows, numbers))
        best = self._factors is not None and new.role == self.program.edge.roles[0]
        answer: Answer = {"unknown": int((~there).sum())}
        if best:
            answer |= self._best_of_new(found, asked.n, [] if asked.known else [rows[there]])
        if asked.vector or not best:
            answer |= self._vector_of_new(found, new)
        return answer

    def _vector_of_new(self, found: dict[str, np.ndarray], new: NewVertices) -> Answer:
        """Return the vector of the first of the vertices that `fold_in` has found, and its bias, if
        there are biases.
        """
        vector = next(column for name, column in found.items() if name != new.called)[0]
        answer: Answer = {"vector": vector.tolist()}
        if self._factors is not None:
            bias = product_of(self.program).biases[self.program.edge.roles.index(new.role)]
            answer |= {"bias": float(found[bias][0])} if bias in found else {}
        return answer

    def _edges_of(
        self, new: NewVertices, rows: np.ndarray, numbers: list[float] | None
    ) -> EdgeData:
        """Return the edges of one new vertex to vertices of the model by their rows, of which
        those that are -1 are left out, with the `numbers` of the edges.
        """
        program, there = self.program, rows >= 0
        if numbers is None and bare_pairs(program) == "ones":
            numbers = [1.0] * len(rows)
        columns = {} if numbers is None else program.edge.columns
        fields = {name: _column(name, numbers, dtype)[there] for name, dtype in columns.items()}
        at = {new.kind: np.zeros(there.sum(), np.int32), new.other: rows[there].astype(np.int32)}
        ids = {new.kind: Ids(np.zeros(1, np.int64)), new.other: self._trained.ids[new.other]}
        ends = new.program.edge.ends
        edges = EdgeData(ends, ids, at[ends[0]], at[ends[1]], fields)
        return with_vertex_data(self._trained, new, edges, Reading(), lambda text: None)

    def _best_of_new(
        self, found: dict[str, np.ndarray], n: int, banned: list[np.ndarray]
    ) -> Answer:
        """Find the best items for the first of the vertices that `fold_in` has found."""
        product, new = product_of(self.program), columns_of_new(found, self.program)
        bias = product.biases[0]
        own = self._product().offset + (float(new[bias][0]) if bias else 0.0)
        best = self._best(new[product.factors[0]][0], n, banned, own)
        return {"of": product.kinds[1], **best}

    def _best(
        self, query: np.ndarray, n: int, banned: list[np.ndarray], own: float
    ) -> dict[str, Any]:
        """Find the best items for a query, without those at some places; -1 is none."""
        exclude = np.unique(np.concatenate(banned)) if banned else NONE
        places, scores = self._items.best(query, n, exclude.astype(np.int64), own)
        known = self.known[self.program.edge.ends[1]]
        return {"ids": known.at(places), "scores": scores.tolist()}

    def _product(self) -> Factors:
        """Return the factors. RefusedRequest if the scores are no inner products."""
        if self._factors is None:
            name = type(self.program).__name__
            raise RefusedRequest(
                404, f"the scores of {name} are no inner products: ask for similar"
            )
        return self._factors

    def _row(self, kind: str, asked: int | str) -> int:
        """Return the row of an id. RefusedRequest if there is none."""
        row = self.known[kind].row_of(asked)
        if row < 0:
            raise RefusedRequest(404, f"the model knows no {kind} {asked}")
        return row

    def _units(self, of: str) -> UnitVectors:
        """Return the vectors that are compared, made when they are first asked for. RefusedRequest
        if there are none of that name.
        """
        with self._making:
            if of in self._vectors:
                return self._vectors[of]
            several = len(self.program.edge_types) > 1
            preferred = self.program.edge.ends[::-1] if several else ()
            try:
                kind, name = choose_vectors(self._model.fields, of, preferred)
            except UsageError as error:
                raise RefusedRequest(404, f"{error.what}; {error.do}") from None
            full = f"{kind}.{name}"
            if full not in self._vectors:
                vectors = np.ascontiguousarray(self._model.fields[kind][name], np.float32)
                scales = unit_scales(vectors)
                coded = CodedItems(vectors, scale=scales)
                self._vectors[full] = UnitVectors(kind, vectors, scales, coded)
            self._vectors[of] = self._vectors[full]
            return self._vectors[of]

    def _warm_up(self, warn: Warn) -> None:
        """Ask each question once, so that what they need is compiled and in memory. UsageError if
        none can be asked.
        """
        user = self.program.edge.ends[0]
        answered = self._factors is not None
        if self._factors is not None and self.sizes[user]:
            self.top(TopQuestion(self.known[user].at(np.array([0]))[0]))
        try:
            kind = self._units("").kind
            answered = True
            if self.sizes[kind]:
                self.similar(SimilarQuestion(self.known[kind].at(np.array([0]))[0]))
        except RefusedRequest:
            pass  # there are no vectors
        if self.folds:
            answered = True
            kind = new_to_fold_in(self._trained).other
            if self.sizes[kind]:
                self._try_fold(kind, warn)
        if not answered:
            name = type(self.program).__name__
            raise UsageError(
                f"{name} has nothing to serve: no best items, no vectors, no new rows of pairs",
                do=f"tux predict {self._trained.name} FILE scores rows of a file",
            )

    def _try_fold(self, kind: str, warn: Warn) -> None:
        """Fold in a vertex with an edge to the first vertex of a type; if this fails, no others
        are.
        """
        edge = [self.known[kind].at(np.array([0]))[0], 1.0][: 1 + len(self.program.edge.columns)]
        try:
            self.fold_in(FoldInQuestion([edge]))
        except RefusedRequest as refusal:
            warn(f"no new vertices can be folded in: {refusal.text}")
            self.folds = False

    def describe(self) -> str:
        """Say which program it is and what it knows."""
        counts = ", ".join(plural(count, kind) for kind, count in self.sizes.items())
        return f"{self._trained.run.app.name}: {counts}"

    @property
    def app(self) -> str:
        """The name of the program."""
        return self._trained.run.app.name


def _column(name: str, numbers: Any, dtype: np.dtype) -> np.ndarray:
    """Return numbers of edges as a column of a type. RefusedRequest for one that it cannot hold."""
    given = np.array(numbers, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        column = given.astype(dtype)
    if not np.isfinite(column).all() or dtype.kind in "iu" and (column != given).any():
        raise RefusedRequest(400, f"a number of the pairs cannot be a {name}")
    return column


def load_model(
    folder: str | os.PathLike[str], exclude: Source | None = None, warn: Warn = lambda text: None
) -> AnsweringModel:
    """Load the model in a run's folder into memory. Raises the errors of `AnsweringModel`, and
    DataError for a folder that is no run's, or has no model.
    """
    run = read_run(folder)
    program = reopen_program(run, folder, warn)
    model = _read_whole(folder, program)
    trained = memory_model(run, program, model, os.fspath(folder))
    return AnsweringModel(trained, model, exclude, warn)


def _read_whole(folder: str | os.PathLike[str], program: Program) -> Model:
    """Read all columns of a model but lists, as nothing may be read later, when the files may be
    those of another model.
    """
    stored = read_model(folder, program)
    ragged = {
        kind: {name for name, field in vertex.fields.items() if field.is_ragged}
        for kind, vertex in program.vertices.items()
    }
    fields = {
        kind: {name: columns[name] for name in columns if name not in ragged.get(kind, ())}
        for kind, columns in stored.fields.items()
    }
    return Model(fields, {kind: stored.ids[kind] for kind in stored.ids})
