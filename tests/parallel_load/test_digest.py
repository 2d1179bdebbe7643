"""The digest that is computed while loaders write; what it is, is in test_loading.py."""

import threading

import numpy as np
import pytest
from support.messages import message

from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.parallel_load.algorithm.digest import DigestThread
from tux.parallel_load.algorithm.kept import ArraySpool
from tux.parallel_load.algorithm.plan import LoadingPlan

SAME = ("page", "page")


def keep_edges(spools, edges):
    """Let two loaders keep the halves of a graph's edges, and of its ids; the last column last."""
    half, ids = len(edges) // 2, edges.ids["page"].values
    keeps = [ArraySpool(spool, spool) for spool in spools]
    rows = {"ids.page.0": ids, "dst": edges.dst, "fields.value": edges.fields["value"]}
    for name, row in {**rows, "src": edges.src}.items():
        cut = half if len(row) == len(edges) else 2
        for keep, piece in zip(keeps, (row[:cut], row[cut:]), strict=True):
            keep(name, piece)


def test_it_waits_for_what_loaders_keep(tmp_path):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 9, 40), rng.integers(0, 9, 40)
    edges = EdgeData.of(SAME, src, dst, {"value": rng.random(40).astype(np.float32)})
    spools = [tmp_path / "0", tmp_path / "1"]
    for spool in spools:
        spool.mkdir()
    with DigestThread(spools, LoadingPlan(SAME, 2, 2, "dbh"), {"": ["value"]}) as digesting:
        keeping = threading.Thread(target=keep_edges, args=(spools, edges))
        keeping.start()
        keeping.join()
        assert digesting.result({}) == edges.digest()


def test_a_file_that_never_comes_is_told(tmp_path):
    with DigestThread([tmp_path], LoadingPlan(SAME, 1, 1, "dbh"), {"": []}) as digesting:
        with pytest.raises(DataError, match=message("a-loader-has-not-left")):
            digesting.result({})


def test_it_ends_with_its_context(tmp_path):
    with DigestThread([tmp_path], LoadingPlan(SAME, 1, 1, "dbh"), {"": []}):
        pass
    assert all(thread.name != "tux-digest" for thread in threading.enumerate())
