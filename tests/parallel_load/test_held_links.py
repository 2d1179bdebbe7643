"""Links that loaders hold out are those that one process holds out of all edges."""

import numpy as np
import pytest
from support.machines.loaded import cut_up, files, in_shares, of_machine, on_machines

from tux.arrays.edges import EdgeData
from tux.arrays.npy import map_npy
from tux.graph.links import hold_out_links
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.loader import rounds_of
from tux.parallel_load.algorithm.plan import LoadingPlan

ENDS = ("page", "page")


def held_out(src, dst, share):
    """Return the pairs that one process holds out, which edges it keeps, and its edges."""
    edges = EdgeData.of(ENDS, src, dst, {})
    cut = hold_out_links(edges.src, edges.dst, len(edges.ids["page"]), share)
    return [cut.src.tolist(), cut.dst.tolist()], cut.kept, edges


def load_links(folder, loaders, src, dst, share, watch=None):
    """Return what loaders tell, and the pairs that they hold out."""
    plan = LoadingPlan(ENDS, loaders, 3, "dbh", seed=5, held_share=share)
    shares = cut_up(np.random.default_rng(loaders), src, dst, {"n": np.arange(len(src))}, loaders)
    loaded = in_shares(folder, plan, shares, watch)
    return loaded, [map_npy(folder / f"held.{end}.npy").tolist() for end in ("src", "dst")]


@pytest.mark.parametrize("loaders", [1, 2, 3, 5])
@pytest.mark.parametrize("share", [1e-9, 0.1, 0.99])
@pytest.mark.parametrize("n", [2, 9, 60])
def test_the_same_pairs(tmp_path, loaders, share, n):
    rng = np.random.default_rng([n, loaders])
    src, dst = (n * rng.random((2, 150)) ** 2).astype(np.int64) * 5
    pairs, kept, edges = held_out(src, dst, share)
    loaded, found = load_links(tmp_path / "parts", loaders, src, dst, share)
    assert found == pairs
    lost = EdgeData(ENDS, edges.ids, edges.src[~kept], edges.dst[~kept], {})
    counts = [each.held for each in loaded]
    assert sum(each.edges for each in counts) == len(lost)
    assert sum(each.repeated for each in counts) == lost.duplicates


def test_a_hub_and_a_loop(tmp_path):
    """Of a star no link is free."""
    src, dst = np.array([0] * 9 + [4]), np.array([*range(1, 10), 4])
    _, found = load_links(tmp_path / "parts", 3, src, dst, 0.5)
    assert found == [[], []]


def test_the_number_of_rounds_is_known_before(tmp_path):
    src, dst = np.random.default_rng(1).integers(0, 9, (2, 60))
    taken = []
    load_links(tmp_path / "parts", 3, src, dst, 0.2, lambda at, inbox: taken.append(at))
    plan = LoadingPlan(ENDS, 3, 3, "dbh", held_share=0.2)
    assert taken.count(0) == rounds_of(plan, 1)


def test_each_machine_is_told(tmp_path):
    src, dst = np.random.default_rng(2).integers(0, 20, (2, 90))
    plan = LoadingPlan(ENDS, 4, 4, "dbh", seed=5, topology="directed", held_share=0.3)
    shares = [cut_up(np.random.default_rng(4), src, dst, {"n": np.arange(90)}, 4) for _ in range(2)]
    in_shares(tmp_path / "whole", plan, shares[0])
    whole = files(tmp_path / "whole")
    folders, _ = on_machines(tmp_path / "machines", plan, shares[1], 2)
    for at, folder in enumerate(folders):
        assert files(folder) == of_machine(whole, at, plan, 2)
        assert "held.src.npy" in whole


@pytest.mark.parametrize("at", [4, 14], ids=["indices", "held out"])
def test_a_message_that_is_cut_short_is_noticed(tmp_path, at):
    rounds = []

    def watch(me, inbox):
        rounds.append(me)
        if me == 0 and rounds.count(0) == at + 1:
            inbox[1] = [np.asarray(array)[:-1] for array in inbox[1]]

    src, dst = np.random.default_rng(1).integers(0, 12, (2, 60))
    with pytest.raises(BadColumns, match="loader 1"):
        load_links(tmp_path / "parts", 3, src, dst, 0.3, watch)
