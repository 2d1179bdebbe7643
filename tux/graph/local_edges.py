"""The edges in one partition: as rows of their ends, in the layouts in which stages walk them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tux.arrays.byte_codes import ByteCodes, Column, code_column
from tux.arrays.disk_columns import COPIED, empty_column, store_column
from tux.arrays.lookup import look_up
from tux.arrays.pieced import pop_pieces
from tux.base.errors import DataError, ProgramError
from tux.graph.edge_memory import EdgeMemory
from tux.graph.ends import (
    OFFSETS,
    End,
    GroupedEnd,
    TileEnd,
    array_of,
    count_edges,
    count_rows,
    rows_of,
)
from tux.graph.layout import Layout, refine, sort_by_rows, sort_by_tiles, strip_rows, tile_rows
from tux.graph.sorting import InnerSorting, Sorting
from tux.program.base_program import BaseProgram
from tux.program.types import Edge


class TileGrid(NamedTuple):
    """The grid of tiles of edges: the ranges of rows of the enumerated end `role`, and of the other
    end. `strips`: the end by which edges are sorted within a tile, and the rows of a strip.
    """

    role: str
    cuts: np.ndarray
    other_cuts: np.ndarray
    strips: tuple[str, int]

    @property
    def across(self) -> int:
        """The number of tiles in a row of the grid."""
        return len(self.other_cuts) - 1

    @property
    def is_narrow(self) -> bool:
        """True if 16 bits number the rows of each range."""
        widths = np.concatenate([np.diff(self.cuts), np.diff(self.other_cuts)])
        return bool(widths.max(initial=0) <= OFFSETS)

    def first_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first row (tiles,) int32 of each tile, of `role` and of the other end."""
        own = np.repeat(self.cuts[:-1], self.across).astype(np.int32)
        return own, np.tile(self.other_cuts[:-1], len(self.cuts) - 1).astype(np.int32)


