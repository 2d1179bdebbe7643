"""The counting sort of edges: the same order, whatever the number of threads and the types."""

import numpy as np
import pytest

from tux.arrays.disk_columns import limited_memory, store_column
from tux.arrays.pieced import ArrayPieces
from tux.graph import sorting
from tux.graph.layout import sort_by_tiles
from tux.graph.sorting import RANGES, InnerSorting, Sorting, count_keys, cut_keys


@pytest.fixture(params=[1, 2, 3, 8])
def threads(request, monkeypatch):
    """Use so many threads, and pieces so small that all have some."""
    monkeypatch.setattr("tux.base.parallel._chosen", [request.param])
    monkeypatch.setattr("tux.graph.sorting.ENTRIES_PER_THREAD", 1)
    return request.param


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 1), (7, 9), (1000, 1), (1000, 13), (5003, 700)])
def test_it_is_the_stable_order(threads, m, n):
    rng = np.random.default_rng(m + n)
    keys = rng.integers(0, n, m).astype(np.int32)
    found = Sorting(keys, n)
    order = np.argsort(keys, kind="stable")
    assert found.order().dtype == np.int32 and np.array_equal(found.order(), order)
    assert found.bounds.tolist() == [0, *np.cumsum(np.bincount(keys, minlength=n))]
    assert np.array_equal(count_keys(keys, n), np.bincount(keys, minlength=n))
    assert count_keys(keys, n).dtype == np.int64
    for dtype in ("f4", "f8", "i4", "u1", "?", "i2"):
        column = rng.integers(0, 100, m).astype(dtype)
        moved = found.sort_column(column)
        assert moved.dtype == column.dtype and np.array_equal(moved, column[order])
    wide = rng.random((m, 3), np.float32)
    assert np.array_equal(found.sort_column(wide), wide[order])
    assert np.array_equal(
        found.sort_column(wide[:, 1]), wide[order, 1]
    )  # a column that is not in line


def test_as_many_pieces_as_threads_and_as_counts_have_room(threads):
    pieces = lambda m, n: len(Sorting(np.zeros(m, np.int32), n)._pieces)  # noqa: E731
    assert pieces(1000, 10) == threads
    assert pieces(1000, 200) == 1 and pieces(1000, 120) == min(threads, 2)


def test_tiles_do_not_depend_on_threads(threads, monkeypatch):
    monkeypatch.setattr("tux.graph.layout.slices", lambda n: [slice(0, n // 3), slice(n // 3, n)])
    rng = np.random.default_rng(1)
    over, other = (rng.integers(0, n, 2000).astype(np.int32) for n in (50, 40))
    found = sort_by_tiles(over, other, np.array([0, 20, 50]), np.array([0, 5, 30, 40]))
    tile = (over >= 20) * 3 + (other >= 5) + (other >= 30)
    assert np.array_equal(found.order(), np.argsort(tile, kind="stable"))


def test_what_may_not_be_written_is_sorted_too():
    keys, column = np.array([2, 0, 1], np.int32), np.array([1.0, 2.0, 3.0])
    keys.flags.writeable = column.flags.writeable = False
    moved = Sorting(keys, 3).sort_column(column)
    assert moved.tolist() == [2.0, 3.0, 1.0] and moved.flags.writeable


@pytest.mark.parametrize("far", [1, 1000])  # keys side by side, and keys that are compared
@pytest.mark.parametrize("width", [1, 3])
def test_the_order_within_groups_is_stable(threads, monkeypatch, far, width):
    monkeypatch.setattr(sorting, "ENTRIES", 50)
    rng = np.random.default_rng(5)
    keys = (rng.integers(0, 9, 300) * far).astype(np.int32)
    bounds = np.array([0, 0, 1, 40, 40, 220, 300, 300])
    expected = np.concatenate(
        [
            lo + np.argsort(keys[lo:hi] // width, kind="stable")
            for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
        ]
    )
    kinds = ("i8", "f4", "u1", "?", "i2", "S3")
    columns = [np.arange(300).astype(kind) for kind in kinds]
    columns += [np.arange(600.0).reshape(300, 2), keys, rng.random(300)]
    wanted = [column[expected] for column in columns]
    InnerSorting(keys, width, bounds).arrange(*columns)
    assert all(np.array_equal(*pair) for pair in zip(columns, wanted, strict=True))


def test_a_row_in_pieces_is_sorted_as_a_whole_one(threads):
    rng = np.random.default_rng(threads)
    keys, column = rng.integers(0, 7, 100).astype(np.int16), rng.random(100).astype(np.float32)
    found = Sorting(keys, 7)
    row = ArrayPieces(column.dtype, 100, [column[:30], column[30:30], column[30:]])
    assert np.array_equal(found.sort_pieces(row), found.sort_column(column))


@pytest.mark.parametrize("kind", ["random", "one key", "hubs"])
@pytest.mark.parametrize("left", [1, 24 * 100, 24 * 1_000, 1 << 40])
def test_columns_on_disk_are_sorted_range_by_range(threads, left, kind, tmp_path, monkeypatch):
    rng, n = np.random.default_rng(0), 700
    keys = {
        "random": lambda: rng.integers(0, n, 3_000),
        "one key": lambda: np.full(3_000, 300),
        "hubs": lambda: rng.choice(
            [2, 3, 690, *range(100, 200)], 3_000, p=[0.3] * 3 + [0.001] * 100
        ),
    }[kind]().astype(np.int32)
    expected = np.argsort(keys, kind="stable")
    monkeypatch.setattr("tux.arrays.disk_columns.LARGE", 1)
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.0)
    monkeypatch.setattr("tux.graph.sorting.memory_left", lambda: left)
    with limited_memory(tmp_path, 1 << 40):
        found = Sorting(store_column(keys), n)
        for dtype in ("f4", "f8", "u1", "i2"):
            column = rng.integers(0, 100, 3_000).astype(dtype)
            assert np.array_equal(found.sort_column(column), column[expected])
        assert np.array_equal(found.order(), expected)
        wide = rng.random((3_000, 2))
        assert np.array_equal(found.sort_column(wide), wide[expected])
        row = ArrayPieces(column.dtype, 3_000, [column[:700], column[700:]])
        assert np.array_equal(found.sort_pieces(row), column[expected])


def test_ranges_have_as_many_entries_as_fit(monkeypatch):
    monkeypatch.setattr("tux.base.parallel._chosen", [1])
    bounds = np.concatenate([[0], np.cumsum(np.random.default_rng(0).integers(0, 100, 1_000))])
    for left, most in ((0, None), (2 * 24 * 2_000, 2_000), (1 << 40, 1 << 40)):
        monkeypatch.setattr("tux.graph.sorting.memory_left", lambda left=left: left)
        cuts = cut_keys(bounds)
        sizes = np.diff(bounds[cuts])
        assert cuts[0] == 0 and cuts[-1] == 1_000 and len(sizes) <= RANGES
        assert most is None or sizes.max() <= most
    assert len(cut_keys(bounds[: RANGES + 1])) == 1  # few keys need no ranges
