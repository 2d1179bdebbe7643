"""Orders of edges that are kept in a partitioned folder: mapped by the next worker, which has the
same edges in the same order as one that sorts them.
"""

import fcntl
import gc
import os
import shutil

import numpy as np
import pytest
from support.machines.team import cut_up
from support.programs.programs import random_pairs
from support.programs.typed_programs import SocialShop, shop_edges

from tux import Edge, Program, Vertex, data, mirror, value
from tux.arrays import disk_columns
from tux.arrays.byte_codes import ByteCodes
from tux.arrays.disk_columns import file_of, limited_memory
from tux.arrays.networks import from_arrays
from tux.base.disk import temporary_path
from tux.base.errors import DiskError
from tux.graph import store
from tux.graph.local import LocalGraph
from tux.graph.sorting import Sorting


class Marked(Program):
    """A field of few values, one of a single value, one of many, and one that changes."""

    user = Vertex(x=value())
    item = Vertex(x=value())
    link = Edge(
        "user",
        "item",
        few=data("i4"),
        one=data("f4"),
        many=data("f8"),
        count=mirror("i4", init=7),
    )


class Fewer(Program):
    """Some of the columns, one of another type."""

    user = Vertex(x=value())
    item = Vertex(x=value())
    link = Edge("user", "item", few=data("f4"), many=data("f8"))


class Repeated(Program):
    """Edges that are there several times."""

    user = Vertex(x=value())
    item = Vertex(x=value())
    link = Edge("user", "item", repeats="few", one=data("f4"), many=data("f8"))


