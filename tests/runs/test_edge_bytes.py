"""The bytes of an edge, as a run says them."""

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent

from tux.apps.mf import MF
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.runs.session import run


def edge_bytes(folder, data, **options):
    """Run MF; return the lines about edges, and the bytes of an edge in the run's record."""
    watch = RecordingSilent()
    run(MF(rank=4), data, options=RunOptions(epochs=1, out=folder, **options), watch=watch)
    return [each for each in watch.lines if each.startswith("edges: ")], read_run(folder).edge_bytes


def ratings(values):
    """Draw as many pairs of users and items as there are values."""
    rng = np.random.default_rng(0)
    m = len(values)
    return {"user": rng.integers(0, 50, m), "item": rng.integers(0, 30, m), "rating": values}


@pytest.mark.parametrize(
    ("workers", "orders"),  # several workers train and judge in two orders
    [(1, 1), pytest.param(2, 2, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    ("levels", "size"), [(1, 4), (10, 5), (100_000, 8)], ids=["equal", "few", "many"]
)
def test_a_run_says_how_many_bytes_an_edge_takes(workers, orders, levels, size, tmp_path):
    values = np.random.default_rng(1).integers(0, levels, 60_000).astype(np.float32)
    lines, recorded = edge_bytes(tmp_path / "run", ratings(values), workers=workers)
    assert len(lines) == 1 and lines[0].startswith(f"edges: {orders * size}.")
    assert " bytes each, " in lines[0]
    assert orders * size <= recorded < orders * size + 0.2  # and the bounds of tiles
