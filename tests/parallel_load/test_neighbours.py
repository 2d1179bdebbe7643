"""Neighbour lists that loaders make are those that one process makes of all edges."""

import numpy as np
import pytest
from support.machines.loaded import cut_up, in_shares, on_machines

from tux.arrays.edges import EdgeData
from tux.arrays.npy import map_npy
from tux.graph.manifest import read_manifest
from tux.graph.orders import order_of
from tux.graph.topology import Topology
from tux.parallel_load.algorithm.loader import rounds_of
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan

ENDS = ("page", "page")


def graph(seed, m=200, n=30):
    """Return ends and fields of edges, of which some are repeated or loops."""
    rng = np.random.default_rng(seed)
    src, dst = (n * rng.random((2, m)) ** 2).astype(np.int64) * 7
    return src, dst, {"weight": (rng.random(m) * 10.0 ** rng.integers(-6, 6, m)).astype("f4")}


def lists_of_all(src, dst, fields, seed, *, directed):
    """Return the topology of all edges."""
    edges = EdgeData.of(ENDS, src, dst, fields)
    position = np.argsort(order_of(edges, "page", seed)).astype(np.int32)
    ends = position[edges.src], position[edges.dst]
    given = len(position), fields.get("weight")
    return Topology.of(*ends, given[0], directed=directed, weights=given[1]).arrays


def same(folder, arrays):
    """Assert that these are the arrays in a folder, to the last bit."""
    assert read_manifest(folder).topology == [*arrays]
    for name, array in arrays.items():
        found = map_npy(folder / f"topology.{name}.npy")
        assert (found.dtype, found.tobytes()) == (array.dtype, array.tobytes()), name


@pytest.mark.parametrize("loaders", [1, 2, 3, 5])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_neighbours_are_those_of_one_process(tmp_path, loaders, directed, weighted):
    src, dst, fields = graph(loaders)
    fields = fields if weighted else {}
    kind = "directed" if directed else "undirected"
    plan = LoadingPlan(ENDS, loaders, 2, "dbh", seed=4, topology=kind)
    shares, taken = cut_up(np.random.default_rng(1), src, dst, fields, loaders), []
    in_shares(tmp_path / "parts", plan, shares, lambda at, inbox: taken.append(at))
    same(tmp_path / "parts", lists_of_all(src, dst, fields, 4, directed=directed))
    assert taken.count(0) == rounds_of(plan, len(fields))


def test_more_loaders_than_vertices(tmp_path):
    src, dst = np.array([1, 2, 1, 1]), np.array([2, 1, 2, 1])
    plan = LoadingPlan(ENDS, 5, 5, "random", topology="undirected")
    in_shares(tmp_path / "parts", plan, cut_up(np.random.default_rng(2), src, dst, {}, 5))
    same(tmp_path / "parts", lists_of_all(src, dst, {}, 0, directed=False))


def test_each_machine_has_all_neighbours(tmp_path):
    src, dst, fields = graph(9)
    plan = LoadingPlan(ENDS, 4, 4, "bicut", seed=1, topology="undirected")
    shares = cut_up(np.random.default_rng(3), src, dst, fields, 4)
    folders, _ = on_machines(tmp_path / "machines", plan, shares, 2)
    for folder in folders:
        same(folder, lists_of_all(src, dst, fields, 1, directed=False))


def test_no_loader_gets_more_than_a_few_times_its_share_of_neighbours(tmp_path):
    m, loaders, most = 60_000, 6, [0] * 6

    def watch(me, inbox):
        size = sum(array.nbytes for message in inbox for array in message)
        most[me] = max(most[me], size)

    src, dst = np.random.default_rng(8).integers(0, 20_000, (2, m))
    plan = LoadingPlan(ENDS, loaders, loaders, "dbh", topology="undirected")
    in_shares(tmp_path / "parts", plan, cut_even(src, dst, loaders), watch)
    assert max(most) <= 3 * 8 * m / loaders


def cut_even(src, dst, loaders):
    """Return the rows in shares of equal size."""
    bounds = np.arange(loaders + 1) * len(src) // loaders
    return [InputShare(src[lo:hi], dst[lo:hi]) for lo, hi in np.stack([bounds[:-1], bounds[1:]]).T]
