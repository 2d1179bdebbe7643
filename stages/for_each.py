"""ForEach: run a UDF on vertices where they are, without their edges; nothing travels."""

from __future__ import annotations

from typing import Any

from tux.base.errors import ProgramError
from tux.program.base_program import AnyProgram, BaseProgram, along_end
from tux.stages.analysis.calls import Call, on_vertex
from tux.stages.analysis.former_words import refuse_former_words
from tux.stages.analysis.promises import check_promises
from tux.stages.analysis.replica_rules import may_be_cut
from tux.stages.exchange import Exchange
from tux.stages.kernel.bind import Udf, parameters, udf_names
from tux.stages.kernel.loops import EdgeLoops


class ForEach(Exchange):
    """For each vertex v of type `over` in the block:

        f(v, tau, p, rng)           # v also under its type's name, and as `src` or `dst`

    On several workers a vertex is visited once a replica, on the replica's own fields; an Apply
    visits masters, and brings changes to them and back. `once=True`: only masters are visited, and
    their replicas do not hear of it before the next Apply. `additive=True`, `stale_context=True`
    and `cut`: as in an Exchange. `held_out=True`: vertices that only held-out edges have, too.
    """

    def __init__(
        self,
        over: str,
        f: Udf,
        *,
        once: bool = False,
        held_out: bool = False,
        additive: bool = False,
        stale_context: bool = False,
        cut: bool | None = None,
        **former: Any,
    ) -> None:
        self.f, self.over, self.enter, self.leave, self.held_out = None, over, f, None, held_out
        self.additive, self.shares, self.stale_context = additive, 0, stale_context
        self.once, self.cut = once, cut
        self.label = f"ForEach({', '.join((str(over), udf_names(f)))})"
        refuse_former_words(self.label, former)
        if not isinstance(over, str) or not over:
            raise ProgramError(
                f"ForEach is given {over!r} as a vertex type",
                do='name the type first, then the function: ForEach("page", f)',
            )
        if f is None:
            raise ProgramError(
                f"{self.label} is given no function", do=f'name one: ForEach("{over}", f)'
            )
        if once and held_out:
            raise ProgramError(
                f"{self.label} has once=True and held_out=True",
                do="leave one of them out: held-out edges have vertices that are no masters",
            )
        check_promises(self)

    def seen_by(self, program: AnyProgram) -> AnyProgram:
        """Return the program along an edge type that ends at the visited vertices: its own, or
        else the first one. Raise ProgramError where `over` is "src" or "dst" and edge types have
        vertices of several types there.
        """
        edges = [edge for edge in program.edge_types.values() if self.over in edge.roles]
        ends = dict.fromkeys(edge.ends[edge.roles.index(self.over)] for edge in edges)
        if len(ends) > 1:
            raise ProgramError(
                f"{self.label}: `{self.over}` is an end of edges of several types",
                do=f"name the type of the vertices: {', '.join(ends)}",
            )
        return along_end(program, self.over)

    def role(self, program: BaseProgram) -> str:
        """Return the end whose vertices are visited; raise ProgramError where `over` names none."""
        program = self.seen_by(program)
        super().role(program)
        edge = program.edge
        if self.over in edge.roles:
            return self.over
        return edge.roles[edge.ends.index(self.over)]

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return how the UDF is called: once a replica, unless it is promised otherwise."""
        assert self.enter is not None
        program = self.seen_by(program)
        role = role or self.role(program)
        vertex = self._type(program, role)
        asked, names = parameters(self.enter, self.label), self._names(program, role)
        name = next((each for each in names if each in asked), role)
        may_cut = may_be_cut(program, vertex)
        of_each = self.once or self.additive or self.cut is False
        return [
            Call(
                self.enter,
                program,
                "ForEach",
                on_vertex(program, (name,), vertex),
                {name: vertex},
                visits=name if may_cut and not of_each else "",
                alone=name if may_cut and self.once else "",
            )
        ]

    def _visit_lines(self, loops: EdgeLoops) -> list[str]:
        assert self.enter is not None
        return loops.for_each(self.enter, self._names(loops.partition.program, loops.role))

    def _names(self, program: BaseProgram, role: str) -> tuple[str, ...]:
        """Return what the UDF may call the vertex."""
        return tuple(dict.fromkeys((role, self._type(program, role), "v")))

    def _type(self, program: BaseProgram, role: str) -> str:
        return program.edge.ends[program.edge.roles.index(role)]
