"""Neighbour lists of the vertices 0..n-1, and the loops that turn, sort and cut them.

Compiled code reads a neighbour by `neighbour` and writes it by `write_neighbour` alone, so that
lists can be held in another form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tux.arrays.integers import index_dtype
from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, threads

NOTHING = np.empty(0, np.float64)
"""Values along lists that are all 1."""

PIECES_PER_THREAD = 8
LEAST_VERTICES = 64
"""Vertices of a piece of `pieces_of`."""

BYTES_AT_ONCE = 8  # that `neighbour` reads, of which it takes the first


class NeighbourLists(NamedTuple):
    """The neighbours of vertex v are the entries ``offsets[v]`` .. ``offsets[v + 1] - 1``.

    `offsets` (n + 1,) int64. `packed` (width * entries + 7,) uint8 has each entry in `width` bytes,
    the lowest first: 2 bytes for up to 65,536 vertices, 3 for up to 16.7 million. `kind` (0,) has
    the type in which compiled code keeps vertices: int32, int64 from 2^31 vertices on.
    """

    offsets: np.ndarray
    packed: np.ndarray
    width: int
    kind: np.ndarray

    @classmethod
    def of_sizes(cls, sizes: np.ndarray) -> NeighbourLists:
        """Make lists of these `sizes` (n,), whose entries are still to be written."""
        n = len(sizes)
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        width = max(1, -(-max(0, n - 1).bit_length() // 8))
        packed = np.empty(width * int(offsets[-1]) + BYTES_AT_ONCE - 1, np.uint8)
        return cls(offsets, packed, width, np.empty(0, index_dtype(n)))

    @classmethod
    def of(cls, sizes: np.ndarray, neighbours: np.ndarray) -> NeighbourLists:
        """Make lists of their `sizes` (n,) and of all neighbours (entries,), one list after the
        other.
        """
        made = cls.of_sizes(sizes)
        made.fill(neighbours)
        return made

    def fill(self, neighbours: np.ndarray) -> None:
        """Write all neighbours (entries,), one list after the other."""
        _pack(self, neighbours)

    def first(self, entries: int) -> NeighbourLists:
        """Return the same lists without room for more than so many entries."""
        used = self.width * entries + BYTES_AT_ONCE - 1
        return self if used == len(self.packed) else self._replace(packed=self.packed[:used].copy())

    def entries(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Return the neighbours of the entries ``begin`` .. ``end - 1``, or of all, as an array."""
        stop = int(self.offsets[-1]) if end is None else end
        found = np.empty(stop - begin, self.kind.dtype)
        _unpack(self, begin, found)
        return found

    def of_vertex(self, v: int) -> np.ndarray:
        """Return the neighbours of a vertex, (k,)."""
        return self.entries(int(self.offsets[v]), int(self.offsets[v + 1]))

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        """The number of neighbours of each vertex, (n,) int64."""
        return np.diff(self.offsets)


