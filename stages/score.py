"""Score: what a UDF says of each held-out edge, or of each vertex with its held-out edges, in
the order in which they were given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import ProgramError
from tux.clock.block import Block
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.program.base_program import BaseProgram
from tux.program.stage import Batch, Stage
from tux.rows.table import freeze
from tux.stages.analysis.calls import meanings_of, on_edge
from tux.stages.analysis.effects import effects
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.kernel.bind import (
    Udf,
    names_role,
    parameters,
    place,
    returns_nothing,
    udf_names,
)
from tux.stages.kernel.loops import EdgeLoops, Loop, Names
from tux.stages.kernel.tickets import Items, even_items


class VertexLoops(EdgeLoops):
    """The loop over vertices that gives each its place in `out`: (n,) float64, or (n, width)
    float32.
    """

    def fill(self, f: Udf, out: np.ndarray, place: np.ndarray) -> Loop:
        """Compile the loop ``for each vertex v: out[place[v]] = f(v, edges of v)``, or, if `out` is
        wide, the one in which f fills that row. It is called with items of rows, `out` and `place`
        (rows,).
        """
        self.wide = out.ndim == 2
        *head, call = self.per_vertex(f)
        line = call if self.wide else f"    out[place[v]] = {call.strip()}"
        return self._kernel({"out": out, "place": place}, [*head, line])

    def _vertex(self) -> Names:
        own = super()._vertex() | {"vertices": self._known_vertices}
        return own | ({"out": lambda: "out[place[v]]"} if self.wide else {})

    def _known_vertices(self) -> str:
        """Return the slice of the vertices of the other end that training has."""
        end = self.edges.other(self.role)
        known = np.arange(self.partition.graph.of_role(end).n_train, dtype=np.int32)
        self.varying["numbers"] = freeze(known)
        table = self.partition.tables[self.types[end]]
        return self.scope.vertex_slice(end, table, "numbers, (), 0, len(numbers), 0")


class Score(Stage):
    """The scores that a trained model gives to held-out data, in one of two forms by the UDF's
    parameters:

        per edge:    for each held-out edge e: scores[e] = f(user, item, rating, tau, p, rng)
        per vertex:  for each vertex v of type `over`: scores[v] = f(document, edges, tau, p, rng)
                     or, with a `width`, f fills scores[v]: f(document, edges, out, tau, p, rng)

    `scores` is (m,) float64 in the caller's order of edges; or (n,) float64 or (n, width) float32
    by the vertex's dense index. `edges` are the held-out edges of a vertex, perhaps none, and
    `vertices` all vertices of the other end that training has, as `vertices[i].word`; `out` comes
    as zeros; `width` is a number or the name of an integer parameter. `name` is what a column of
    scores is called; with `last`, the last number of each row is a column of that name. With
    `whole`, those of vertices are whole numbers, int64. The UDF changes nothing else. `over` left
    out is the end that a per-vertex UDF asks for, or the first.

    Of a UDF per edge, `factors` says that its scores are inner products, of a field of each end:

        f(user, item) = offset + bias of user + bias of item + inner product of their factors

    so that the best items of a user are found without a call for each pair (`tux predict --top`).
    `biases` names a field of one number of each end, "" for none, and `offset` a field of `tau`.

    `labels` call the entries of a row of scores, whose number is the width: each is a column of its
    own then, and the column `best` has the label of the largest.
    """

    def __init__(
        self,
        f: Udf,
        over: str = "",
        *,
        width: int | str = 0,
        labels: Sequence[str | float] = (),
        name: str = "score",
        last: str = "",
        best: str = "class",
        whole: bool = False,
        factors: tuple[str, str] | None = None,
        biases: tuple[str, str] = ("", ""),
        offset: str = "",
    ) -> None:
        self.f, self.over, self.width, self.name = f, over, width or len(labels), name
        self.labels, self.last, self.best, self.whole = tuple(labels), last, best, whole
        self.factors, self.biases, self.offset = factors, biases, offset
        for what, pair in (("factors", factors or biases), ("biases", biases)):
            if not isinstance(pair, tuple) or [type(each) for each in pair] != [str, str]:
                raise ProgramError(
                    f"{what} of a Score are {pair!r}",
                    do='name a field of each end, e.g. factors=("p", "q")',
                )
        if last and not self.width:
            raise ProgramError(
                f"the last number of a row is called {last!r}, and scores are one number each",
                do="give the width of a row",
            )
        self.label = f"Score({udf_names(f)}{f', over={over}' if over else ''})"

    def enumerated_role(self, program: BaseProgram) -> str:
        """Return the name in UDFs of the end that a per-vertex UDF is called for; empty: the UDF is
        called per edge.

        ProgramError where `over` names no end, or a UDF that is called per edge has `over` or
        `width`.
        """
        edge, asked = program.edge, parameters(self.f, self.label)
        if "edges" not in asked:
            if self.width or self.over:
                raise ProgramError(
                    f"{self.label} is called per edge",
                    do="give its UDF a parameter `edges` to have it called per vertex",
                )
            return ""
        if names_role(program, self.over, self.label):
            return self.over
        return next((name for name in asked if name in edge.roles), edge.roles[0])

    def check_returns(self) -> None:
        """Raise ProgramError for a UDF that returns nothing where it is to return the score."""
        if not self.width and returns_nothing(self.f):
            raise ProgramError(
                f"{self.label}: `{udf_names(self.f)}` returns nothing",
                where=place(self.f),
                do="end it with return and the score",
            )

    def edge_fields(self, program: BaseProgram) -> list[str]:
        """Return the data fields of an edge that a UDF per edge reads, or may read."""
        if self.enumerated_role(program):
            return []
        found = effects(self.f, on_edge(program), meanings_of(program))
        data = [name for name, field in program.edge.fields.items() if field.kind == "data"]
        return [name for name in data if found.of(program.edge_name, name)]

    def columns(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Return scores as they are written: columns by their names."""
        if self.last:
            return {self.name: scores[:, :-1], self.last: scores[:, -1]}
        if not self.labels:
            return {self.name: scores}
        each = {f"{self.name}_{label}": scores[:, k] for k, label in enumerate(self.labels)}
        texts = any(isinstance(label, str) for label in self.labels)
        labels = np.array(self.labels, STRING if texts else None)
        return each | {self.best: labels[scores.argmax(axis=1)]}

    def array(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the scores of such columns."""
        if self.last:
            return np.column_stack([columns[self.name], columns[self.last]])
        if not self.labels:
            return columns[self.name]
        return np.column_stack([columns[f"{self.name}_{label}"] for label in self.labels])

    def _width(self, program: BaseProgram) -> int:
        width = program.parameters.get(self.width) if isinstance(self.width, str) else self.width
        if not isinstance(width, int) or width < 0:
            known = (
                ", ".join(
                    name for name, value in program.parameters.items() if isinstance(value, int)
                )
                or "none"
            )
            raise ProgramError(
                f"{self.label}: a width of {self.width!r}",
                do=f"give a number, or an integer parameter: {known}",
            )
        return width

    def _empty_scores(self, vertices: int, width: int) -> np.ndarray:
        """Return zeros for `vertices` scores, of `width` numbers each unless that is 0."""
        if width:
            return np.zeros((vertices, width), np.float32)
        return np.zeros(vertices, np.int64 if self.whole else np.float64)

    def prepare(self, partition: Partition, batch: Batch | None = None) -> ScoreStep:
        """Compile the loop."""
        edges, declared = partition.graph.held_out, partition.program.edge
        role, width = self.enumerated_role(partition.program), self._width(partition.program)
        plan = ThreadPlan("vertices")  # a UDF may change nothing but what it is asked for
        if not role:
            scores = np.empty(len(edges))
            loops = EdgeLoops(
                partition, self.label, edges, edges.walk_given(), declared.roles[0], plan, "score"
            )
            kernel = loops.score(self.f, scores)
            items = Items(even_items(0, len(edges)), of_edges=True)
            return ScoreStep(scores, lambda: kernel(items, scores))
        vertices = partition.graph.of_role(role)
        scores = self._empty_scores(len(vertices.ids), width)
        layout = edges.walk_grouped(role, len(vertices))
        of = VertexLoops(partition, self.label, edges, layout, role, plan, "score")
        filling, items = (
            of.fill(self.f, scores, vertices.order),
            Items(even_items(0, len(vertices), layout.bounds)),
        )
        return ScoreStep(scores, lambda: filling(items, scores, vertices.order))


class ScoreStep(Step):
    """A Score of one worker; `scores` are filled by `run`."""

    def __init__(self, scores: np.ndarray, fill: Callable[[], None]) -> None:
        self.scores, self._fill = scores, fill

    def run(self, block: Block | None = None) -> None:
        """Run the UDF to fill `scores`."""
        if self.scores.ndim == 2:
            self.scores[...] = 0
        self._fill()
