"""The edges in one partition: as rows of their ends, in the layouts in which stages walk them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tux.arrays.lookup import look_up
from tux.arrays.pieced import pop_pieces
from tux.base.errors import DataError, ProgramError
from tux.graph.layout import Layout, refine, sort_by_rows, sort_by_tiles, strip_rows, tile_rows
from tux.graph.sorting import InnerSorting, Sorting
from tux.program.base_program import BaseProgram
from tux.program.types import Edge


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


def edges_as_rows(
    program: BaseProgram,
    row_of: Mapping[str, np.ndarray],
    ends: list[np.ndarray],
    fields: Mapping[str, np.ndarray],
) -> LocalEdges:
    """Turn edges (m,) into rows; `row_of`: the row of each vertex, by type. `ends`: dense indices
    of either end, which leave the list.
    """
    if not len(ends[0]):
        none = np.empty(0, np.int32)
        return LocalEdges(program.edge, none, none, _fields(program, {}, 0))
    columns = pop_pieces(ends)
    src, dst = (look_up(row_of[kind], next(columns)) for kind in program.edge.ends)
    return repeat_edges(program, src, dst, fields)


def repeat_edges(
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
