"""Vertices that are numbered by 64 bits: parts are those of the narrow path, but for the types of
positions.
"""

import numpy as np
import pytest
from support.machines.loaded import cut_up, files, in_shares, on_machines, one_process

from tux.arrays import integers
from tux.arrays.npy import map_npy
from tux.parallel_load.algorithm.plan import LoadingPlan

SAME, TWO = ("page", "page"), ("user", "item")


@pytest.fixture
def wide(monkeypatch):
    """Return a function from which on all but the smallest types are numbered by 64 bits."""
    return lambda: monkeypatch.setattr(integers, "MOST_NARROW", 3)


def edges(m=90):
    src, dst = np.random.default_rng(5).integers(0, 20, (2, m))
    return src * 7, dst * 5, {"value": np.arange(m, dtype=np.float32)}


def arrays(folder):
    """Return all arrays of a folder by path."""
    return {path: map_npy(folder / path) for path in files(folder) if path.endswith(".npy")}


def is_wide(path):
    """Return whether an array is of positions, which alone become wider."""
    return path.endswith((".rows.npy", ".masters.npy", "topology.ends.npy"))


@pytest.mark.parametrize("partitioner", ["dbh", "aweto", "pds"])
@pytest.mark.parametrize("ends", [SAME, TWO])
def test_parts_are_those_of_the_narrow_path(tmp_path, wide, partitioner, ends):
    src, dst, fields = edges()
    kind = "undirected" if ends == SAME else ""
    plan = LoadingPlan(ends, 3, 3, partitioner, seed=2, topology=kind, bipartite=ends == TWO)
    shares = cut_up(np.random.default_rng(1), src, dst, fields, 3)
    in_shares(tmp_path / "narrow", plan, shares)
    wide()
    shares = cut_up(np.random.default_rng(1), src, dst, fields, 3)
    in_shares(tmp_path / "wide", plan, shares)
    narrow, found = arrays(tmp_path / "narrow"), arrays(tmp_path / "wide")
    assert narrow.keys() == found.keys() and any(map(is_wide, found))
    for path, array in narrow.items():
        assert np.array_equal(array, found[path]), path
        assert found[path].dtype == (np.int64 if is_wide(path) else array.dtype), path


@pytest.mark.parametrize("ends", [SAME, TWO])
def test_loaders_write_what_one_process_writes(tmp_path, wide, ends):
    wide()
    src, dst, fields = edges()
    one_process(tmp_path / "whole", ends, src, dst, fields, 2, "aweto", 3)
    plan = LoadingPlan(ends, 2, 2, "aweto", seed=3, bipartite=ends == TWO)
    in_shares(tmp_path / "parts", plan, cut_up(np.random.default_rng(4), src, dst, fields, 2))
    assert files(tmp_path / "whole") == files(tmp_path / "parts")


def test_machines_that_hold_out_edges_know_all_rows(tmp_path, wide):
    wide()
    src, dst, fields = edges()
    plan = LoadingPlan(TWO, 2, 2, "dbh", seed=1, bipartite=True)
    shares = cut_up(np.random.default_rng(3), src, dst, fields, 2)
    folders, _ = on_machines(tmp_path / "machines", plan, shares, 1, held_out=True)
    for kind in TWO:
        one, other = (map_npy(folder / f"part-0/types.{kind}.rows.npy") for folder in folders)
        assert one.dtype == np.int64 and np.array_equal(one, other)
