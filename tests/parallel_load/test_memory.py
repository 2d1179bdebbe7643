"""The memory of a loader: bytes for each edge of its share and of its part."""

import tracemalloc

import numpy as np
import pytest

from tux.arrays.arrow import ColumnPieces
from tux.parallel_load.algorithm.kept import ArraySpool
from tux.parallel_load.algorithm.loader import loader
from tux.parallel_load.algorithm.mailbox import Mailbox
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan

EDGES, PIECE = 2_000_000, 100_000
CONSTANT = 10_000_000
"""Bytes that do not grow with the edges: blocks, and the vertices, which are few here."""


def share(users, items, edges=EDGES):
    """Return a share as it is read: columns in pieces, 12 bytes an edge."""
    rng = np.random.default_rng(5)
    columns = [ColumnPieces(kind) for kind in (None, None, np.dtype("f4"))]
    for _ in range(edges // PIECE):
        for column, n in zip(columns, (users, items, 5), strict=True):
            numbers = rng.integers(0, n, PIECE, np.int32)
            column.append(numbers if column.kind is None else numbers.astype("f4"))
    src, dst, value = columns
    return InputShare(src, dst, {"value": value.stream_pieces()})


@pytest.mark.slow
@pytest.mark.parametrize("partitioner", ["aweto", "dbh"])
def test_a_loader_holds_little_beside_its_share(tmp_path, partitioner):
    """Of 12 bytes an edge, it never holds more than half of these again; messages and fields lie
    on the disk.
    """
    keep = ArraySpool(tmp_path, tmp_path / "spool")
    (tmp_path / "spool").mkdir()
    plan = LoadingPlan(("user", "item"), 1, 2, partitioner, 0, bipartite=True)
    # what is imported at the first use is no edge's
    Mailbox(tmp_path, 1, 0).carry(loader(plan, 0, share(9000, 700, PIECE), keep))
    tracemalloc.start()
    try:
        loaded = Mailbox(tmp_path, 1, 0).carry(loader(plan, 0, share(9000, 700), keep))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(loaded.edges[""].counts) == EDGES
    assert most < 18 * EDGES + CONSTANT
