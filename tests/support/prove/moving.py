"""The memory of a run that goes on on other workers, as docs/reliability.md has it ("On another
number of workers"): what is known of vertices, edges and the context, in the rows of the new ones.

Nothing here is shared with the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from support.prove.memory import (
    FieldRow,
    Functions,
    Taus,
    VertexReplicas,
    combine,
    elementwise,
)
from support.prove.parts import PlacedEdge
from support.prove.spec import EdgeSpec, FieldSpec


class MoveRefused(ValueError):
    """A run cannot go on on other workers: each of these `fields` ("item.r") alone says so."""

    def __init__(self, fields: list[str]) -> None:
        super().__init__(f"{', '.join(fields)} may be another on other workers")
        self.fields = fields


def list_refused(name: str, old: VertexReplicas) -> Iterator[str]:
    """Yield the fields of a type that depend on the workers: mirror fields whose replicas differ,
    and means of which changes were not sent.
    """
    for field in old.fields:
        if field.kind == "mirror":
            kept = (_show_all(field, old, v) for v in range(len(old.masters)))
            differs = any(x != values[0] for values in kept for x in values)
        else:
            mean = field.kind == "shared" and field.combine != "sum"
            changes = (_unsent(field, old, v) for v in range(len(old.masters) if mean else 0))
            differs = any(any(change) if field.length else change for change in changes)
        if differs:
            yield f"{name}.{field.name}"


def move_vertices(old: VertexReplicas, new: VertexReplicas, functions: Functions) -> None:
    """Give the rows of the new workers what those of the old ones know. What was not sent is with
    the replica on the worker with the lowest number.
    """
    for v, master in enumerate(new.masters):
        rows = _rows_of(new, v)
        for field in new.fields:
            name = field.name
            if field.kind in ("value", "shared", "master"):
                holders = [master] if field.kind == "master" else [master, *rows]
                for row in holders:
                    _copy(field, old.masters[v], row)
            if field.kind == "shared":
                for row in rows:
                    row.keep_sent(name)
                own = _unsent(field, old, v)
                rows[0].store(name, elementwise(lambda a, b: a + b, rows[0].__dict__[name], own))
            elif field.kind == "delta":
                rows[0].store(name, combine(field, functions, _show_all(field, old, v)))
            elif field.kind == "mirror":
                for row in rows:
                    row.store(name, _show_all(field, old, v)[0])


def move_edges(
    kind: EdgeSpec,
    old: list[list[PlacedEdge]],
    new: list[list[PlacedEdge]],
    workers: list[list[int]],
) -> None:
    """Give the edges of a type their fields. `workers`: the old and the new worker of each edge."""
    before, after = map(_in_order_of_file, (old, new), workers)
    for one, other in zip(before, after, strict=True):
        for field in kind.fields:
            _copy(field, one.scope[kind.name]._fields, other.scope[kind.name]._fields)


def move_context(old: Taus, new: Taus, functions: Functions) -> None:
    """Give the context to all workers; what was not taken from the old ones is with worker 0."""
    alone = old.rows[0] is old.root
    for field in old.fields:
        name, known = field.name, old.root.__dict__[field.name]
        shown = [known] if alone else [known, *(row.__dict__[name] for row in old.rows)]
        if field.kind == "total":
            new.rows[0].store(name, combine(field, functions, shown))
            continue
        for row in [new.root, *new.rows]:
            _copy(field, old.root, row)
        if field.kind == "shared":
            for other in shown[1:]:
                own = elementwise(lambda a, b: a - b, other, known)
                rest = elementwise(lambda a, b: a + b, new.rows[0].__dict__[name], own)
                new.rows[0].store(name, rest)


def _rows_of(replicas: VertexReplicas, v: int) -> list[FieldRow]:
    """The rows of v on the workers that have it, in their order."""
    return [replicas.rows[w][v] for w in sorted(replicas.shares[v])]


def _show_all(field: FieldSpec, replicas: VertexReplicas, v: int) -> list[Any]:
    shown = [row.__dict__[field.name] for row in _rows_of(replicas, v)]
    return [list(x) for x in shown] if field.length else shown


def _unsent(field: FieldSpec, old: VertexReplicas, v: int) -> Any:
    """Return the sum of what replicas of v have changed and not sent."""
    total: Any = [0] * field.length if field.length else 0
    for row in [] if old.alone else _rows_of(old, v):
        total = elementwise(
            lambda so_far, a, b: so_far + (a - b),
            total,
            row.__dict__[field.name],
            row.sent[field.name],
        )
    return total


def _copy(field: FieldSpec, one: FieldRow, other: FieldRow) -> None:
    other.store(field.name, one.__dict__[field.name])


def _in_order_of_file(placed: list[list[PlacedEdge]], workers: list[int]) -> list[PlacedEdge]:
    """Return the edges of all workers in the order of the graph, in which each has its own."""
    own = [iter(edges) for edges in placed]
    return [next(own[w]) for w in workers]
