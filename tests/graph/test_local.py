"""A graph in one part: orders of rows, held-out vertices, and edges whose fields stay theirs in
every layout.
"""

import numpy as np
import pytest
from numba import typeof
from support.programs.programs import random_pairs

from tux import Edge, Program, Vertex, data, mirror, uniform, value
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import DataError, ProgramError
from tux.graph import sorting
from tux.graph.local import LocalGraph, LocalVertices


class CodedEdges(Program):
    """A data field whose value tells which edge it belongs to."""

    user = Vertex(x=value())
    item = Vertex(x=value())
    link = Edge("user", "item", code=data("i8"), count=mirror("i4", 2, init=7))


LEFT, RIGHT = random_pairs(20, 15, 80, seed=1)
CODES = 1000 * LEFT + RIGHT
TRAIN = from_arrays(LEFT, RIGHT, ends=("user", "item"), code=CODES)
TEST = EdgeData.of(
    ("user", "item"),
    [0, 77, 55],
    [99, 0, 99],
    {"code": np.array([99, 77000, 55099])},
    against=TRAIN.ids,
)


def codes(graph, src, dst):
    """Return the values that the data field of edges between these rows should hold, from the ids
    of the rows.
    """
    user, item = graph.vertices["user"], graph.vertices["item"]
    return 1000 * user.ids.decode(user.order[src]) + item.ids.decode(item.order[dst])


def test_order_is_seeded_by_type_and_repeats():
    same = [
        LocalVertices.in_seeded_order("user", 0, TRAIN.ids["user"], 20, 1).order for _ in range(2)
    ]
    others = [
        LocalVertices.in_seeded_order("user", side, TRAIN.ids["user"], 20, seed).order
        for side, seed in ((0, 2), (1, 1))
    ]
    assert np.array_equal(*same) and all(not np.array_equal(same[0], other) for other in others)


def test_rows_and_indices_are_each_others_inverse():
    vertices = LocalVertices.in_seeded_order("user", 0, TEST.ids["user"], 20, 0)
    assert len(vertices) == 22 and vertices.n_train == 20
    assert (
        np.array_equal(vertices.order[vertices.row_of], np.arange(22))
        and vertices.row_of.dtype == np.int32
    )


def test_held_out_vertices_come_after_the_known_ones():
    graph, bare = (
        LocalGraph.whole(CodedEdges(), TRAIN, TEST, 3),
        LocalGraph.whole(CodedEdges(), TRAIN, None, 3),
    )
    for name in ("user", "item"):
        known = graph.vertices[name].n_train
        assert known == len(TRAIN.ids[name]) == len(bare.vertices[name])
        assert np.array_equal(graph.vertices[name].order[:known], bare.vertices[name].order)
        assert graph.vertices[name].order[known:].tolist() == list(
            range(known, len(TEST.ids[name]))
        )


def test_fields_start_as_the_file_or_their_constant_says():
    edges = LocalGraph.whole(CodedEdges(), TRAIN, None, 0).edges
    assert (
        len(edges) == 80
        and edges.fields["count"].shape == (80, 2)
        and (edges.fields["count"] == 7).all()
    )
    assert edges.fields["code"][:].tolist() == CODES.tolist()


def check_layout(graph, edges, layout):
    """Assert that edge i's fields are found at index[i], whatever order a layout has."""
    at = np.arange(len(edges)) if isinstance(layout.index, tuple) else layout.index
    assert np.array_equal(codes(graph, *layout.ends()), edges.fields["code"][at])
    assert np.array_equal(np.sort(at), np.arange(len(edges)))


def test_every_layout_finds_its_fields():
    graph = LocalGraph.whole(CodedEdges(), TRAIN, TEST, 0)
    edges = graph.edges
    first = edges.walk_tiled("item", np.array([0, 4, 15]), 20, (8, 8))
    assert (
        first.index == ()
        and first.src is edges.ends[0].offsets
        and not np.array_equal(edges.fields["code"], CODES)
    )
    layouts = [
        first,
        edges.walk_grouped("user", 22),
        edges.walk_grouped("item", 16),
        edges.walk_given(),
    ]
    layouts.append(edges.walk_tiled("user", np.array([0, 20]), 15, (8, 8)))
    for layout in layouts:
        check_layout(graph, edges, layout)