@dataclass
class LocalEdges:
    """The edges of a worker as rows of their two `ends`, and fields (m, ...).

    The first layout asked for becomes their order in memory, unless they are `fixed` in the order
    in which they were given. `left_out`: edges of the worker beside these.
    """

    declared: Edge
    ends: list[End]
    fields: dict[str, Column]
    fixed: bool = False
    left_out: int = 0
    layouts: dict[tuple[object, ...], Layout] = field(default_factory=dict)

    def __len__(self) -> int:
        return count_edges(self.ends[0])

    @property
    def src(self) -> np.ndarray:
        """The rows (m,) int32 of the first end; of tiles, computed anew each time."""
        return rows_of(self.ends[0])

    @property
    def dst(self) -> np.ndarray:
        """The rows (m,) int32 of the second end; of tiles, computed anew each time."""
        return rows_of(self.ends[1])

    def end(self, role: str) -> np.ndarray:
        """Return the rows (m,) of the end called `role`."""
        return rows_of(self.ends[self.declared.roles.index(role)])

    def degrees(self, role: str, n: int) -> np.ndarray:
        """Count the edges of each of the n rows of the end called `role`, (n,) int64."""
        return count_rows(self.ends[self.declared.roles.index(role)], n)

    def memory(self) -> EdgeMemory:
        """Return how many edges there are, and the bytes of their ends and fields in all orders."""
        held = [*self._columns(), *map(array_of, self.ends)]
        for layout in self.layouts.values():
            held += [layout.src, layout.dst, layout.bounds]
            index = vars(layout).get("index", ())  # not computed for this
            held += [index] if len(index) else []
            held += _arrays_of_fields(layout.columns)
        return EdgeMemory.of(len(self), held)

    def changing(self, name: str) -> np.ndarray:
        """Return the array (m, ...) of a field that is no data."""
        array = self.fields[name]
        assert isinstance(array, np.ndarray)
        return array

    def other(self, role: str) -> str:
        """Return the name of the end that is not `role`."""
        first, second = self.declared.roles
        return second if role == first else first

    def walk_given(self) -> Layout:
        """Lay out the edges in their present order, as one group and one block."""
        return Layout(self.src, self.dst, None, np.array([0, len(self)]), np.array([0, 1]))

    def walk_grouped(self, role: str, n: int, *, narrow: bool = False) -> Layout:
        """Lay out the edges grouped by the rows (0..n-1) of `role`; a block is one group, a row.
        `narrow`: 16 bits number the rows of the other end.
        """
        name = ("grouped", role)
        if name not in self.layouts:
            for (kind, *of), layout in self.layouts.items():
                if (kind, of[0]) == ("cells", role):  # grouped already, and finer
                    bounds = layout.bounds[:: layout.across].copy()
                    self.layouts[name] = replace(
                        layout, bounds=bounds, blocks=np.arange(n + 1), across=1
                    )
                    return self.layouts[name]
            self._order_by(self.other(role))
            self.layouts[name] = self._group(
                lambda: sort_by_rows(self.end(role), n), role, np.arange(n + 1), narrow=narrow
            )
        return self.layouts[name]

    def walk_cells(
        self, role: str, n: int, n_other: int, parts: int, *, narrow: bool = False
    ) -> Layout:
        """Lay out the edges grouped by the rows (0..n-1) of `role`, and those of a row by `parts`
        ranges of the rows of the other end: a group is a row's share in one range, a block a row.
        `narrow`: 16 bits number the rows of the other end.
        """
        name = ("cells", role, parts)
        if name not in self.layouts:
            self._order_by(self.other(role))
            coarse, blocks = self.layouts.get(("grouped", role)), np.arange(n + 1) * parts
            keys = self._cell_keys(role, n_other, parts)
            if coarse and coarse.is_own and (keys[1:] >= keys[:-1]).all():
                bounds = np.searchsorted(keys, np.arange(n * parts + 1))
                return replace(coarse, bounds=bounds, blocks=blocks, across=parts)
            del keys
            self.layouts[name] = self._group(
                lambda: Sorting(self._cell_keys(role, n_other, parts), n * parts),
                role,
                blocks,
                parts,
                narrow=narrow,
            )
        return self.layouts[name]

    def _cell_keys(self, role: str, n_other: int, parts: int) -> np.ndarray:
        """Return the number (m,) of the group of each edge, row by row of `role`, and by `parts`
        ranges of the rows of the other end.
        """
        of = np.arange(n_other) * parts // max(n_other, 1)
        rows, others = self.end(role), self.end(self.other(role))
        keys = empty_column(len(self), np.int64)
        for first in range(0, len(keys), COPIED):
            some = slice(first, first + COPIED)
            keys[some] = rows[some]
            keys[some] *= parts
            keys[some] += of[others[some]]
        return keys

    def _order_by(self, role: str) -> None:
        """Sort the edges by the rows of `role`, before the first layout. The edges of a row of the
        other end keep this order. So neighbours on one side touch neighbours on the other.
        """
        if not self.layouts and not self.fixed:
            rows = self.end(role)
            self._arrange(Sorting(rows, int(rows.max(initial=-1)) + 1), {})

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
            grid = TileGrid(role, over_cuts, other_cuts, strips)
            cuts_of = over_cuts, other_cuts
            self.layouts[name] = self._lay_out_tiles(
                lambda: sort_by_tiles(self.end(role), self.end(self.other(role)), *cuts_of),
                blocks,
                grid,
            )
        return self.layouts[name]

    def _group(
        self,
        sort: Callable[[], Sorting],
        role: str,
        blocks: np.ndarray,
        across: int = 1,
        *,
        narrow: bool,
    ) -> Layout:
        """Lay out the edges in the order that `sort` makes, `across` groups for each row of `role`.
        `narrow`: 16 bits number the rows of the other end.
        """
        sorting = sort()
        known = {role: GroupedEnd(sorting.bounds, across)}
        is_own, ends = self._sort_ends(sorting, known, np.uint16 if narrow else np.int32)
        side = self.declared.roles.index(role)
        number = None if is_own else lambda: sort().order()
        src, dst = map(array_of, ends)
        return Layout(src, dst, number, sorting.bounds, blocks, across, grouped=side)

    def _sort_ends(
        self, sorting: Sorting, known: Mapping[str, End], dtype: type = np.int32
    ) -> tuple[bool, list[End]]:
        """Sort the edges in memory, if this is their first layout, and return whether it is, and
        both ends in the order of `sorting`.
        """
        if self.layouts or self.fixed:
            return False, [*self._sorted_ends(sorting, known, dtype)]
        self._arrange(sorting, known, dtype)
        return True, self.ends

    def _sorted_ends(
        self, sorting: Sorting, known: Mapping[str, End], dtype: type
    ) -> Iterator[End]:
        """Yield both ends in the order of `sorting`, as numbers of a `dtype`; those that are
        `known` are not sorted.
        """
        for side, role in enumerate(self.declared.roles):
            rows = rows_of(self.ends[side]) if role not in known else None
            yield (known[role] if rows is None else sorting.sort_column(store_column(rows, dtype)))

    def _lay_out_tiles(
        self, sort: Callable[[], Sorting], blocks: np.ndarray, grid: TileGrid
    ) -> Layout:
        """Lay out the edges in the tiles of a grid, by the order that `sort` makes."""
        sorting = sort()
        is_own, ends = self._sort_ends(sorting, {})
        bounds = sorting.bounds
        del sorting  # and its keys
        src, dst = map(array_of, ends)
        columns = self._columns() if is_own else []
        keys = src if grid.strips[0] == self.declared.roles[0] else dst
        InnerSorting(keys, grid.strips[1], bounds).arrange(src, dst, *columns)
        number = None if is_own else partial(self._number_in_tiles, sort, grid)
        whole = Layout(src, dst, number, bounds, blocks, grid.across)
        return self._narrow(whole, grid) if grid.is_narrow else whole

    def _number_in_tiles(self, sort: Callable[[], Sorting], grid: TileGrid) -> np.ndarray:
        """Return the number of the edge at each place of a layout in tiles, (m,)."""
        sorting = sort()
        order, keys = sorting.order(), sorting.sort_column(self.end(grid.strips[0]))
        InnerSorting(keys, grid.strips[1], sorting.bounds).arrange(order)
        return order

    def _narrow(self, whole: Layout, grid: TileGrid) -> Layout:
        """Return a layout in the tiles of a grid with offsets of 16 bits."""
        own, other = grid.first_rows()
        first = (own, other) if grid.role == self.declared.roles[0] else (other, own)
        src, dst = (
            TileEnd.of_rows(rows, begin, whole.bounds)
            for rows, begin in zip((whole.src, whole.dst), first, strict=True)
        )
        if whole.is_own:
            self.ends = [src, dst]
        return replace(whole, src=src.offsets, dst=dst.offsets, first=first)

    def _arrange(self, sorting: Sorting, known: Mapping[str, End], dtype: type = np.int32) -> None:
        """Sort the edges in memory, column by column, so that one at a time is there twice."""
        for side, end in enumerate(self._sorted_ends(sorting, known, dtype)):
            self.ends[side] = end
        for name, column in self.fields.items():
            if not isinstance(column, ByteCodes):
                self.fields[name] = sorting.sort_column(column)
            elif column.codes is not None:
                self.fields[name] = replace(column, codes=sorting.sort_column(column.codes))

    def _columns(self) -> list[np.ndarray]:
        """List the arrays (m, ...) that fields take."""
        return _arrays_of_fields(self.fields)


