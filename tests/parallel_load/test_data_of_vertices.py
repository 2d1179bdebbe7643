"""Data of vertices that come with the edges, such as labels, are joined by loaders of one machine
and of several as one process writes them.
"""

import numpy as np
import pytest
from support.machines.loaded import cut_up, files, in_shares, of_machine, on_machines

from tux.arrays.edges import EdgeData
from tux.graph.cut import cut
from tux.graph.store import save
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.partition import PARTITIONERS

TWO = ("sample", "feature")


@pytest.fixture
def graph(tmp_path):
    """Samples 1 to 40, some without edges, with two fields; the folder that one process writes, and
    the rows.
    """
    draw = np.random.default_rng(2)
    src, dst = np.sort(draw.integers(1, 38, 90)), draw.integers(0, 9, 90)
    data = {"label": draw.random(40).astype("f4"), "weight": draw.random(40).astype("f4")}
    ids = np.arange(1, 41)
    given = {"vertices": {"sample": ids}, "vertex_fields": {"sample": data}}
    edges = EdgeData.of(TWO, src, dst, {}, **given, classes=("no", "yes"), numbered="libsvm from 0")
    (tmp_path / "one").mkdir()
    parts = PARTITIONERS["aweto"](edges.src, edges.dst, 4, 7, bipartite=True)
    how = {"partitioner": "aweto", "seed": 7, "digest": edges.digest()}
    how |= {"classes": edges.classes, "numbered": edges.numbered}
    save(tmp_path / "one", cut(edges, None, parts, 4, 7), TWO, **how)
    return src, dst, data, files(tmp_path / "one")


def share_out(graph, n):
    """Return the plan of n loaders, and their shares, each with the data of its own samples."""
    src, dst, data, _ = graph
    shares = cut_up(np.random.default_rng(3), src, dst, {}, n)
    firsts = [int(share.src[0]) if len(share.src) else 41 for share in shares[1:]]
    bounds = np.minimum.accumulate([1, *firsts, 41][::-1])[::-1]
    bounds[0] = 1
    for share, begin, end in zip(shares, bounds[:-1], bounds[1:], strict=True):
        share.vertices = {"sample": np.arange(begin, end)}
        share.data = {"sample": {name: each[begin - 1 : end - 1] for name, each in data.items()}}
        share.classes, share.numbered = ("no", "yes"), "libsvm from 0"
    of_samples = {"sample": ["label", "weight"]}
    return LoadingPlan(TWO, n, 4, "aweto", 7, bipartite=True, data=of_samples), shares


@pytest.mark.parametrize("n", [1, 2, 5])
def test_loaders_of_one_machine(tmp_path, graph, n):
    plan, shares = share_out(graph, n)
    in_shares(tmp_path / "shares", plan, shares)
    assert files(tmp_path / "shares") == graph[-1]


def test_loaders_of_several_machines(tmp_path, graph):
    plan, shares = share_out(graph, 4)
    folders, _ = on_machines(tmp_path / "machines", plan, shares, 2)
    for at, folder in enumerate(folders):
        assert files(folder) == of_machine(graph[-1], at, plan, 2)
