"""The edges in one partition: as rows of their ends, in the layouts in which stages walk them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tux.arrays.byte_codes import ByteCodes, Column
from tux.arrays.disk_columns import COPIED, empty_column, store_column
from tux.base.forks import Forks
from tux.base.parallel import threads
from tux.graph.edge_memory import EdgeMemory
from tux.graph.ends import (
    End,
    GroupedEnd,
    TileEnd,
    array_of,
    count_edges,
    count_rows,
    rows_of,
)
from tux.graph.kept_order import KeptOrder
from tux.graph.layout import (
    Layout,
    TileGrid,
    cut_tiles,
    sort_by_rows,
    sort_by_tiles,
    strip_rows,
)
from tux.graph.sorting import InnerSorting, Sorting
from tux.program.types import Edge


@dataclass
class LocalEdges:
    """The edges of a worker as rows of their two `ends`, and fields (m, ...).

    The first layout asked for becomes their order in memory, unless they are `fixed` in the order
    in which they were given. `left_out`: edges of the worker beside these. `kept`: where that order
    is kept; as long as nobody has asked for a layout, edges that were found there have it, and
    `anew` makes them as they lie in the part.
    """

    declared: Edge
    ends: list[End]
    fields: dict[str, Column]
    fixed: bool = False
    left_out: int = 0
    layouts: dict[tuple[object, ...], Layout] = field(default_factory=dict)
    kept: KeptOrder | None = None
    anew: Callable[[], LocalEdges] | None = None
    _order: str = ""

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
        if not self._take_kept(name, n, narrow):
            for (kind, *of), layout in self.layouts.items():
                if (kind, of[0]) == ("cells", role):  # grouped already, and finer
                    bounds = layout.bounds[:: layout.across].copy()
                    self.layouts[name] = replace(
                        layout, bounds=bounds, blocks=np.arange(n + 1), across=1
                    )
                    return self.layouts[name]
            self._order_by(self.other(role))
            layout = self._group(
                lambda: sort_by_rows(self.end(role), n), role, np.arange(n + 1), narrow=narrow
            )
            self._add(name, layout)
        return self.layouts[name]

    def walk_cells(
        self, role: str, n: int, n_other: int, parts: int, *, narrow: bool = False
    ) -> Layout:
        """Lay out the edges grouped by the rows (0..n-1) of `role`, and those of a row by `parts`
        ranges of the rows of the other end: a group is a row's share in one range, a block a row.
        `narrow`: 16 bits number the rows of the other end.
        """
        name = ("cells", role, parts)
        if not self._take_kept(name, n, n_other, narrow):
            self._order_by(self.other(role))
            coarse, blocks = self.layouts.get(("grouped", role)), np.arange(n + 1) * parts
            keys = self._cell_keys(role, n_other, parts)
            if coarse and coarse.is_own and (keys[1:] >= keys[:-1]).all():
                bounds = np.searchsorted(keys, np.arange(n * parts + 1))
                return replace(coarse, bounds=bounds, blocks=blocks, across=parts)
            del keys
            layout = self._group(
                lambda: Sorting(self._cell_keys(role, n_other, parts), n * parts),
                role,
                blocks,
                parts,
                narrow=narrow,
            )
            self._add(name, layout)
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
        least: int = 1,
    ) -> Layout:
        """Lay out the edges in tiles; a block has the tiles between two neighbouring `cuts` of
        `role`. `row_bytes`: of `role`, of the other end. `columns`: boundaries of the tiles in rows
        of the other end, if they are given. `least`: rows of a range, if there are so many.
        """
        of = b"" if columns is None else columns.tobytes()
        name = ("tiled", role, cuts.tobytes(), of, *([least] if least > 1 else []))
        over_cuts, other_cuts = cut_tiles(cuts, n_other, row_bytes, columns, least)
        more = row_bytes[1] * n_other > row_bytes[0] * int(cuts[-1])
        strips = self.other(role) if more else role, strip_rows(row_bytes[more])
        if not self._take_kept(name, over_cuts.tobytes(), other_cuts.tobytes(), strips):
            blocks = np.searchsorted(over_cuts, cuts) * (len(other_cuts) - 1)
            grid = TileGrid(role, over_cuts, other_cuts, strips)
            cuts_of = over_cuts, other_cuts
            layout = self._lay_out_tiles(
                lambda: sort_by_tiles(self.end(role), self.end(self.other(role)), *cuts_of),
                blocks,
                grid,
            )
            self._add(name, layout)
        return self.layouts[name]

    def _take_kept(self, name: tuple[object, ...], *more: object) -> bool:
        """Take the layout `name`, which depends on `more` beside its name, if its order is kept;
        return whether it is there. If the first that is asked for has another order, the edges lie
        as in the part again.
        """
        if self.kept is None or self.layouts or self.fixed:
            return name in self.layouts
        self._order, found = self.kept.digest(name, *more), self.kept.found
        self.kept.found = None  # so that nothing holds its files longer than the edges do
        if found and found.order == self._order:
            self.layouts[name] = found.layout
        elif found and self.anew:
            own = self.anew()
            self.ends, self.fields = own.ends, own.fields
        self.anew = None
        return name in self.layouts

    def _add(self, name: tuple[object, ...], layout: Layout) -> None:
        """Add a layout. If it is the edges' own order, it is kept where that is possible, and they
        lie there from now on.
        """
        if layout.is_own and self.kept:
            if kept := self.kept.keep(self._order, layout, self.fields):
                layout, self.ends = kept.layout, kept.layout.held_ends()
                self.fields |= kept.fields
        self.layouts[name] = layout

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
        with Forks(threads()) as forks:
            InnerSorting.compile_beside(forks)
            sorting = sort()
            is_own, ends = self._sort_ends(sorting, {})
            forks.await_all()
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
