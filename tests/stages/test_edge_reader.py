"""The reader of edges on disk, beside a kernel."""

import numpy as np
import pytest

from tux.arrays.disk_columns import limited_memory, span_of, store_column
from tux.arrays.mapped_files import MappedFile
from tux.graph.layout import Layout
from tux.rows.turns import NEXT, STRIDE, new_turns
from tux.stages.kernel.edge_reader import EdgeReader
from tux.stages.kernel.tickets import Items, even_items, ranges

EDGES = 100_000
MOST = 1 << 40


@pytest.fixture
def calls(monkeypatch):
    """Collect what is read ahead and given back."""
    done = {"read_ahead": [], "give_back": []}
    for name, each in done.items():
        monkeypatch.setattr(
            MappedFile, name, lambda file, begin, end, each=each: each.append((begin, end))
        )
    return done


@pytest.fixture
def column(monkeypatch, tmp_path):
    """Make a column of 4 bytes an edge on disk."""
    monkeypatch.setattr("tux.arrays.disk_columns.LARGE", 1)
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.0)
    with limited_memory(tmp_path, MOST):
        yield store_column(np.arange(EDGES, dtype=np.int32))


def reader_of(column, bounds, room, monkeypatch):
    """Make a reader that has `room` bytes of memory."""
    share = min(room / column.nbytes, 1)
    monkeypatch.setattr("tux.stages.kernel.edge_reader.share_in_memory", lambda files: share)
    layout = Layout(column[:0], column, None, bounds, np.arange(len(bounds)), grouped=0)
    return EdgeReader([column], layout, 1)


def run_all(items, turns):
    """Take all items as a kernel does."""
    turns[NEXT * STRIDE] = len(items.runs)


def mark_bytes(spans):
    """Return a mask of the bytes that are within some of the spans."""
    mask = np.zeros(4 * EDGES, bool)
    for begin, end in spans:
        mask[begin:end] = True
    return mask


def test_edges_are_read_in_the_order_of_items_and_given_back(column, calls, monkeypatch):
    reader = reader_of(column, np.array([0, EDGES]), 0, monkeypatch)
    lo = np.array([60_000, 0, 30_000])
    items, turns = Items(ranges(lo, lo + 10_000), of_edges=True), new_turns(0, 0)
    with reader.follow(items, turns):
        while len(calls["read_ahead"]) < 3:
            pass  # all are read before the kernel has begun: they are few
        run_all(items, turns)
    spans = [span_of(column, first, first + 10_000) for first in lo]
    assert calls["read_ahead"] == spans and calls["give_back"] == spans


def test_items_of_rows_are_those_of_their_edges(column, calls, monkeypatch):
    bounds = np.arange(0, EDGES + 1, 100)
    reader = reader_of(column, bounds, 0, monkeypatch)
    items, turns = Items(even_items(0, 1_000, bounds), edges=EDGES), new_turns(0, 0)
    with reader.follow(items, turns):
        while not mark_bytes(calls["read_ahead"]).all():
            pass
        run_all(items, turns)
    assert mark_bytes(calls["give_back"]).all()


def test_no_more_is_read_ahead_than_fits(column, calls, monkeypatch):
    monkeypatch.setattr("tux.stages.kernel.edge_reader.AHEAD", 40_000)
    reader = reader_of(column, np.array([0, EDGES]), 0, monkeypatch)
    lo = np.arange(0, EDGES, 10_000)
    items, turns = Items(ranges(lo, lo + 10_000), of_edges=True), new_turns(0, 0)
    with reader.follow(items, turns):
        while not calls["read_ahead"]:
            pass
        assert len(calls["read_ahead"]) == 1 and not calls["give_back"]
        turns[NEXT * STRIDE] = 4  # item 3 is under way
        while not (len(calls["read_ahead"]) > 1 and len(calls["give_back"]) > 1):
            pass
        assert [end for _, end in calls["read_ahead"]] == [40_000, 160_000]
        assert [end for _, end in calls["give_back"]] == [40_000, 80_000]  # not those under way


def test_edges_that_fit_stay_in_memory(column, calls, monkeypatch):
    monkeypatch.setattr("tux.stages.kernel.edge_reader.AHEAD", 1_000)
    items, turns = Items(ranges(np.array([0]), np.array([EDGES])), of_edges=True), new_turns(0, 0)
    run_all(items, turns)
    with reader_of(column, np.array([0, EDGES]), 4 * EDGES, monkeypatch).follow(items, turns):
        pass
    assert not calls["read_ahead"] and not calls["give_back"]  # all fit
    some = reader_of(column, np.array([0, EDGES]), 202_000, monkeypatch)
    with some.follow(items, turns):
        while not calls["read_ahead"]:
            pass
    assert mark_bytes(calls["read_ahead"]).all()  # the system may have taken what stays
    assert [begin for begin, _ in calls["give_back"]] == [200_000]  # the first half stays


def test_what_stays_depends_on_the_memory_that_is_left_when_a_kernel_begins(
    tmp_path, monkeypatch, calls
):
    taken = [0]
    monkeypatch.setattr("tux.arrays.disk_columns.LARGE", 1)
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.0)
    monkeypatch.setattr("tux.arrays.disk_columns.KEPT", 1.0)
    monkeypatch.setattr("tux.arrays.disk_columns.anonymous", lambda: taken[0])
    monkeypatch.setattr("tux.stages.kernel.edge_reader.AHEAD", 1)
    with limited_memory(tmp_path, 1 << 30):
        column = store_column(np.arange(EDGES, dtype=np.int32))
        bounds = np.array([0, EDGES])
        layout = Layout(column[:0], column, None, bounds, np.arange(2), grouped=0)
        reader = EdgeReader([column], layout, 1)
        for left, first in ((1 << 20, None), (100_000, 100_000), (0, 0), (300_000, 300_000)):
            taken[0] = (1 << 30) - left
            calls["give_back"].clear()
            calls["read_ahead"].clear()
            items, turns = Items(ranges(bounds[:1], bounds[1:]), of_edges=True), new_turns(0, 0)
            run_all(items, turns)
            with reader.follow(items, turns):
                while first is not None and not calls["read_ahead"]:
                    pass
            assert [begin for begin, _ in calls["give_back"]] == ([] if first is None else [first])
    assert all(begin >= 200_000 for begin, _ in calls["give_back"])


def test_tiles_beside_are_read_and_given_back_with_their_items(column, calls, monkeypatch):
    """Of the second item the tile beside is its own: it is read once."""
    reader = reader_of(column, np.array([0, EDGES]), 0, monkeypatch)
    lo, there, visited = np.array([20_000, 70_000]), np.array([50_000, 70_000]), [5_000, 0]
    beside = np.zeros((2, 8), np.int64)
    beside[:, 0], beside[:, 1], beside[:, 3] = there, there + [5_000, 10_000], visited
    items = Items(ranges(lo, lo + 10_000), of_edges=True, beside=beside)
    turns = new_turns(0, 0)
    expected = mark_bytes(
        span_of(column, first, last)
        for first, last in ((20_000, 30_000), (50_000, 55_000), (70_000, 80_000))
    )
    with reader.follow(items, turns):
        while len(calls["read_ahead"]) < 3:
            pass
        run_all(items, turns)
    for spans in calls.values():
        assert len(spans) == 3 and (mark_bytes(spans) == expected).all()
