"""Calls of UDFs by a stage: the rows that are their parameters, and how often they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tux.program.base_program import BaseProgram, scalars
from tux.program.fields import Field
from tux.program.params import is_meaning
from tux.program.stage import TotalAddition, VertexChange
from tux.stages.analysis.effect_values import Shape
from tux.stages.analysis.effects import Effects, effects
from tux.stages.kernel.bind import Udf

CERTAIN_CHANGES = frozenset(("add", "min", "max", "write"))
"""Kinds of effects by which a field is another afterwards."""

CHANGES = CERTAIN_CHANGES | {"unknown"}
"""Kinds of effects by which a field may be another afterwards."""

VISITING = "Exchange", "ForEach"
"""Where UDFs run on replicas, not on masters."""

BESIDE = "others", "vertices"
"""Those that are beside the edge of a call, in its block."""

SLICES = "edges", *BESIDE
"""The parameters of UDFs of an Exchange that are slices, of edges or of vertices."""


@dataclass(frozen=True)
class Call:
    """A UDF of a stage. `place`: what messages call where it runs, such as "Exchange".

    `rows`: the vertex type of each row by its name in `tux.stages.analysis.effects`; the context
    and edges are left out. `visits`: the name of the row for whose vertex it is called once a
    replica; "" if it is called per edge, or once for each vertex whatever the number of workers.
    `sees_edges`: it has `edges`, of which each worker may have a share. `alone`: the name of the
    row for whose vertex it is called once, on one of the workers that hold it.
    """

    udf: Udf
    program: BaseProgram
    place: str
    shapes: Mapping[str, Shape]
    rows: Mapping[str, str]
    visits: str = ""
    sees_edges: bool = False
    alone: str = ""

    @cached_property
    def effects(self) -> Effects:
        """The effects of the UDF on the fields of its rows."""
        return effects(self.udf, self.shapes, meanings_of(self.program))

    def shapes_by_row(self) -> list[str]:
        """Return the names of its rows in `tux.stages.analysis.effects`: its parameters, and the
        rows that edges lead to.
        """
        wanted = self.udf.__code__.co_varnames[: self.udf.__code__.co_argcount]
        shapes = {name: shape for name, shape in self.shapes.items() if name in wanted}
        return [*shapes, *(f"{name}.{end}" for name, of in shapes.items() for end in of.ends)]

    def total_effects(self) -> dict[str, dict[str, str]]:
        """Return the kinds of effects on each total of the context, each with its ``file:line``."""
        totals = {f for f, d in self.program.context.fields.items() if d.kind == "delta"}
        return {total: self.effects.of("tau", total) for total in totals}

    def changes(self) -> Iterator[VertexChange]:
        """Yield the changes of its rows that certainly wait for an Apply."""
        edge = self.program.edge_name if self.place == "Exchange" else ""
        for row, vertex in self.rows.items():
            for name, field in self.program.vertices[vertex].fields.items():
                kinds = self.effects.of(row, name).keys()
                if field.kind in ("shared", "delta") and kinds & CERTAIN_CHANGES:
                    yield VertexChange(vertex, name, edge, self.udf.__name__)

    @property
    def visited_row(self) -> str:
        """The name of the row whose vertex is visited; "" if it is called per edge."""
        others = [row for row in self.rows if not row.startswith("edges.")]
        return others[0] if len(others) == 1 else ""

    def adds(self) -> dict[str, TotalAddition]:
        """Return the totals to which the UDF certainly adds."""
        out = {}
        for total, kinds in self.total_effects().items():
            where = next((kinds[k] for k in ("add", "min", "max", "write") if k in kinds), "")
            if where:
                out[total] = TotalAddition(self.udf.__name__, where)
        return out

    def measures(self) -> set[str]:
        """If the UDF may add to totals, return the vertex types of which it may read fields that an
        Apply changes; else the empty set.
        """
        if not any(kinds.keys() - {"read"} for kinds in self.total_effects().values()):
            return set()
        return {
            vertex
            for row, vertex in self.rows.items()
            for name, field in self.program.vertices[vertex].fields.items()
            if field.kind in ("value", "shared")
            and self.effects.of(row, name).keys() & {"read", "unknown"}
        }


def udf_name(row: str) -> str:
    """Return the name by which a UDF of an Exchange calls a row: "user" for "edges.user"."""
    return next((row.removeprefix(f"{of}.") for of in SLICES if row.startswith(f"{of}.")), row)


def meanings_of(program: BaseProgram) -> tuple[tuple[str, Any], ...]:
    """Return the parameters that functions or NamedTuples are chosen by, each with the chosen
    one.
    """
    return tuple((name, each) for name, each in scalars(program).items() if is_meaning(each))


def shape_of(program: BaseProgram, fields: Mapping[str, Field]) -> Shape:
    """Return the shape of a row with these fields, as the parameters of `program` make them."""
    return Shape(
        {name: field.count_dimensions(program.parameters) for name, field in fields.items()}
    )


def on_vertex(program: BaseProgram, names: tuple[str, ...], vertex: str) -> dict[str, Shape]:
    """Return the shapes that a UDF on one vertex may have as parameters: the row, by several names,
    and the context.
    """
    row = shape_of(program, program.vertices[vertex].fields)
    return dict.fromkeys(names, row) | {"tau": shape_of(program, program.context.fields)}


def on_edge(program: BaseProgram) -> dict[str, Shape]:
    """Return the shapes that a UDF that is called per edge may have as parameters: both ends, the
    edge and the context.
    """
    edge = program.edge
    rows = {
        role: shape_of(program, program.vertices[of].fields)
        for role, of in zip(edge.roles, edge.ends, strict=True)
    }
    own = {
        program.edge_name: shape_of(program, edge.fields),
        "tau": shape_of(program, program.context.fields),
    }
    return rows | own


def slice_of(program: BaseProgram, end: str, vertex: str, fields: Mapping[str, Field]) -> Shape:
    """Return the shape of a slice of edges with `fields`, whose rows at the other end are called
    `end`.
    """
    row = shape_of(program, program.vertices[vertex].fields)
    return Shape(shape_of(program, fields).fields, {end: row}, several=True)
