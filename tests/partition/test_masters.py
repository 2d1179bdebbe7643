"""Masters: among the holders, near the edges, evenly; random only on request."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles.slow_quality import holders

from tux.io.edges.read import read_edges
from tux.partition import bicut, random
from tux.partition.common.ends import ends
from tux.partition.masters import homes, masters
from tux.partition.quality import quality
from tux.partition.replicas import gather_replicas, replicas

graphs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), max_size=40)


@settings(deadline=None)
@given(
    graphs, st.integers(1, 7), st.integers(0, 9), st.booleans(), st.sampled_from(["load", "random"])
)
def test_the_master_is_a_holder(pairs, k, seed, bipartite, method):
    src, dst = np.array(pairs, np.int32).reshape(-1, 2).T
    parts = random(src, dst, k, seed, bipartite=bipartite)
    home = masters(src, dst, parts, k, seed, bipartite=bipartite, method=method)
    where, _ = holders(pairs, parts.tolist(), bipartite)
    shift = {"vertex": 0, "source": 0, "target": max((u for u, _ in pairs), default=0) + 1}
    assert all(home[number + shift[kind]] in held for (kind, number), held in where.items())
    assert home.dtype == np.int16 and ((home >= 0) & (home < k)).all()
    assert np.array_equal(
        home, masters(src, dst, parts, k, seed, bipartite=bipartite, method=method)
    )


@settings(deadline=None)
@given(graphs, st.integers(1, 7))
def test_replicas_of_edges_and_of_each_parts_ends_are_the_same(pairs, k):
    src, dst = np.array(pairs, np.int32).reshape(-1, 2).T
    parts = random(src, dst, k)
    apart = src != dst  # a self-loop is one edge, but two ends
    one = replicas(ends(src[apart], dst[apart]), parts[apart], k)
    other = gather_replicas(
        [np.concatenate([src[(parts == p) & apart], dst[(parts == p) & apart]]) for p in range(k)],
        len(one.counts),
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_vertex_lives_where_most_of_its_edges_are():
    """Hub 0 has three edges in part 1 and one each in parts 0 and 2, which have other vertices
    enough.
    """
    src, dst = np.array([0, 0, 0, 0, 0, 6, 7, 9, 10]), np.array([1, 2, 3, 4, 5, 7, 8, 10, 11])
    parts = np.array([1, 0, 1, 2, 1, 0, 0, 2, 2])
    assert masters(src, dst, parts, 3)[0] == 1


def test_locality_gives_way_to_balance():
    """A hundred vertices have two edges in part 0 and one in part 1 each: half of them live in
    part 1 all the same.
    """
    src, dst = np.repeat(np.arange(100), 3), np.tile([100, 101, 102], 100)
    parts = np.tile([0, 0, 1], 100)
    home = masters(src, dst, parts, 2, bipartite=True)
    assert np.bincount(home[:100]) == pytest.approx([50, 50], abs=1)


def test_vertices_without_edges_fill_up_the_least_loaded():
    held = gather_replicas([np.array([0, 1, 2, 3]), np.array([4, 5]), np.array([], int)], 12)
    home = homes(held, 3)
    assert home[:6].tolist() == [0] * 4 + [1] * 2
    assert np.bincount(home).tolist() == [4, 4, 4]
    assert np.bincount(
        homes(gather_replicas([np.array([], int)] * 3, 7), 3), minlength=3
    ).tolist() == [
        3,
        2,
        2,
    ]


@pytest.mark.slow(after=3)
@pytest.mark.long(after=7)
@pytest.mark.parametrize("partitioner", [random, bicut])
@pytest.mark.parametrize("k", [4, 32, 256])
@pytest.mark.parametrize("name", ["wiki-Vote", "soc-Epinions1", "email-Enron"])
def test_better_balanced_and_nearer_than_random_on_real_graphs(real_data, name, k, partitioner):
    edges = read_edges(real_data / "graphs" / f"{name}.txt.gz", ("page", "page"), {})
    parts = partitioner(edges.src, edges.dst, k)
    by_load, by_chance = (
        quality(
            edges.src,
            edges.dst,
            parts,
            k,
            masters=masters(edges.src, edges.dst, parts, k, method=method),
        )
        for method in ("load", "random")
    )
    assert by_load.master_balance <= by_chance.master_balance
    assert (
        by_load.largest_volume <= 1.02 * by_chance.largest_volume
        and by_load.volume == by_chance.volume
    )


def test_an_unknown_method():
    with pytest.raises(ValueError, match="load, random"):
        masters(np.array([0]), np.array([1]), np.array([0]), 1, method="near")
