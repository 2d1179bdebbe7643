"""State that differs in length from vertex to vertex, edges that a row stands for several of,
and types that must stay whole.
"""

import numpy as np
import pytest
from numba import njit
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both, column, drive, start

from tux import Edge, Program, Vertex, delta, mirror, param, shared
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, ProgramError
from tux.rows.edge_slice import compiled_edges
from tux.rows.table import RowSpec
from tux.stages import Apply, Exchange, ForEach, MiniBatch

# bag 0: 2 x word 0, 1 x word 1; bag 1: nothing of word 1 (0 times); bag 2: 3 x word 1, 1 x word 2
BAGS = EdgeData.of(
    ("bag", "word"),
    [0, 0, 1, 2, 2],
    [0, 1, 1, 1, 2],
    {"count": np.array([2, 1, 0, 3, 1], np.int32)},
)


class RaggedBags(Program):
    """Each bag lists what its words have counted at each occurrence, in the order in which they
    come; a pass begins anew.
    """

    scale: int = param(1)
    bag = Vertex(
        whole=True, held=mirror("i4", "edges"), size=mirror("i4"), weight=mirror("f4", "edges")
    )
    word = Vertex(n=shared("i4"), first=delta("i4", combine="max"))
    occurrence = Edge("bag", "word", repeats="count", place=mirror("u2"))

    def stages(self):
        batch = MiniBatch(
            Exchange(fill, over="word", additive=True), Apply("word", keep), vertices=1
        )
        return [ForEach("bag", empty), batch, ForEach("bag", turn)]


def empty(bag):
    bag.size = 0


def keep(word):
    word.n += 0 * word.first


def fill(word, edges, p):
    for edge in edges:
        edge.bag.held[edge.bag.size] = word.n + 7 * p.scale
        edge.bag.weight[edge.bag.size] += 0.5
        edge.place = edge.bag.size
        edge.bag.size += 1
        word.n += 1


def turn(bag):
    for i in range(len(bag.held)):
        bag.weight[i] = -bag.weight[i]


@pytest.mark.slow
@both
def test_as_many_entries_as_edges(jit):
    worker = drive(start(RaggedBags(), BAGS, jit=jit), *RaggedBags().stages())
    assert column(worker, "bag", "size").tolist() == [3, 0, 4] and column(
        worker, "word", "n"
    ).tolist() == [2, 4, 1]
    table, rows = worker.tables["bag"], worker.graph.vertices["bag"].row_of
    lengths = np.diff(table.bounds)
    assert lengths[rows].tolist() == [3, 0, 4] and len(table.arrays["held"]) == 7
    held = [
        table.arrays["held"][table.bounds[row] : table.bounds[row + 1]].tolist() for row in rows
    ]
    assert [len(each) for each in held] == [3, 0, 4] and sorted(held[0] + held[2]) == [
        7,
        7,
        7,
        8,
        8,
        9,
        10,
    ]
    assert (table.arrays["weight"] == -0.5).all()
    assert worker.edges_visited == 7


def test_each_repetition_is_an_edge_of_its_own():
    worker = drive(start(RaggedBags(), BAGS, jit=False), Exchange(fill, over="word"))
    edges = worker.graph.edges
    assert (
        len(edges) == 7
        and "count" not in edges.fields
        and RaggedBags.edge.columns == {"count": "i4"}
    )
    places = sorted(
        (int(row), int(place)) for row, place in zip(edges.src, edges.fields["place"], strict=True)
    )
    assert places == [
        (row, place)
        for row in sorted(set(edges.src.tolist()))
        for place in range((edges.src == row).sum())
    ]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("slack", [0, 2])
def test_many_workers_keep_whole_what_must_be(k, slack):
    rng = np.random.default_rng(0)
    bags, words = np.divmod(np.arange(30 * 8), 8)
    data = EdgeData.of(
        ("bag", "word"), bags, words, {"count": rng.integers(0, 4, 240).astype(np.int32)}
    )
    team = train_team(RaggedBags(), data, 2, k=k, by="source", slack=slack)
    assert (
        team.agrees("word", "n")
        and team.gather("word", "n").sum() == 2 * data.fields["count"].sum()
    )
    assert (
        sum(worker.tables["bag"].arrays["size"].sum() for worker in team.workers)
        == data.fields["count"].sum()
    )


def test_a_cut_through_what_must_be_whole_is_refused():
    with pytest.raises(
        ProgramError, match=r"(?s)bag is cut.*Bags needs each bag whole.*bicut or aweto"
    ):
        train_team(RaggedBags(), BAGS, 1, by=[0, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "no count.*how often"),
        ({"count": np.array([1, -1, 0, 0, 0])}, "-1 times"),
        ({"count": np.array([1, 0.5, 0, 0, 0])}, "0.5 times.*whole"),
    ],
)
def test_what_cannot_be_repeated(fields, words):
    data = EdgeData.of(("bag", "word"), [0, 0, 1, 2, 2], [0, 1, 1, 1, 2], fields)
    with pytest.raises(DataError, match=f"(?s){words}"):
        start(RaggedBags(), data)


def test_where_a_ragged_field_cannot_be():
    with pytest.raises(ProgramError, match=r'(?s)shared field of shape.*mirror\("u4", "edges"\)'):
        shared("i4", "edges")
    with pytest.raises(ProgramError, match="one dimension"):
        mirror("i4", "edges", 2)
    with pytest.raises(ProgramError, match=message("edge-field-has-an-entry", "x")):
        Edge("a", "b", x=mirror("i4", "edges"))
    with pytest.raises(ProgramError, match=message("edge-field-is-the-number")):
        Edge("a", "b", repeats="n", n=mirror("i4"))


def store_whole(bag):
    bag.held = 3


@both
def test_a_ragged_field_is_no_number(jit):
    with pytest.raises(ProgramError, match=r"bag\.held has several entries"):
        drive(start(RaggedBags(), BAGS, jit=jit), ForEach("bag", store_whole))


def uses_randomness(word, edges, rng):
    for edge in edges:
        edge.place = np.uint16(rng.below(1000))


class Draws(Program):
    bag = Vertex()
    word = Vertex()
    occurrence = Edge("bag", "word", place=mirror("u2"))

    def stages(self):
        return [Exchange(uses_randomness, over="word", additive=True)]


def test_replicas_of_a_vertex_draw_other_numbers():
    data = EdgeData.of(("bag", "word"), np.arange(40), np.zeros(40, int), {})
    team = train_team(Draws(), data, 1, by=[0] * 20 + [1] * 20)
    first, second = (worker.graph.edges.fields["place"].tolist() for worker in team.workers)
    assert len(first) == len(second) == 20 and first != second


@pytest.mark.parametrize("ragged", [True, False])
def test_lists_of_the_next_neighbour_are_fetched_ahead(ragged):
    values, ends = np.arange(1.0, 4.0), np.array([2, 0, 2], np.int32)
    held = (values, np.arange(4)) if ragged else values.reshape(3, 1)
    of_edge, of_bag = RowSpec("edge", (), "none"), RowSpec("bag", ("held",), "held")
    edges = compiled_edges(of_edge, "bag", of_bag)

    @njit
    def kernel(bags, ends):
        whole = 0.0
        for edge in edges((), bags, ends, (), 0, len(ends), 0):
            whole += edge.bag.held[0]
        return whole

    assert kernel((held,), ends) == 7.0
    (code,) = kernel.inspect_llvm().values()
    assert ("llvm.prefetch" in code) == ragged
