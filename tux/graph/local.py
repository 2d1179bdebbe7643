"""The graph in one partition: vertex types as orders of rows, edges, and their layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from tux.arrays.byte_codes import Column
from tux.arrays.edges import TOGETHER, EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import index_dtype
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.graph.edge_memory import EdgeMemory
from tux.graph.edges_as_rows import edges_as_rows, edges_of_part, repeat_edges
from tux.graph.kept_order import KeptOrder
from tux.graph.local_edges import LocalEdges
from tux.graph.orders import seeded_order
from tux.graph.parts import Part, TypePart, local_rows, remove_rows
from tux.graph.stored_arrays import CHECKED, Indices
from tux.graph.topologies import topology_of
from tux.graph.topology import Topology
from tux.program.base_program import BaseProgram, along


@dataclass(frozen=True)
class LocalVertices:
    """The rows of one vertex type, in a seeded order; a vertex's dense index is its place in `ids`.

    `order` (n,): dense index of each row. The first `n_train` rows are vertices of the training
    graph; those after them occur in held-out edges only.
    """

    name: str
    ids: Ids
    order: np.ndarray
    n_train: int
    part: TypePart | None = None  # where there are several workers: positions, masters and routes
    # fields of the data by name, of each vertex by dense index
    data: Mapping[str, np.ndarray] = field(default_factory=dict)
    left_out: int = 0  # rows of the worker beside these, in `LocalGraph.beginning`

    @staticmethod
    def in_seeded_order(
        name: str,
        side: int,
        ids: Ids,
        n_train: int,
        seed: int,
        data: Mapping[str, np.ndarray] | None = None,
    ) -> LocalVertices:
        """Put the rows into the order that `seed` gives, and held-out vertices behind them."""
        together = (data or {}).get(TOGETHER)
        first = seeded_order(
            seed, side, n_train, together if together is None else together[:n_train]
        )
        order = np.concatenate([first, np.arange(n_train, len(ids))])
        return LocalVertices(name, ids, order, n_train, data=data or {})

    @staticmethod
    def local(part: TypePart) -> LocalVertices:
        """Select the rows that one of several workers holds."""
        order = part.order[part.rows]
        return LocalVertices(part.name, part.ids, order, part.n_train, part, part.data)

    @cached_property
    def row_of(self) -> np.ndarray:
        """The row of each dense index (all vertices,) int32; -1 where it is not here. It is made
        when it is first asked for, which no worker of several does.
        """
        return local_rows(self.order, len(self.ids))

    @property
    def positioned(self) -> Indices:
        """The dense index of each position, over all workers."""
        return self.order if self.part is None else self.part.order

    @property
    def in_training(self) -> int:
        """The number of vertices of the training graph, over all workers."""
        return self.n_train if self.part is None else self.part.vertices

    @property
    def position_dtype(self) -> np.dtype:
        """The type of positions."""
        return index_dtype(self.in_training)

    def position_of(self, index: int) -> int:
        """Return the position of the vertex with a dense index."""
        pieces = range(0, len(self.positioned), CHECKED)
        found = (np.flatnonzero(self.positioned[at : at + CHECKED] == index) + at for at in pieces)
        return next(int(each[0]) for each in found if len(each))

    @property
    def is_cut(self) -> bool:
        """True if some vertex of the type has several replicas."""
        return self.part is not None and self.part.cut

    def local_cuts(self, cuts: np.ndarray) -> np.ndarray:
        """Return the boundaries in local rows of the ranges of positions between `cuts`."""
        return cuts if self.part is None else np.searchsorted(self.part.rows[: self.n_train], cuts)

    def replicated_mask(self) -> np.ndarray:
        """Return a mask (n_train,) of the rows that have replicas on other workers, or a master on
        another.
        """
        part = self.part
        if part is None:
            return np.zeros(self.n_train, bool)
        holders = np.zeros(len(part.masters), np.int32)
        for held in part.down:
            holders[held] += 1  # a worker holds a vertex once
        alone = part.masters[holders <= 1]
        return ~np.isin(part.rows[: self.n_train], alone)

    def __len__(self) -> int:
        return len(self.order)


@dataclass(frozen=True)
class LocalGraph:
    """The share of one worker in a graph: vertex types by name, edges, and held-out edges."""

    vertices: dict[str, LocalVertices]
    edges: LocalEdges
    held_out: LocalEdges
    part: Part | None = None
    topology: Topology | None = None  # all neighbours, where the program asks for them
    has_test: bool = False  # whether edges are held out, here or on another worker
    # edges of the program's other types, by name
    others: Mapping[str, LocalEdges] = field(default_factory=dict)

    def edge_memory(self) -> EdgeMemory:
        """Return how many edges of all types there are for training, and the bytes they take."""
        return EdgeMemory.total(each.memory() for each in (self.edges, *self.others.values()))

    def along(self, name: str) -> LocalGraph:
        """Return the graph as stages along another type see it: with the edges of that type, of
        which none is held out, and the first type's among the others.
        """
        edges, none = self.others[name], np.empty(0, np.int32)
        fields: dict[str, Column] = {name: column[:0] for name, column in edges.fields.items()}
        held_out = LocalEdges(edges.declared, [none, none], fields, fixed=True)
        part = self.part and self.part.along(name)
        others = {"": self.edges, **{n: each for n, each in self.others.items() if n != name}}
        return LocalGraph(self.vertices, edges, held_out, part, self.topology, others=others)

    @property
    def edge_sets(self) -> dict[str, LocalEdges]:
        """All edges by the names that files and messages have for them: "edges", "held_out", and
        "edges.TYPE" of the other types.
        """
        others = {f"edges.{name}": each for name, each in self.others.items()}
        return {"edges": self.edges, "held_out": self.held_out, **others}

    @property
    def is_beginning(self) -> bool:
        """True if edges or rows of the part are left out, and edges join others than they do."""
        edges = any(each.left_out for each in self.edge_sets.values())
        return edges or any(each.left_out for each in self.vertices.values())

    def of_role(self, role: str) -> LocalVertices:
        """Return the vertex type at the end called `role`."""
        declared = self.edges.declared
        return self.vertices[declared.ends[declared.roles.index(role)]]

    def degrees(self, role: str) -> Indices:
        """Count the training edges of each vertex at the end called `role`, over all workers, in
        the order of positions. On several workers an edge that a row repeats counts once: it is
        enough to balance.
        """
        declared = self.edges.declared
        side = declared.roles.index(role)
        if self.part is not None:
            return self.part.degrees[side]
        n_train = self.vertices[declared.ends[side]].n_train
        return self.edges.degrees(role, n_train)

    def groups(self, role: str) -> np.ndarray:
        """Return the first position of each group of vertices at the end called `role`, and the
        number of all positions, (groups + 1,).

        DataError where the data do not say which vertices belong together.
        """
        declared = self.edges.declared
        vertices = self.vertices[declared.ends[declared.roles.index(role)]]
        if TOGETHER not in vertices.data:
            raise DataError(
                f"these data do not say which {plural_noun(vertices.name)} belong together"
            )
        n, together = vertices.in_training, np.asarray(vertices.data[TOGETHER])
        ends = [
            np.flatnonzero(
                np.diff(together[vertices.positioned[at : min(at + CHECKED, n - 1) + 1]])
            )
            + at
            + 1
            for at in range(0, n, CHECKED)
        ]
        return np.concatenate([[0], *ends, [n]])

    def counts(self, name: str) -> np.ndarray:
        """Count the local training edges of each row of a vertex type (n,), at both ends and of all
        edge types.
        """
        return sum(
            (self._count_along(edges, name) for edges in self.others.values()),
            start=self.counts_along(name),
        )

    def counts_along(self, name: str) -> np.ndarray:
        """Count the same of the first edge type alone: in a view along a type, of that."""
        return self._count_along(self.edges, name)

    def _count_along(self, edges: LocalEdges, name: str) -> np.ndarray:
        """Count the edges of one type of each row of a vertex type, at both ends."""
        total, declared = np.zeros(len(self.vertices[name]), np.int64), edges.declared
        for role, of in zip(declared.roles, declared.ends, strict=True):
            if of == name:
                total += edges.degrees(role, len(total))
        return total

    @staticmethod
    def of(program: BaseProgram, part: Part, folder: Path | None = None) -> LocalGraph:
        """Make the graph of one worker. DataError if the part's types differ from the program's.
        `folder`: of the part in a partitioned folder, in which the order of its edges is kept.
        """
        _check_types(program, part)
        remote = [name for name, declared in program.vertices.items() if declared.remote]
        # the only worker has all rows
        pulled = [name for name in remote if len(part.types[name].up) > 1]
        vertices = {
            name: LocalVertices.local(remove_rows(each) if name in pulled else each)
            for name, each in part.types.items()
        }
        topology = Topology.from_arrays(part.topology) if part.topology else None
        if pulled:
            none = edges_as_rows(program, {}, [np.empty(0, np.int32)] * 2, {})
            return LocalGraph(
                vertices, none, replace(none, fixed=True), part, topology, part.has_test
            )

        def find_kept(own: BaseProgram, name: str = "") -> KeptOrder | None:
            rows = [len(vertices[end]) for end in own.edge.ends]
            return KeptOrder(folder, own, rows, name) if folder else None

        edges = edges_of_part(program, part, find_kept(program))
        held_out = repeat_edges(program, part.test_src, part.test_dst, part.test_fields)
        held_out.fixed = True
        others = {
            name: edges_of_part(own, each, find_kept(own, name))
            for name, each in part.others.items()
            for own in [along(program, name)]
        }
        return LocalGraph(vertices, edges, held_out, part, topology, part.has_test, others)

    @staticmethod
    def beginning(program: BaseProgram, part: Part, most: int) -> LocalGraph:
        """Make the graph of one worker to compile for alone: of its first edges and rows, at most
        `most`, unless a column says how often each edge is there.
        """
        if program.edge.repeats:
            return LocalGraph.of(program, part)
        own = part.beginning(most, program.edge.ends)
        graph = LocalGraph.of(program, own)
        graph.edges.left_out = len(part.src) - len(own.src)
        for name, edges in graph.others.items():
            edges.left_out = len(part.others[name].src) - len(own.others[name].src)
        for name, each in graph.vertices.items():
            if len(each):  # it is no type whose rows are all elsewhere
                left_out = len(part.types[name].rows) - len(each)
                graph.vertices[name] = replace(each, left_out=left_out)
        return graph

    @staticmethod
    def whole(
        program: BaseProgram,
        train: EdgeData,
        test: EdgeData | None,
        seed: int,
        kept: Mapping[str, LocalVertices] | None = None,
    ) -> LocalGraph:
        """Make the graph in one part: every vertex has its one copy here. `test`'s ids extend those
        of `train`. The columns of `train` are given up one by one, if nobody else holds them.
        `kept`: vertices of types that are laid out already, by name.
        """
        _check_ends(program, train)
        last = train.bare() if test is None else test
        kept = kept or {}
        vertices = {
            name: kept.get(name)
            or LocalVertices.in_seeded_order(
                name,
                train.vertex_types.index(name),
                last.ids[name],
                len(train.ids[name]),
                seed,
                {**train.vertex_fields.get(name, {}), **last.vertex_fields.get(name, {})},
            )
            for name in program.vertices
        }
        row_of = {name: each.row_of for name, each in vertices.items()}
        held_out = edges_as_rows(program, row_of, [last.src, last.dst], last.fields)
        held_out.fixed = True
        topology = topology_of(program, train, seed)
        ends, fields = [train.src, train.dst], train.fields
        others = {
            name: edges_as_rows(along(program, name), row_of, [each.src, each.dst], each.fields)
            for name, each in train.others.items()
        }
        del train  # the caller may hold it no more
        edges = edges_as_rows(program, row_of, ends, fields)
        return LocalGraph(vertices, edges, held_out, None, topology, test is not None, others)


def _check_types(program: BaseProgram, part: Part) -> None:
    """Raise DataError if the types of a part differ from those of a program."""
    ends = {end for declared in program.edge_types.values() for end in declared.ends}
    if set(part.types) != ends or [*part.others] != [*program.edge_types][1:]:
        raise DataError(
            f"a graph of {' and '.join([*part.types, *part.others])} does not fit "
            f"{_describe_edges(program)}"
        )


def _check_ends(program: BaseProgram, train: EdgeData) -> None:
    """Raise DataError if edges join other types than those of a program do."""
    joined = [tuple(each.ends) for each in train.by_type.values()]
    wanted = [declared.ends for declared in program.edge_types.values()]
    if joined != wanted or [*train.others] != [*program.edge_types][1:]:
        given = " and ".join(f"from {first} to {second}" for first, second in joined)
        raise DataError(f"edges {given} do not fit {_describe_edges(program)}")


def _describe_edges(program: BaseProgram) -> str:
    """Write which types the edges of a program join."""
    ends = (declared.ends for declared in program.edge_types.values())
    return "edges " + " and ".join(f"from {first} to {second}" for first, second in ends)