def _arrays_of_fields(fields: Mapping[str, Column]) -> list[np.ndarray]:
    """List the arrays (m, ...) that fields take."""
    arrays = (each.codes if isinstance(each, ByteCodes) else each for each in fields.values())
    return [each for each in arrays if each is not None]


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
        return LocalEdges(program.edge, [none, none], _fields(program, {}, 0))
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
    return LocalEdges(program.edge, [src, dst], _fields(program, columns, len(src)))


def _fields(program: BaseProgram, columns: Mapping[str, np.ndarray], m: int) -> dict[str, Column]:
    """Make the fields of m edges: from `columns` where they are data, else from their constant."""
    fields: dict[str, Column] = {}
    for name, f in program.edge.fields.items():
        if m and f.kind == "data":
            if name not in columns:
                what = f"these edges have no {name}, which {type(program).__name__} reads"
                raise DataError(what, do=f"fields: {', '.join(columns) or 'none'}")
            # Kernels read arrays row after row, whatever their strides.
            fields[name] = code_column(store_column(columns[name], f.dtype))
            continue
        f = f.resolve(program.parameters)
        if f.init.law != "constant":  # type: ignore[union-attr]
            raise ProgramError(
                f"edge field {name} starts with random numbers",
                do="start it with a constant, and draw in setup()",
            )
        fields[name] = empty_column((m, *f.lengths), f.dtype)
        fields[name][...] = f.init.a  # type: ignore[index, union-attr]
    return fields
