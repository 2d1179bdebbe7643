"""The edges that a Generate makes, as docs/program.md has them ("Generated edges"): the lists of a
vertex, and the neighbour lists that `make` may read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from support.prove.memory import FieldRow, row_class
from support.prove.parts import EdgeView, Scope
from support.prove.spec import GenerateSpec, GraphSpec, ProgramSpec

NO_FIELDS = row_class(())(0, {})
"""The fields of an edge that is made: none."""


def make_lists(
    stage: GenerateSpec,
    call: Callable[[str, Scope], Any],
    names: Sequence[str],
    scope: Scope,
) -> dict[str, list[int]]:
    """Return the lists of one vertex in one round: `make` fills them, once or for each place of the
    first list. `names`: its parameters; `scope`: what they name beside the lists.
    """
    lists = {name: [-1] * width for name, width in stage.lists}
    places = range(stage.lists[0][1]) if "at" in names else [0]
    for at in places:
        call(stage.make, {**scope, **lists, "at": at})
    return {name: [*_begin_of(numbers)] for name, numbers in lists.items()}


def _begin_of(numbers: Sequence[int]) -> Iterator[int]:
    """Yield the numbers before the first -1."""
    for number in numbers:
        if number == -1:
            return
        yield int(number)


def edges_to(over: str, rows: Sequence[FieldRow]) -> list[EdgeView]:
    """Return the edges of a list, which lead to these rows of a type."""
    return [EdgeView({over: row}, NO_FIELDS) for row in rows]


def find_neighbours(
    program: ProgramSpec, graph: GraphSpec, order: Sequence[int]
) -> SimpleNamespace:
    """Return the neighbour lists of the edges of the only type, whose vertices are numbered by
    their places in `order`: each neighbour once, and no loops.
    """
    position = {int(v): at for at, v in enumerate(order)}
    ends = np.asarray(graph.ends[program.edges[0].name]).reshape(2, -1).T.tolist()
    pairs = {(position[a], position[b]) for a, b in ends if a != b}
    if program.topology == "undirected":
        pairs |= {(b, a) for a, b in pairs}
    counts = [sum(a == at for a, _ in pairs) for at in range(len(order))]
    return SimpleNamespace(
        bounds=np.cumsum([0, *counts]).tolist(), ends=[b for _, b in sorted(pairs)]
    )
