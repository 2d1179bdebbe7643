"""New vertices of one end of a program's edges, as stages see them that find their vectors, or
predict for them.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

from tux.program.input import Graph, Points
from tux.program.program import Program

NEW = "new_"
"""The beginning of the name of the type that new vertices have where edges join one type."""


class NewVertices(NamedTuple):
    """New vertices of an end. `program`: as stages on them see it; `role`: the name of their end in
    its UDFs; `kind`: their type, and `other` that of the known vertices to which their edges lead;
    `called`: the name of the end for users, and of the column of their ids.

    Where the edges of a program join one type, as "node", the new ones have a type "new_node" of
    their own, with the same fields: edges lead from it to "node", whichever way they are given.
    """

    program: Program
    role: str
    kind: str
    other: str
    called: str

    @property
    def from_one_type(self) -> bool:
        """True if the known vertices are of the same type for users."""
        return self.kind == NEW + self.other


def ends_of_new(program: Program) -> tuple[str, ...]:
    """Return the names of the ends that may have new vertices: those in UDFs, or the type that both
    ends have.
    """
    return program.edge.ends[:1] if _joins_one_type(program) else program.edge.roles


def new_vertices(program: Program, end: str) -> NewVertices:
    """Return the new vertices of an end, one of `ends_of_new`."""
    edge = program.edge
    if not _joins_one_type(program):
        kind = dict(zip(edge.roles, edge.ends, strict=True))[end]
        called = kind if edge.ends[0] == edge.ends[1] else end  # "src" tells nothing
        return NewVertices(program, end, kind, edge.ends[edge.ends[0] == kind], called)
    seen, own, new = copy.copy(program), copy.copy(edge), NEW + end
    own.ends, own.whole, own.held_out = (new, end), "", ""
    seen.edge, seen.edge_types = own, {**program.edge_types, program.edge_name: own}
    seen.vertices = {new: program.vertices[end], **program.vertices}
    seen.input = Graph()  # without neighbour lists, as edges of training are not there
    return NewVertices(seen, new, new, end, end)


def _joins_one_type(program: Program) -> bool:
    """Return whether edges join two vertices of one type. Points have no edges."""
    return len(set(program.edge.ends)) == 1 and not isinstance(program.input, Points)
