"""The graph in one partition: vertex types as orders of rows, edges, and their layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tux.arrays.edges import TOGETHER, EdgeData
from tux.arrays.ids import Ids
from tux.arrays.lookup import look_up
from tux.arrays.pieced import pop_pieces
from tux.base.errors import DataError, ProgramError
from tux.base.text import plural_noun
from tux.graph.layout import Layout, refine, sort_by_rows, sort_by_tiles, strip_rows, tile_rows
from tux.graph.orders import seeded_order
from tux.graph.parts import Part, TypePart, remove_rows
from tux.graph.sorting import InnerSorting, Sorting, count_keys
from tux.graph.topologies import topology_of
from tux.graph.topology import Topology
from tux.program.base_program import BaseProgram
from tux.program.types import Edge


@dataclass(frozen=True)
class LocalVertices:
    """The rows of one vertex type, in a seeded order; a vertex's dense index is its place in `ids`.

    `order` (n,): dense index of each row; `row_of` (n,) int32: row of each dense index. The first
    `n_train` rows are vertices of the training graph; those after them occur in held-out edges
    only.
    """

    name: str
    ids: Ids
    order: np.ndarray
    row_of: np.ndarray
    n_train: int
    part: TypePart | None = None  # where there are several workers: positions, masters and routes
    # fields of the data by name, of each vertex by dense index
    data: Mapping[str, np.ndarray] = field(default_factory=dict)

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
        row_of = np.empty(len(ids), np.int32)
        row_of[order] = np.arange(len(ids), dtype=np.int32)
        return LocalVertices(name, ids, order, row_of, n_train, data=data or {})

    @staticmethod
    def local(part: TypePart) -> LocalVertices:
        """Select the rows that one of several workers holds; `row_of` is -1 for other vertices."""
        order = part.order[part.rows]
        row_of = np.full(len(part.ids), -1, np.int32)
        row_of[order] = np.arange(len(order), dtype=np.int32)
        return LocalVertices(part.name, part.ids, order, row_of, part.n_train, part, part.data)

    @property
    def is_cut(self) -> bool:
        """True if some vertex of the type has several replicas."""
        return self.part is not None and self.part.cut

    def local_cuts(self, cuts: np.ndarray) -> np.ndarray:
        """Return the boundaries in local rows of the ranges of positions between `cuts`."""
        return cuts if self.part is None else np.searchsorted(self.part.rows[: self.n_train], cuts)

    def __len__(self) -> int:
        return len(self.order)


@dataclass
class LocalEdges:
    """The edges of a worker as rows of their ends: `src`, `dst` (m,) int32, and fields (m, ...).

    The first layout asked for becomes their order in memory, unless they are `fixed` in the order
    in which they were given. `left_out`: edges of the worker beside these.
    """

    declared: Edge
    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]
    fixed: bool = False
    left_out: int = 0
    layouts: dict[tuple[object, ...], Layout] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.src)

    def end(self, role: str) -> np.ndarray:
        """Return the rows (m,) of the end called `role`."""
        return self.src if role == self.declared.roles[0] else self.dst

    def other(self, role: str) -> str:
        """Return the name of the end that is not `role`."""
        first, second = self.declared.roles
        return second if role == first else first

    def walk_given(self) -> Layout:
        """Lay out the edges in their present order, as one group and one block."""
        return Layout(self.src, self.dst, (), np.array([0, len(self)]), np.array([0, 1]))

    def walk_grouped(self, role: str, n: int) -> Layout:
        """Lay out the edges grouped by the rows (0..n-1) of `role`; a block is one group, a row."""
        name = ("grouped", role)
        if name not in self.layouts:
            for (kind, *of), layout in self.layouts.items():
                if (kind, of[0]) == ("cells", role):  # grouped already, and finer
                    bounds = layout.bounds[:: layout.across].copy()
                    return replace(layout, bounds=bounds, blocks=np.arange(n + 1), across=1)
            self._order_by(self.other(role))
            self.layouts[name] = self._make_layout(
                sort_by_rows(self.end(role), n), np.arange(n + 1)
            )
        return self.layouts[name]

    def walk_cells(self, role: str, n: int, n_other: int, parts: int) -> Layout:
        """Lay out the edges grouped by the rows (0..n-1) of `role`, and those of a row by `parts`
        ranges of the rows of the other end: a group is a row's share in one range, a block a row.
        """
        name = ("cells", role, parts)
        if name not in self.layouts:
            self._order_by(other := self.other(role))
            of = (np.arange(n_other) * parts // max(n_other, 1))[self.end(other)]
            keys = self.end(role).astype(np.int64) * parts + of
            coarse, blocks = self.layouts.get(("grouped", role)), np.arange(n + 1) * parts
            if coarse and isinstance(coarse.index, tuple) and (keys[1:] >= keys[:-1]).all():
                bounds = np.searchsorted(keys, np.arange(n * parts + 1))
                return replace(coarse, bounds=bounds, blocks=blocks, across=parts)
            self.layouts[name] = self._make_layout(Sorting(keys, n * parts), blocks, parts)
        return self.layouts[name]

    def _order_by(self, role: str) -> None:
        """Sort the edges by the rows of `role`, before the first layout. The edges of a row of the
        other end keep this order. So neighbours on one side touch neighbours on the other.
        """
        if not self.layouts and not self.fixed:
            rows = self.end(role)
            self._arrange(Sorting(rows, int(rows.max(initial=-1)) + 1))

    def walk_tiled(
        self,
        role: str,
        cuts: np.ndarray,
        n_other: int,
        row_bytes: tuple[int, int],
        columns: np.ndarray | None = None,
    ) -> Layout:
        """Lay out the edges in tiles; a block has the tiles between two neighbouring `cuts` of
        `role`. `row_bytes`: of `role`, of the other end. `columns`: boundaries of the tiles in rows
        of the other end, if they are given.
        """
        name = ("tiled", role, cuts.tobytes(), b"" if columns is None else columns.tobytes())
        if name not in self.layouts:
            over_cuts = refine(cuts, tile_rows(int(cuts[-1]), row_bytes[0]))
            other_cuts = refine(np.array([0, n_other]), tile_rows(n_other, row_bytes[1]))
            other_cuts = other_cuts if columns is None else columns
            blocks = np.searchsorted(over_cuts, cuts) * (len(other_cuts) - 1)
            more = row_bytes[1] * n_other > row_bytes[0] * int(cuts[-1])
            strips = self.other(role) if more else role, strip_rows(row_bytes[more])
            self.layouts[name] = self._make_layout(
                sort_by_tiles(self.end(role), self.end(self.other(role)), over_cuts, other_cuts),
                blocks,
                len(other_cuts) - 1,
                strips,
            )
        return self.layouts[name]

    def _make_layout(
        self,
        sorting: Sorting,
        blocks: np.ndarray,
        across: int = 1,
        strips: tuple[str, int] | None = None,
    ) -> Layout:
        """Lay out the edges in the order of `sorting`, which is given up. Within a group they are
        sorted by `strips`: an end, and the rows of a strip.
        """
        bounds = sorting.bounds
        if self.layouts or self.fixed:
            src, dst, index = (
                sorting.sort_column(self.src),
                sorting.sort_column(self.dst),
                sorting.order(),
            )
            if strips:
                end = src if strips[0] == self.declared.roles[0] else dst
                InnerSorting(end, strips[1], bounds).arrange(src, dst, index)
            return Layout(src, dst, index, bounds, blocks, across)
        self._arrange(sorting)
        del sorting  # and its keys
        if strips:
            inner = InnerSorting(self.end(strips[0]), strips[1], bounds)
            inner.arrange(self.src, self.dst, *self.fields.values())
        return Layout(self.src, self.dst, (), bounds, blocks, across)

    def _arrange(self, sorting: Sorting) -> None:
        """Sort the edges in memory, column by column, so that one at a time is there twice."""
        self.src = sorting.sort_column(self.src)
        self.dst = sorting.sort_column(self.dst)
        for name in self.fields:
            self.fields[name] = sorting.sort_column(self.fields[name])


@dataclass(frozen=True)
class LocalGraph:
    """The share of one worker in a graph: vertex types by name, edges, and held-out edges."""

    vertices: dict[str, LocalVertices]
    edges: LocalEdges
    held_out: LocalEdges
    part: Part | None = None
    topology: Topology | None = None  # all neighbours, where the program asks for them
    has_test: bool = False  # whether edges are held out, here or on another worker

    def of_role(self, role: str) -> LocalVertices:
        """Return the vertex type at the end called `role`."""
        declared = self.edges.declared
        return self.vertices[declared.ends[declared.roles.index(role)]]

    def degrees(self, role: str) -> np.ndarray:
        """Count the training edges of each vertex at the end called `role`, over all workers, in
        the order of positions. On several workers an edge that a row repeats counts once: it is
        enough to balance.
        """
        declared = self.edges.declared
        side = declared.roles.index(role)
        if self.part is not None:
            return self.part.degrees[side]
        n_train = self.vertices[declared.ends[side]].n_train
        return count_keys(self.edges.end(role), len(self.vertices[declared.ends[side]]))[:n_train]

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
        order = (
            vertices.order[: vertices.n_train]
            if vertices.part is None
            else vertices.part.order[: vertices.part.vertices]
        )
        group = np.asarray(vertices.data[TOGETHER])[order]
        return np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1, [len(group)]])

    def counts(self, name: str) -> np.ndarray:
        """Count the local training edges of each row of a vertex type (n,), at both ends."""
        ends = [
            role
            for role, of in zip(self.edges.declared.roles, self.edges.declared.ends, strict=True)
            if of == name
        ]
        total = np.zeros(len(self.vertices[name]), np.int64)
        for role in ends:
            total += count_keys(self.edges.end(role), len(total))
        return total

    @staticmethod
    def of(program: BaseProgram, part: Part) -> LocalGraph:
        """Make the graph of one worker. DataError if the part's types differ from the program's."""
        if set(part.types) != set(program.edge.ends):
            raise DataError(
                f"a graph of {' and '.join(part.types)} does not fit edges from "
                f"{' to '.join(program.edge.ends)}"
            )
        pulled = [name for name, declared in program.vertices.items() if declared.remote]
        vertices = {
            name: LocalVertices.local(remove_rows(each) if name in pulled else each)
            for name, each in part.types.items()
        }
        topology = Topology.from_arrays(part.topology) if part.topology else None
        if pulled:
            none = _edges(program, vertices, [np.empty(0, np.int32)] * 2, {})
            return LocalGraph(
                vertices, none, replace(none, fixed=True), part, topology, part.has_test
            )
        edges = _repeat_edges(program, part.src, part.dst, part.fields)
        held_out = _repeat_edges(program, part.test_src, part.test_dst, part.test_fields)
        held_out.fixed = True
        return LocalGraph(vertices, edges, held_out, part, topology, part.has_test)

    @staticmethod
    def whole(
        program: BaseProgram, train: EdgeData, test: EdgeData | None, seed: int
    ) -> LocalGraph:
        """Make the graph in one part: every vertex has its one copy here. `test`'s ids extend those
        of `train`. The columns of `train` are given up one by one, if nobody else holds them.
        """
        if tuple(train.ends) != program.edge.ends:
            raise DataError(
                f"edges from {train.ends[0]} to {train.ends[1]} do not fit edges from "
                f"{' to '.join(program.edge.ends)}"
            )
        last = train.bare() if test is None else test
        vertices = {
            name: LocalVertices.in_seeded_order(
                name,
                train.ends.index(name),
                last.ids[name],
                len(train.ids[name]),
                seed,
                {**train.vertex_fields.get(name, {}), **last.vertex_fields.get(name, {})},
            )
            for name in program.vertices
            if name in last.ids
        }
        held_out = _edges(program, vertices, [last.src, last.dst], last.fields)
        held_out.fixed = True
        topology = topology_of(program, train, seed)
        ends, fields = [train.src, train.dst], train.fields
        del train  # the caller may hold it no more
        edges = _edges(program, vertices, ends, fields)
        return LocalGraph(vertices, edges, held_out, topology=topology, has_test=test is not None)


def _edges(
    program: BaseProgram,
    vertices: Mapping[str, LocalVertices],
    ends: list[np.ndarray],
    fields: Mapping[str, np.ndarray],
) -> LocalEdges:
    """Turn edges (m,) into rows; `ends`: dense indices of either end, which leave the list."""
    if not len(ends[0]):
        none = np.empty(0, np.int32)
        return LocalEdges(program.edge, none, none, _fields(program, {}, 0))
    columns = pop_pieces(ends)
    src, dst = (look_up(vertices[kind].row_of, next(columns)) for kind in program.edge.ends)
    return _repeat_edges(program, src, dst, fields)


def _repeat_edges(
    program: BaseProgram, src: np.ndarray, dst: np.ndarray, columns: Mapping[str, np.ndarray]
) -> LocalEdges:
    """Repeat edges (m,) as often as their field `repeats` says, if the program has one."""
    if (repeats := program.edge.repeats) and len(src):
        if repeats not in columns:
            raise DataError(
                f"these edges have no {repeats}, which says how often each is there",
                do=f"fields: {', '.join(columns) or 'none'}",
            )
        times = columns[repeats]
        if not np.array_equal(times, np.floor(times)):
            raise DataError(
                f"an edge is there {times[times != np.floor(times)][0]} times",
                do=f"{repeats} must be a whole number",
            )
        times = times.astype(np.int64)
        if times.min() < 0:
            raise DataError(
                f"an edge is there {times.min()} times", do=f"{repeats} must be 0 or more"
            )
        src, dst = np.repeat(src, times), np.repeat(dst, times)
        columns = {f: np.repeat(a, times, axis=0) for f, a in columns.items() if f != repeats}
    return LocalEdges(program.edge, src, dst, _fields(program, columns, len(src)))


def _fields(
    program: BaseProgram, columns: Mapping[str, np.ndarray], m: int
) -> dict[str, np.ndarray]:
    """Make the fields of m edges: from `columns` where they are data, else from their constant."""
    fields = {}
    for name, f in program.edge.fields.items():
        if m and f.kind == "data":
            if name not in columns:
                what = f"these edges have no {name}, which {type(program).__name__} reads"
                raise DataError(what, do=f"fields: {', '.join(columns) or 'none'}")
            # Kernels read arrays row after row, whatever their strides.
            fields[name] = np.ascontiguousarray(columns[name], f.dtype)
            continue
        f = f.resolve(program.parameters)
        if f.init.law != "constant":  # type: ignore[union-attr]
            raise ProgramError(
                f"edge field {name} starts with random numbers",
                do="start it with a constant, and draw in setup()",
            )
        fields[name] = np.full((m, *f.lengths), f.init.a, f.dtype)  # type: ignore[union-attr]
    return fields
