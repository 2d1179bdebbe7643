"""Orders of edges: each is a permutation, its groups are ranges of what they say, and blocks
cover all of it.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.examples import examples

from tux.base.random import key
from tux.graph import layout
from tux.graph.layout import (
    ABREAST,
    LAST_LEVEL_BYTES,
    MIN_TILES,
    TILE_BYTES,
    Layout,
    blocks_by_edges,
    blocks_by_vertices,
    columns_of_round,
    diagonals,
    even_cuts,
    refine,
    sort_by_rows,
    sort_by_tiles,
    tile_order,
    tile_rows,
)

# the first example of a compiled function takes its compilation
checked = settings(deadline=None, max_examples=examples(60))

sizes = st.integers(1, 30)


@st.composite
def cuts(draw, n):
    """Draw 0, some numbers between, n."""
    return np.array([0, *sorted(draw(st.sets(st.integers(1, max(n - 1, 1)), max_size=5)) - {n}), n])


@st.composite
def bipartite(draw):
    """Draw numbers of rows of both ends, and m edges between them."""
    a, b, m = draw(sizes), draw(sizes), draw(st.integers(0, 60))
    rows = st.integers(0, 2**31)
    over, other = (
        np.array(draw(st.lists(rows, min_size=m, max_size=m)), np.int64) % n for n in (a, b)
    )
    return a, b, over.astype(np.int32), other.astype(np.int32)


@checked
@given(bipartite())
def test_grouped_is_a_stable_sort(graph):
    n, _, rows, _ = graph
    sorting = sort_by_rows(rows, n)
    order, bounds = sorting.order(), sorting.bounds
    assert np.array_equal(order, np.argsort(rows, kind="stable")) and order.dtype == np.int32
    assert np.array_equal(np.diff(bounds), np.bincount(rows, minlength=n)) and bounds[0] == 0


@checked
@given(bipartite(), st.data())
def test_tiles_hold_the_edges_between_two_ranges(graph, data):
    n, k, over, other = graph
    over_cuts, other_cuts = data.draw(cuts(n)), data.draw(cuts(k))
    sorting = sort_by_tiles(over, other, over_cuts, other_cuts)
    order, bounds = sorting.order(), sorting.bounds
    columns = len(other_cuts) - 1
    assert sorted(order.tolist()) == list(range(len(over)))
    assert (
        len(bounds) == (len(over_cuts) - 1) * columns + 1
        and bounds[0] == 0
        and bounds[-1] == len(over)
    )
    for tile, (lo, hi) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        edges, (a, b) = order[lo:hi], divmod(tile, columns)
        assert ((over_cuts[a] <= over[edges]) & (over[edges] < over_cuts[a + 1])).all()
        assert ((other_cuts[b] <= other[edges]) & (other[edges] < other_cuts[b + 1])).all()
        assert (np.diff(edges) > 0).all()  # within a tile, the order in which they came


@checked
@given(st.integers(0, 50), st.integers(0, 200), st.integers(0, 40))
def test_even_cuts(lo, length, most):
    found = even_cuts(lo, lo + length, most)
    parts = np.diff(found)
    assert found[0] == lo and found[-1] == lo + length
    assert (
        len(parts) == max(1, -(-length // max(most, 1)))
        and parts.max() <= max(most, 1)
        and parts.max() - parts.min() <= 1
    )


@checked
@given(st.data(), st.integers(1, 100), st.integers(1, 20))
def test_refined_cuts_keep_those_given(data, n, most):
    given_cuts = data.draw(cuts(n))
    found = refine(given_cuts, most)
    assert (
        set(given_cuts) <= set(found)
        and (np.diff(found) > 0).all()
        and np.diff(found).max() <= most
    )


def test_refining_nothing():
    assert refine(np.array([0, 0]), 5).tolist() == [0]


@checked
@given(st.integers(0, 10**7), st.integers(0, 10**5))
@example(17, 0)
def test_tiles_fit_the_cache_and_are_several(n, row_bytes):
    rows = tile_rows(n, row_bytes)
    assert rows >= 1 and (rows == 1 or rows * row_bytes <= TILE_BYTES / 2)
    assert n < MIN_TILES or -(-n // rows) >= MIN_TILES


@checked
@given(st.integers(0, 6), st.integers(0, 40), st.integers(1, 9), st.booleans(), st.booleans())
def test_tiles_come_along_the_diagonals_of_the_grid_or_in_runs(
    before, rows, across, by_column, large
):
    first, last = before * across, (before + rows) * across
    row_bytes = (1, 2) if by_column else (2, 1)
    row_bytes = tuple(b * LAST_LEVEL_BYTES for b in row_bytes) if large else row_bytes
    order, runs = tile_order(key(0), first, last, across, row_bytes)
    assert sorted(order.tolist()) == list(range(first, last))
    assert np.array_equal(order, tile_order(key(0), first, last, across, row_bytes)[0])
    lines, others = (rows, across) if not by_column else (across, rows)
    line, other = np.divmod(order - first, across)[:: -1 if by_column else 1]
    if not large:  # a diagonal is as long as the grid's shorter side
        assert np.array_equal(runs, np.arange(len(order) + 1))
        apart = min(lines, others)
        for at in range(0, len(order), max(apart, 1)):
            assert len(set(line[at : at + apart])) == len(set(other[at : at + apart])) == apart
        return
    # the end with more bytes is fetched once: its lines come in groups, one after the other
    groups = max(1, round(lines / ABREAST))
    seen = [set(part) for part in np.split(line, np.flatnonzero(np.diff(_group(line, groups))) + 1)]
    assert sum(map(len, seen)) == len(set(line)) and max(map(len, seen), default=0) < 2 * ABREAST
    assert runs[0] == 0 and runs[-1] == len(order)
    if not rows:
        return
    # a run is a range of the other end with all lines of the group, in one order
    orders = {tuple(line[lo:hi].tolist()) for lo, hi in zip(runs[:-1], runs[1:], strict=True)}
    assert {frozenset(each) for each in orders} == {frozenset(each) for each in seen}
    assert len(orders) == len(seen)
    assert all(len(set(other[lo:hi])) == 1 for lo, hi in zip(runs[:-1], runs[1:], strict=True))


def _group(line, groups):
    """Return the number of the group in which each line came first."""
    _, first = np.unique(line, return_index=True)
    order = line[np.sort(first)]
    parts = np.array_split(order, groups)
    number = {value: g for g, part in enumerate(parts) for value in part.tolist()}
    return np.array([number[value] for value in line.tolist()], np.int64)


def test_orders_of_tiles_differ_by_key():
    one, other = (tile_order(key(seed), 0, 64, 8, (LAST_LEVEL_BYTES, 1))[0] for seed in (0, 1))
    assert not np.array_equal(one, other)


@given(st.integers(0, 9), st.integers(0, 9))
def test_diagonals_hold_each_cell_once(rows, columns):
    a, b = diagonals(rows, columns)
    assert sorted(zip(a.tolist(), b.tolist(), strict=True)) == [
        (i, j) for i in range(rows) for j in range(columns)
    ]


@checked
@given(st.integers(0, 100), st.integers(0, 120))
def test_blocks_by_vertices(n, size):
    found = blocks_by_vertices(n, size)
    lengths = np.diff(found)
    assert found[0] == 0 and found[-1] == n
    if 0 < size < n:
        assert (lengths[:-1] == size).all() and 0 < lengths[-1] <= size
    else:
        assert len(lengths) == 1


@checked
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 40), st.integers(1, 61))
def test_blocks_by_edges(degrees, size, summed):
    degrees = np.array(degrees, np.int64)
    found = blocks_by_edges(degrees, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "SUMMED", summed)
        assert np.array_equal(blocks_by_edges(degrees, size), found)
    assert found[0] == 0 and found[-1] == len(degrees)
    if size == 0 or not len(degrees):
        assert len(found) == 2
        return
    edges = np.array([degrees[lo:hi].sum() for lo, hi in zip(found[:-1], found[1:], strict=True)])
    assert (np.diff(found) > 0).all() and edges.sum() == degrees.sum()
    # Each block ends with the vertex that reaches the next multiple of the size.
    assert (abs(np.cumsum(edges)[:-1] % size) < 9).all() and edges.max() <= size + degrees.max()
    assert len(edges) <= max(1, -(-degrees.sum() // size) + 1)


@checked
@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 5))
def test_rounds_share_out_the_tiles(rows, across, rounds):
    parts = [columns_of_round(key(3), across, r, rounds) for r in range(rounds)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(across))
    for row_bytes in ((1, 1), (LAST_LEVEL_BYTES, 1), (1, LAST_LEVEL_BYTES)):
        walked = [
            tile_order(key(0), 0, rows * across, across, row_bytes, columns)[0] for columns in parts
        ]
        assert sorted(np.concatenate(walked).tolist()) == list(range(rows * across))
        assert all(
            set((tiles % across).tolist()) <= set(columns.tolist())
            for tiles, columns in zip(walked, parts, strict=True)
        )


def test_a_field_in_the_order_of_a_walk():
    none, calls = np.empty(0, np.int32), []

    def number():
        calls.append(1)
        return np.array([2, 0, 1])

    walk = Layout(none, none, number, np.array([0, 3]), np.array([0, 1]))
    assert not walk.is_own and not calls
    column = walk.reorder({"value": np.array([5.0, 6.0, 7.0])})["value"]
    assert column.tolist() == [7, 5, 6] and not column.flags.writeable
    assert walk.reorder({"value": column})["value"] is column and len(calls) == 1  # it is kept
    assert walk.index.tolist() == [2, 0, 1]
    own = Layout.of_vertices(2)
    assert own.is_own and own.index == () and own.reorder({"value": column})["value"] is column
