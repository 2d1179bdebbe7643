"""Edges of several types that are cut by those of one type."""

from dataclasses import replace

import numpy as np
import pytest
from support.programs.typed_programs import SocialShop, WholeItems, shop_edges

from tux import Edge, Program, Vertex, value
from tux.base.errors import UsageError
from tux.graph.partitioned import NUMBER, PartitionedGraph
from tux.inputs.serial_reason import LoadRequest, serial_reason
from tux.options.options import RunOptions
from tux.partition import PARTITIONERS


def parts_of(edges, partitioner, k, whole=(), whole_end=""):
    """Return the part of each edge, by type, and the graph that is cut."""
    numbered = edges.join({name: add_numbers(each) for name, each in edges.others.items()})
    numbered = add_numbers(numbered)
    graph = PartitionedGraph.of(numbered, None, partitioner, k, 1, whole, whole_end, first="bought")
    found = {name: np.full(len(each), -1) for name, each in edges.by_type.items()}
    for at, part in enumerate(graph.parts):
        found[""][part.fields[NUMBER]] = at
        for name, own in part.others.items():
            found[name][own.fields[NUMBER]] = at
    return found, graph


def add_numbers(edges):
    """Return edges that know their numbers."""
    return replace(edges, fields={**edges.fields, NUMBER: np.arange(len(edges))})


@pytest.mark.parametrize("named", ["bought", "tagged", "friend"])
@pytest.mark.parametrize("method", ["random", "dbh", "aweto", "ne"])
def test_edges_of_the_named_type_are_cut_as_if_they_were_alone(method, named):
    edges = shop_edges(3)
    found, _ = parts_of(edges, f"{method}:{named}", 4)
    key = "" if named == "bought" else named
    own = edges.by_type[key]
    alone = PARTITIONERS[method](own.src, own.dst, 4, 1, bipartite=own.ends[0] != own.ends[1])
    np.testing.assert_array_equal(found[key], alone)
    assert all((parts >= 0).all() for parts in found.values())


def test_an_edge_is_where_both_its_ends_are():
    edges = shop_edges(5)
    found, _ = parts_of(edges, "aweto:bought", 3)
    friend = edges.others["friend"]
    there = [{*found[""][edges.src == user].tolist()} for user in range(len(edges.ids["user"]))]
    for src, dst, part in zip(friend.src, friend.dst, found["friend"], strict=True):
        both = there[src] & there[dst]
        assert part in (both or there[src] | there[dst] or {part})


@pytest.mark.parametrize("named", ["bought", "tagged", "friend"])
@pytest.mark.parametrize("method", ["bicut", "aweto"])
def test_a_vertex_type_stays_whole(method, named):
    _, graph = parts_of(shop_edges(2), f"{method}:{named}", 3, ["item"])
    assert not graph.parts[0].types["item"].cut


class Followed(Program):
    page, tag = Vertex(n=value("f4")), Vertex()
    link = Edge("page", "page", whole="src")
    marked = Edge("page", "tag")

    def stages(self):
        return []


@pytest.mark.parametrize(
    ("program", "partitioner", "what"),
    [
        (SocialShop(), "aweto:taged", "taged is no edge type of SocialShop"),
        (Followed(), "random:marked", 'link is declared whole="src"'),
    ],
)
def test_refusals(program, partitioner, what):
    with pytest.raises(UsageError) as error:
        RunOptions(partitioner=partitioner).plan_for(program)
    assert what in error.value.what
    with pytest.raises(UsageError, match="no partitioner 'awetto'"):
        RunOptions(partitioner="awetto:bought")


def test_they_are_loaded_in_shares():
    for partitioner in ("dbh:bought", "auto:bought"):
        assert serial_reason(LoadRequest(WholeItems(), RunOptions(), 2, partitioner)) == ""
