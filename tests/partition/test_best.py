"""The best cut: within its bound on any graph, never worse than NE++, each of its moves counted
right, communities found.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from tux.partition.common.adjacency import adjacency
from tux.partition.common.bundles import Annealing, by_neighbour, holders
from tux.partition.common.clustering import _coarsen, _Level, cluster_vertices
from tux.partition.common.ends import ends
from tux.partition.common.lower_degree import lower_degree
from tux.partition.methods.best import best
from tux.partition.methods.ne import ne

edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60).map(
    lambda pairs: np.array(pairs, np.int32).reshape(-1, 2).T
)


def replicas(src, dst, parts):
    return len(
        {(v, p) for end in (src, dst) for v, p in zip(end.tolist(), parts.tolist(), strict=True)}
    )


def largest_load(m, k, cap):
    return max(-(-m // k), int(cap * m / k))


def loads(parts, k):
    return np.bincount(parts, minlength=k)


@settings(max_examples=examples(50), deadline=None)
@given(edges, st.integers(1, 9), st.sampled_from([None, 1.0, 1.3, 9.0]), st.integers(0, 3))
def test_never_worse_than_ne_and_within_the_bound(pairs, k, cap, seed):
    parts = best(*pairs, k, seed, cap=cap)
    assert (
        parts.dtype == np.int16
        and parts.shape == pairs[0].shape
        and ((parts >= 0) & (parts < k)).all()
    )
    assert loads(parts, k).max() <= largest_load(len(parts), k, cap or 1.03)
    assert replicas(*pairs, parts) <= replicas(*pairs, ne(*pairs, k, seed, cap=cap))
    assert np.array_equal(parts, best(*pairs, k, seed, cap=cap))


def test_ne_is_given_where_no_search_has_fewer():
    """Of these graphs some are such."""
    for seed in range(300):
        pairs = np.random.default_rng(seed).integers(0, 18, (2, 50))
        assert replicas(*pairs, best(*pairs, 4)) <= replicas(*pairs, ne(*pairs, 4))


SHAPES = {
    "empty": ([], []),
    "one edge": ([0], [1]),
    "only self-loops": (range(40), range(40)),
    "star": ([0] * 50, range(1, 51)),
    "clique": np.divmod(np.arange(400), 20),
    "the same edge": ([3] * 30, [4] * 30),
    "path": (range(60), range(1, 61)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3, 50, 32_767])
def test_the_bound_on_every_shape(shape, k):
    src, dst = (np.array(end, np.int64) for end in SHAPES[shape])
    for bipartite in (False, True):
        parts = best(src, dst, k, bipartite=bipartite)
        assert (
            parts.shape == src.shape
            and ((parts >= 0) & (parts < k)).all()
            and loads(parts, k).max() <= largest_load(len(src), k, 1.03)
        )


@settings(max_examples=examples(100), deadline=None)
@given(edges.filter(lambda pairs: pairs.size > 0), st.integers(2, 6), st.integers(0, 9))
def test_annealing_knows_its_replicas_and_loads(pairs, k, seed):
    graph = ends(*pairs)
    start = np.random.default_rng(seed).integers(0, k, len(pairs[0])).astype(np.int16)
    limit = max(loads(start, k).max(), largest_load(len(start), k, 1.1))
    search = Annealing(graph, by_neighbour(adjacency(graph)), start, k, limit, seed)
    for share in (0.1, 0.4, 1.0):
        search.run(share)
        assert (
            search.replicas == replicas(*pairs, search.parts)
            and loads(search.parts, k).max() <= limit
        )


def slow_gain(pairs, parts, v, p, limit):
    """Return the replicas saved when each of v's edges in p goes to a part of v that its other end
    is in too, or if there is none to any of v's.

    Only parts with room for all of them count; None if there is none.
    """
    mine = [e for e in range(len(parts)) if v in pairs[:, e] and parts[e] == p]
    of = {
        t: {q for e, q in enumerate(parts.tolist()) if t in pairs[:, e]}
        for t in set(pairs.ravel().tolist())
    }
    room = {q for q in of[v] - {p} if loads(parts, limit)[q] + len(mine) <= limit}
    moved = parts.copy()
    for e in mine if room else []:
        moved[e] = min(room & of[int(pairs[:, e].sum()) - v] or room)
    return replicas(*pairs, parts) - replicas(*pairs, moved) if room else None


@pytest.mark.long
@pytest.mark.parametrize(
    "limit",
    [22, pytest.param(21, marks=pytest.mark.long), pytest.param(24, marks=pytest.mark.long)],
)
def test_no_bundle_is_left_that_gains(limit):
    """After sweeps that take gains only, no vertex can leave a part with gain: by a recount of
    all replicas after each such move.
    """
    pairs, k = np.random.default_rng(5).integers(0, 40, (2, 100)), 5
    graph, parts = ends(*pairs), np.repeat(np.arange(5, dtype=np.int16), 20)

    def most_gained():
        bundles = sorted(
            {(int(v), int(p)) for end in pairs for v, p in zip(end, parts, strict=True)}
        )
        return max(
            gain for v, p in bundles if (gain := slow_gain(pairs, parts, v, p, limit)) is not None
        )

    assert most_gained() > 0
    search = Annealing(graph, by_neighbour(adjacency(graph)), parts, k, limit)
    for _ in range(30):
        search.sweep(0.0)
    assert most_gained() == 0


def test_a_vertex_leaves_a_part_when_each_edge_has_its_own_place():
    """Vertex 0 is in the parts 0, 1, 2; its edges of part 2 go to 1, which is in part 0, and to 2,
    which is in part 1.

    1 -0- 3    2 -1- 4    0 -0- 3    0 -1- 4    0 -2- 1    0 -2- 2
    """
    pairs, parts = (
        np.array([(1, 3), (2, 4), (0, 3), (0, 4), (0, 1), (0, 2)]).T,
        np.array([0, 1, 0, 1, 2, 2], np.int16),
    )
    graph = ends(*pairs)
    search = Annealing(graph, by_neighbour(adjacency(graph)), parts, 3, 3)
    before = search.replicas
    search.sweep(0.0)
    assert search.parts.tolist() == [0, 1, 0, 1, 0, 1] and before - search.replicas == 3


def test_repeated_edges_go_together():
    """0 leaves part 0 with both edges to 1, which has no others: two replicas in part 0 become one
    more in part 1.

    0 =0= 1    0 -1- 2    2 -1- 3
    """
    pairs, parts = np.array([(0, 1), (1, 0), (0, 2), (2, 3)]).T, np.array([0, 0, 1, 1], np.int16)
    graph = ends(*pairs)
    search = Annealing(graph, by_neighbour(adjacency(graph)), parts, 2, 4)
    search.sweep(0.0)
    assert search.parts.tolist() == [1, 1, 1, 1]


def sweep_edges(placed, k, limit):
    """Return the edges that a sweep moves, and where to; `placed` is {part: edges}."""
    pairs = np.array([pair for part in placed.values() for pair in part]).T
    before = np.repeat(np.array(list(placed), np.int16), [len(part) for part in placed.values()])
    graph, after = ends(*pairs), before.copy()
    Annealing(graph, by_neighbour(adjacency(graph)), after, k, limit).sweep(0.0)
    return {tuple(pairs[:, e].tolist()): int(after[e]) for e in np.flatnonzero(before != after)}


def test_a_bundle_that_has_just_grown_is_left_alone():
    """0 takes (0, 1) from part 0 to part 1; to take (0, 2) on to part 2 would save nothing any
    more.
    """
    placed = {0: [(0, 1)], 1: [(0, 2), (1, 4), (2, 6), (6, 7)], 2: [(0, 3), (2, 5), (3, 8), (5, 9)]}
    assert sweep_edges(placed, 3, 99) == {(0, 1): 1}


def test_a_bundle_that_stays_takes_no_room():
    """(0, 1) could go to the last place in part 2 and saves nothing there; (0, 2) does and 0
    leaves part 1.
    """
    chain = {
        0: [(0, 1), (1, 4), (4, 10), (10, 11), (11, 12)],
        1: [(0, 2), (2, 6), (6, 7), (7, 13), (13, 14)],
    }
    assert sweep_edges({**chain, 2: [(0, 3), (2, 5), (3, 8), (5, 9)]}, 3, 5) == {(0, 2): 2}


@pytest.mark.parametrize("seed", range(5))
def test_a_cold_sweep_loses_nothing(seed):
    draw = np.random.default_rng(seed)
    pairs, k = draw.integers(0, 60, (2, 300)), 8
    graph = ends(*pairs)
    search = Annealing(
        graph, by_neighbour(adjacency(graph)), draw.integers(0, k, 300).astype(np.int16), k, 60
    )
    seen = [search.replicas]
    for _ in range(6):
        search.sweep(0.0)
        seen.append(search.replicas)
    assert seen == sorted(seen, reverse=True) and seen[0] > seen[-1]


def test_holders_keep_room_for_every_edge_but_no_more_than_k():
    graph = ends(np.zeros(9, int), np.arange(1, 10))
    held = holders(graph, adjacency(graph), np.arange(9, dtype=np.int16) % 4, 4)
    assert held.size.tolist() == [4] + [1] * 9 and np.diff(held.first).tolist() == [4] + [1] * 9
    assert sorted(zip(held.part[:4].tolist(), held.edges[:4].tolist(), strict=True)) == [
        (0, 3),
        (1, 2),
        (2, 2),
        (3, 2),
    ]


def plant_communities(communities, size, inner, outer, seed=0):
    """Draw a graph of communities, whose vertices have mixed numbers: `inner` edges within each
    community, `outer` in all between any.
    """
    draw = np.random.default_rng(seed)
    src, dst = draw.integers(0, size, (2, communities * inner)) + size * np.repeat(
        np.arange(communities), inner
    )
    wild = draw.integers(0, communities * size, (2, outer))
    numbers = draw.permutation(communities * size)
    return numbers[np.concatenate([src, wild[0]])], numbers[np.concatenate([dst, wild[1]])], numbers


def test_planted_communities_are_found():
    src, dst, numbers = plant_communities(12, 30, 300, 0)
    parts = best(src, dst, 12)
    assert replicas(src, dst, parts) == len(np.unique([src, dst]))
    src, dst, numbers = plant_communities(12, 30, 300, 200)
    ideal = np.empty(360, np.int64)
    ideal[numbers] = np.arange(360) // 30
    assert replicas(src, dst, best(src, dst, 12)) <= 1.02 * replicas(src, dst, ideal[src])


def test_clusters_are_the_communities_and_weigh_the_same():
    src, dst, numbers = plant_communities(40, 25, 250, 100)
    graph = ends(src, dst)
    lists = by_neighbour(adjacency(graph))
    home = cluster_vertices(graph, lists, 4)
    mixed = [np.bincount(home[numbers[25 * c : 25 * c + 25]], minlength=4).max() for c in range(40)]
    assert np.mean(mixed) > 24
    parts = lower_degree(graph, lists.degree, home, 4, largest_load(len(src), 4, 1.03))
    assert (
        loads(parts, 4).max() <= largest_load(len(src), 4, 1.03)
        and loads(parts, 4).min() > 0.9 * len(src) / 4
    )


def test_separate_clusters_are_dealt_evenly():
    clique = np.array([(u, v) for u in range(12) for v in range(u)])
    src, dst = np.concatenate([clique + 12 * c for c in range(40)]).T
    graph = ends(src, dst)
    home = cluster_vertices(graph, by_neighbour(adjacency(graph)), 4)
    assert np.bincount(home, minlength=4).tolist() == [120] * 4
    assert (home.reshape(40, 12) == home[::12, None]).all()


def test_contraction_adds_up_parallel_edges():
    """
    0 =5= 1 -1- 2 =5= 3,  0 -2- 3:  the clusters {0, 1} and {2, 3} have three edges between them
    """
    level = _Level(
        np.array([0, 2, 4, 6, 8]),
        np.array([1, 3, 0, 2, 1, 3, 2, 0]),
        np.array([5, 2, 5, 1, 1, 5, 5, 2]),
        np.ones(4, np.int64),
    )
    coarse, label = _coarsen(level, 2, 4)
    assert label[0] == label[1] != label[2] == label[3]
    assert (
        coarse.near.tolist() == [1, 0]
        and coarse.times.tolist() == [3, 3]
        and coarse.weight.tolist() == [2, 2]
    )


def test_the_lower_degree_end_decides_while_there_is_room():
    """0 is a star's centre, of home 3; its leaves have homes 0, 1, 1, 1, 1, 1. Then its home
    decides, then the least load.
    """
    graph = ends(np.zeros(6, int), np.arange(1, 7))
    home = np.array([3, 0, 1, 1, 1, 1, 1])
    assert lower_degree(graph, adjacency(graph).degree, home, 4, 6).tolist() == [0, 1, 1, 1, 1, 1]
    assert lower_degree(graph, adjacency(graph).degree, home, 4, 2).tolist() == [0, 1, 1, 3, 3, 2]


def test_fewer_replicas_than_ne_where_nothing_is_planted():
    src, dst = (np.random.default_rng(3).zipf(1.6, (2, 6000)) % 1500).astype(np.int32)
    assert replicas(src, dst, best(src, dst, 24)) < 0.95 * replicas(src, dst, ne(src, dst, 24))


def test_progress_rises_to_the_end():
    src, dst = np.random.default_rng(2).integers(0, 300, (2, 2000))
    seen = []
    assert np.array_equal(best(src, dst, 20, progress=seen.append), best(src, dst, 20))
    assert seen == sorted(seen) and seen[-1] == 1