M = 2_000
LEFT, RIGHT = random_pairs(90, 60, M, seed=1)
COLUMNS = {
    "few": np.arange(M, dtype=np.int32) % 4,
    "one": np.full(M, 0.5, np.float32),
    "many": np.random.default_rng(0).random(M),
}
EDGES = from_arrays(LEFT, RIGHT, ends=("user", "item"), **COLUMNS)
WALKS = {
    "tiled": lambda edges, n: edges.walk_tiled("item", np.array([0, 20, n[1]]), n[0], (80, 80)),
    "grouped": lambda edges, n: edges.walk_grouped("user", n[0], narrow=True),
    "wide": lambda edges, n: edges.walk_grouped("item", n[1]),
    "cells": lambda edges, n: edges.walk_cells("item", n[1], n[0], 3, narrow=True),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a partitioned folder; arrays of edges that are made lie on disk."""
    folder = tmp_path / "folder"
    folder.mkdir()
    store.save(folder, cut_up(EDGES, k=2), EDGES.ends)
    monkeypatch.setattr("tux.arrays.disk_columns.LARGE", 1)
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.0)
    with limited_memory(tmp_path, 1 << 40):
        yield folder


def load(folder, program, rank=0, *, keeps=True):
    """Return the edges of a worker, and how many rows either end has."""
    part = store.load(folder, rank)
    graph = LocalGraph.of(program(), part, folder / f"part-{rank}" if keeps else None)
    return graph.edges, [len(graph.vertices[name]) for name in ("user", "item")]


def lay_out(folder, walk="tiled", program=Marked, rank=0, *, keeps=True):
    """Return the edges of a worker that has laid them out."""
    edges, rows = load(folder, program, rank, keeps=keeps)
    WALKS[walk](edges, rows)
    return edges


def arrays_of(edges):
    """Return all arrays of edges and of their first layout, by name."""
    layout = next(iter(edges.layouts.values()))
    out = {"src": edges.src, "dst": edges.dst, "bounds": layout.bounds, "blocks": layout.blocks}
    out |= {f"layout.{side}": rows for side, rows in enumerate(layout.ends())}
    return out | {name: column[:] for name, column in edges.fields.items()}


def assert_equal(found, expected):
    """Assert that two workers hold the same edges in the same order."""
    one, other = arrays_of(found), arrays_of(expected)
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name])
    for name, column in expected.fields.items():
        assert isinstance(column, ByteCodes) == isinstance(found.fields[name], ByteCodes)


def kept_files(folder, rank=0, kind="order"):
    """Return the content of the files of a kept order, by name."""
    order = folder / f"part-{rank}" / kind
    return {path.name: path.read_bytes() for path in order.glob("*")}


@pytest.fixture
def never_sort(monkeypatch):
    """Return a function from whose call on no edges are sorted or coded."""

    def refuse(*_):
        raise AssertionError("edges are laid out anew")

    def begin():
        monkeypatch.setattr(Sorting, "__init__", refuse)
        monkeypatch.setattr("tux.graph.edges_as_rows.code_column", refuse)

    return begin


@pytest.mark.parametrize("program", [Marked, Repeated])
@pytest.mark.parametrize("walk", WALKS)
def test_the_next_worker_maps_the_order(folder, walk, program, never_sort):
    expected = lay_out(folder, walk, program, keeps=False)
    assert_equal(lay_out(folder, walk, program), expected)
    before = kept_files(folder)
    never_sort()
    found = lay_out(folder, walk, program)
    assert_equal(found, expected)
    assert kept_files(folder) == before and not kept_files(folder, 1)
    assert len(found) == len(expected) and found.memory().bytes == expected.memory().bytes


def test_kept_arrays_are_mapped_and_cannot_be_written(folder):
    for _ in range(2):
        edges = lay_out(folder)
        layout = next(iter(edges.layouts.values()))
        arrays = [layout.src, layout.dst, edges.fields["few"].codes, edges.fields["many"]]
        for array in arrays:
            assert file_of(array).kept and not array.flags.writeable
        assert edges.fields["one"].codes is None
        memory = edges.memory()
        assert memory.kept == sum(each.nbytes for each in arrays)
        assert memory.on_disk == memory.kept + edges.fields["count"].nbytes  # which changes
        assert "MB of these kept" in str(memory._replace(kept=10**7))


def test_the_files_of_the_worker_itself_are_gone_once_they_are_kept(folder):
    edges = lay_out(folder)
    gc.collect()
    own = [each for each in disk_columns._disk[-1]._files if not each.kept]
    assert own == [file_of(edges.fields["count"])]


def test_fields_that_change_begin_anew(folder):
    lay_out(folder).fields["count"][:] = 3
    count = lay_out(folder).fields["count"]
    assert (count == 7).all() and count.flags.writeable


def test_a_second_layout_is_made_of_the_kept_order(folder):
    first, expected = lay_out(folder), lay_out(folder, keeps=False)
    found = lay_out(folder)
    for edges in (first, found, expected):
        WALKS["grouped"](edges, load(folder, Marked)[1])
    for edges in (first, found):
        one, other = (list(each.layouts.values())[1] for each in (edges, expected))
        assert np.array_equal(one.index, other.index)
        assert all(map(np.array_equal, one.ends(), other.ends()))


@pytest.mark.parametrize(
    ("walk", "program"), [("grouped", Marked), ("tiled", Fewer), ("tiled", Repeated)]
)
def test_another_order_replaces_it(folder, walk, program, never_sort):
    earlier = lay_out(folder)
    before = kept_files(folder)
    assert_equal(lay_out(folder, walk, program), lay_out(folder, walk, program, keeps=False))
    assert kept_files(folder) != before
    assert_equal(earlier, lay_out(folder, keeps=False))  # it has the files that were replaced
    assert sorted(path.name for path in (folder / "part-0").iterdir() if path.is_dir()) == ["order"]
    never_sort()
    lay_out(folder, walk, program)


def test_other_cuts_are_another_order(folder):
    lay_out(folder)
    edges, expected = (load(folder, Marked, keeps=keeps) for keeps in (True, False))
    for each, rows in (edges, expected):
        each.walk_tiled("item", np.array([0, rows[1]]), rows[0], (80, 80))
    assert_equal(edges[0], expected[0])


def test_each_part_has_its_order(folder, never_sort):
    expected = [lay_out(folder, rank=rank, keeps=False) for rank in range(2)]
    for rank in range(2):
        lay_out(folder, rank=rank)
    assert kept_files(folder) != kept_files(folder, 1)
    never_sort()
    for rank in range(2):
        assert_equal(lay_out(folder, rank=rank), expected[rank])


def test_the_order_of_another_part_is_not_taken(folder):
    lay_out(folder)
    shutil.copytree(folder / "part-0" / "order", folder / "part-1" / "order")
    assert_equal(lay_out(folder, rank=1), lay_out(folder, rank=1, keeps=False))


def test_edges_of_each_type_have_their_order(tmp_path, folder, never_sort):
    edges, cut, found = shop_edges(), tmp_path / "shop", []
    cut.mkdir()
    store.save(cut, cut_up(edges, k=1, by=np.zeros(130)), edges.ends)
    for keeps in (False, True, True):
        graph = LocalGraph.of(SocialShop(), store.load(cut, 0), cut / "part-0" if keeps else None)
        found.append([graph.edges, *graph.others.values()])
        for each in found[-1]:
            each.walk_grouped(each.declared.roles[0], len(graph.vertices[each.declared.ends[0]]))
        if len(found) == 2:
            never_sort()
    kinds = ["order", "order.friend", "order.tagged"]
    assert sorted(path.name for path in (cut / "part-0").iterdir() if path.is_dir()) == kinds
    for expected, *others in zip(*found, strict=True):
        for each in others:
            assert_equal(each, expected)


def test_edges_that_have_changed_are_sorted_anew(folder):
    lay_out(folder)
    np.save(folder / "part-0" / "fields.few.npy", np.load(folder / "part-0" / "fields.few.npy") + 1)
    assert_equal(lay_out(folder), lay_out(folder, keeps=False))


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 100), os.unlink])
def test_damaged_files_are_made_again(folder, damage):
    expected = lay_out(folder, keeps=False)
    lay_out(folder)
    whole = kept_files(folder)
    for name in whole:
        damage(folder / "part-0" / "order" / name)
        assert_equal(lay_out(folder), expected)
        assert kept_files(folder) == whole


@pytest.mark.parametrize(
    ("walk", "name", "value"),
    [
        ("tiled", "src", 60_000),
        ("tiled", "first.1", -5),
        ("tiled", "bounds", 1_500),
        ("tiled", "blocks", 10_000),
        ("tiled", "fields.few.codes", 4),
        ("wide", "src", -1),
        ("cells", "bounds", -1),
        ("grouped", "dst", 60),
    ],
)
def test_numbers_that_are_out_of_range_are_not_used(folder, walk, name, value):
    expected = lay_out(folder, walk, keeps=False)
    lay_out(folder, walk)
    whole, path = kept_files(folder), folder / "part-0" / "order" / f"{name}.npy"
    array = np.load(path)
    array[1] = value
    np.save(path, array)
    assert_equal(lay_out(folder, walk), expected)
    assert kept_files(folder) == whole


def test_numbers_that_have_changed_within_their_range_are_not_used(folder):
    expected = lay_out(folder, keeps=False)
    lay_out(folder)
    whole, path = kept_files(folder), folder / "part-0" / "order" / "fields.few.codes.npy"
    array = np.load(path)
    array[:] = array[::-1].copy()
    np.save(path, array)
    assert kept_files(folder) != whole
    assert_equal(lay_out(folder), expected)
    assert kept_files(folder) == whole


def test_what_is_no_manifest_is_replaced(folder):
    lay_out(folder)
    whole = kept_files(folder)
    for content in (b"", b"[]", b"\xff", whole["manifest.json"].replace(b'"src":', b'"dst":')):
        (folder / "part-0" / "order" / "manifest.json").write_bytes(content)
        lay_out(folder)
        assert kept_files(folder) == whole


def test_edges_in_memory_are_not_kept(folder, monkeypatch):
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.5)
    lay_out(folder)
    assert not kept_files(folder)


def test_without_room_the_worker_goes_on(folder, monkeypatch):
    expected = lay_out(folder, keeps=False)

    def fail(*_):
        raise DiskError("full")

    monkeypatch.setattr("tux.graph.kept_order.write_npy", fail)
    assert_equal(lay_out(folder), expected)
    monkeypatch.setattr("tux.graph.kept_order.ROOM", 1 << 50)
    monkeypatch.setattr("tux.graph.kept_order.write_npy", None)  # not called
    assert_equal(lay_out(folder), expected)
    assert not [path for path in (folder / "part-0").iterdir() if path.is_dir()]


def test_a_folder_that_another_run_puts_there_meanwhile(folder, monkeypatch):
    expected = lay_out(folder, keeps=False)
    order = folder / "part-0" / "order"

    def write(path, array):
        np.save(path, array)
        order.mkdir(exist_ok=True)
        (order / "other").touch()

    rename = type(order).rename
    monkeypatch.setattr("tux.graph.kept_order.write_npy", write)
    monkeypatch.setattr(
        type(order), "rename", lambda path, to: None if path == order else rename(path, to)
    )
    edges = lay_out(folder)
    assert_equal(edges, expected)
    assert edges.memory().kept == 0 and [*kept_files(folder)] == ["other"]


def test_what_killed_runs_have_left_is_removed(folder):
    order = folder / "part-0" / "order"
    left, written, other = (temporary_path(order) for _ in range(3))
    other = other.with_name(".mine")
    for each in (left, written, other):
        each.mkdir()
    lock = os.open(written, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # as a run that writes it
    try:
        lay_out(folder)
    finally:
        os.close(lock)
    there = {path for path in (folder / "part-0").iterdir() if path.is_dir()}
    assert there == {order, written, other}