def test_a_fork_compiles_the_loop_that_tiles_call(monkeypatch):
    """Its arguments have the same types, in the edges' own order and in another one."""
    beside, called, places = set(), set(), sorting._places

    def note_fork(forks, function, *arguments):
        beside.add(tuple(map(typeof, arguments)))

    def note_call(*arguments):
        called.add(tuple(map(typeof, arguments)))
        places(*arguments)

    monkeypatch.setattr(sorting, "compile_beside", note_fork)
    monkeypatch.setattr(sorting, "_places", note_call)
    edges = LocalGraph.whole(CodedEdges(), TRAIN, TEST, 0).edges
    edges.walk_tiled("item", np.array([0, 4, 15]), 20, (8, 8))
    assert len(edges.walk_tiled("user", np.array([0, 20]), 15, (8, 8)).index) == 80
    assert beside == called and len(called) == 1


def test_grouped_layout():
    edges = LocalGraph.whole(CodedEdges(), TRAIN, TEST, 0).edges
    layout = edges.walk_grouped("user", 22)
    groups = np.repeat(np.arange(22), np.diff(layout.bounds))
    assert np.array_equal(layout.ends()[0], groups) and layout.bounds[20] == layout.bounds[22] == 80
    assert edges.walk_grouped("user", 22) is layout


def test_grouped_edges_store_the_other_end_alone():
    edges = LocalGraph.whole(CodedEdges(), TRAIN, TEST, 0).edges
    users, items = edges.walk_grouped("user", 22, narrow=True), edges.walk_grouped("item", 16)
    assert len(users.src) == 0 and users.dst.dtype == np.uint16
    assert len(items.dst) == 0 and items.src.dtype == np.int32
    small = sum(each.bounds.nbytes for each in (users, items))
    held = edges.memory()
    assert held == (80, 80 * (2 + 4 + 1 + 8) + small, 0, 0)  # ends, a code, and two numbers
    assert len(items.index) == 80  # computed now, and kept
    assert edges.memory().bytes == held.bytes + 4 * 80


def test_tiled_blocks_are_the_ranges_between_the_cuts():
    edges = LocalGraph.whole(CodedEdges(), TRAIN, None, 0).edges
    cuts = np.array([0, 4, 9, 15])
    layout = edges.walk_tiled("item", cuts, 20, (8, 8))
    items = layout.ends()[1]
    for block in range(3):
        lo, hi = layout.bounds[layout.blocks[block : block + 2]]
        assert ((cuts[block] <= items[lo:hi]) & (items[lo:hi] < cuts[block + 1])).all()
    assert layout.blocks[0] == 0 and layout.blocks[-1] == len(layout.bounds) - 1


def test_fixed_edges_stay_in_the_order_given():
    graph = LocalGraph.whole(CodedEdges(), TRAIN, TEST, 0)
    held = graph.held_out
    before = held.src.copy()
    layouts = [
        held.walk_tiled("item", np.array([0, 16]), 22, (8, 8)),
        held.walk_grouped("user", 22),
        held.walk_given(),
    ]
    assert held.fields["code"][:].tolist() == [99, 77000, 55099] and np.array_equal(
        held.src, before
    )
    for layout in layouts:
        check_layout(graph, held, layout)


def test_no_held_out_edges():
    held = LocalGraph.whole(CodedEdges(), TRAIN, None, 0).held_out
    assert len(held) == 0 and held.fields["count"].shape == (0, 2)
    assert (
        held.walk_tiled("user", np.array([0, 20]), 15, (8, 8)).bounds[-1]
        == 0
        == held.walk_grouped("item", 15).bounds[-1]
    )


def test_ends_and_others():
    edges = LocalGraph.whole(CodedEdges(), TRAIN, None, 0).edges
    assert edges.end("user") is edges.src and edges.end("item") is edges.dst
    assert edges.other("user") == "item" and edges.other("item") == "user"


@pytest.mark.parametrize(
    "given", [np.arange(2, dtype="f8"), np.arange(2, dtype="i4"), np.array([True, False])]
)
def test_data_fields_have_their_declared_dtype(given):
    graph = LocalGraph.whole(
        CodedEdges(), from_arrays([1, 2], [1, 2], ends=("user", "item"), code=given), None, 0
    )
    assert graph.edges.fields["code"].dtype == np.int64


def test_data_that_do_not_fit_the_program_are_refused():
    with pytest.raises(DataError, match="code"):
        LocalGraph.whole(CodedEdges(), from_arrays([1], [1], ends=("user", "item")), None, 0)
    with pytest.raises(DataError, match="page.*user|user.*page"):
        LocalGraph.whole(
            CodedEdges(), from_arrays([1], [1], ends=("page", "page"), code=[1]), None, 0
        )


def test_edge_fields_with_random_initial_values_are_refused():
    class Random(Program):
        user, item = Vertex(), Vertex()
        link = Edge("user", "item", w=mirror(init=uniform()))

    with pytest.raises(ProgramError, match="w"):
        LocalGraph.whole(Random(), TRAIN, None, 0)