@intrinsic
def _eight_bytes(typingctx: Any, packed: Any, at: Any) -> Any:
    """Return the eight bytes from `at` on as an int64; a processor reads them at any address."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = context.make_array(sig.args[0])(context, builder, args[0])
        address = builder.gep(array.data, [args[1]])
        word = builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.int64(packed, types.int64), codegen


@cached_njit
def neighbour(lists, at):  # type: ignore[no-untyped-def]
    """Return the neighbour at an entry of lists, an int64."""
    return _eight_bytes(lists.packed, lists.width * at) & ((1 << 8 * lists.width) - 1)


@cached_njit
def write_neighbour(lists, at, vertex):  # type: ignore[no-untyped-def]
    """Write a neighbour to an entry of lists. Threads may write entries that are side by side."""
    first, rest = lists.width * at, np.int64(vertex)
    for byte in range(first, first + lists.width):  # a longer body would not be inlined
        lists.packed[byte] = rest & 255
        rest >>= 8


@cached_njit
def _pack(lists, neighbours):  # type: ignore[no-untyped-def]
    for at in range(len(neighbours)):
        write_neighbour(lists, at, neighbours[at])


@cached_njit
def _unpack(lists, begin, found):  # type: ignore[no-untyped-def]
    for i in range(len(found)):
        found[i] = neighbour(lists, begin + i)


@cached_njit
def _count_targets(lists, counts):  # type: ignore[no-untyped-def]
    for at in range(lists.offsets[-1]):
        counts[neighbour(lists, at)] += 1


@cached_njit
def _place_sources(lists, free, turned):  # type: ignore[no-untyped-def]
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            w = neighbour(lists, at)
            write_neighbour(turned, free[w], v)
            free[w] += 1


@cached_njit
def _place_values(lists, values, free, turned):  # type: ignore[no-untyped-def]
    for at in range(lists.offsets[-1]):
        w = neighbour(lists, at)
        turned[free[w]] = values[at]
        free[w] += 1


def count_targets(lists: NeighbourLists) -> np.ndarray:
    """Count in how many lists each vertex is, (n,) int64."""
    counts = np.zeros(lists.vertices, np.int64)
    _count_targets(lists, counts)
    return counts


def transpose(lists: NeighbourLists) -> NeighbourLists:
    """Return, for each vertex, the vertices in whose lists it is, ascending."""
    turned = NeighbourLists.of_sizes(count_targets(lists))
    _place_sources(lists, turned.offsets[:-1].copy(), turned)
    return turned


def transpose_values(
    lists: NeighbourLists, turned: NeighbourLists, values: np.ndarray
) -> np.ndarray:
    """Return `values` (entries,) along `lists` in the order of ``turned = transpose(lists)``."""
    result = np.empty_like(values)
    _place_values(lists, values, turned.offsets[:-1].copy(), result)
    return result


@cached_njit
def _reorder_values(lists, values, other, reordered):  # type: ignore[no-untyped-def]
    of = np.ones(len(lists.offsets) - 1)
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            of[neighbour(lists, at)] = values[at]
        for at in range(other.offsets[v], other.offsets[v + 1]):
            reordered[at] = of[neighbour(other, at)]


def reorder_values(lists: NeighbourLists, values: np.ndarray, other: NeighbourLists) -> np.ndarray:
    """Return `values` (entries,) float64 along `lists` in the order of `other`, lists of the same
    neighbours.
    """
    reordered = np.empty_like(values)
    _reorder_values(lists, values, other, reordered)
    return reordered


def cut(lists: NeighbourLists) -> list[tuple[int, int]]:
    """Cut the vertices into ranges (first, last + 1), one for each thread, which have nearly the
    same number of entries; fewer ranges where there is little work.
    """
    entries = int(lists.offsets[-1])
    count = max(1, min(threads(), entries // ENTRIES_PER_THREAD))
    aims = [entries * at // count for at in range(1, count)]
    bounds = [0, *np.searchsorted(lists.offsets, aims).tolist(), lists.vertices]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


@cached_njit
def contains(lists, v, w):  # type: ignore[no-untyped-def]
    """Return whether w is in the ascending list of v."""
    low, high = lists.offsets[v], lists.offsets[v + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbour(lists, middle) < w:
            low = middle + 1
        else:
            high = middle
    return low < lists.offsets[v + 1] and neighbour(lists, low) == w


@cached_njit
def _find_loops(lists, loops):  # type: ignore[no-untyped-def]
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            if neighbour(lists, at) == v:
                loops[v] = at


def loops_of(lists: NeighbourLists) -> np.ndarray:
    """Return the entry of each vertex's self-loop, (n,) int64, -1 where there is none."""
    loops = np.full(lists.vertices, -1, np.int64)
    _find_loops(lists, loops)
    return loops


@cached_njit
def _sum_lists(lists, values, sums):  # type: ignore[no-untyped-def]
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            sums[v] += values[at]


def sum_lists(lists: NeighbourLists, values: Any) -> np.ndarray:
    """Add up `values` (entries,) along each list, in its order, (n,) of their type. Values that
    are `NOTHING` are 1 each.
    """
    if values is NOTHING:
        return lists.sizes.astype(np.float64)
    sums = np.zeros(lists.vertices, values.dtype)
    _sum_lists(lists, values, sums)
    return sums


def pieces_of(count: int) -> list[slice]:
    """Cut 0..count into consecutive ranges, several for each thread, as work may not be even."""
    pieces = max(1, min(PIECES_PER_THREAD * threads(), count // LEAST_VERTICES))
    return [slice(count * at // pieces, count * (at + 1) // pieces) for at in range(pieces)]
